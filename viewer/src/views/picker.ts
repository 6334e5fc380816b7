import { fill, h, plural } from "../dom";
import { type Choice, wordsOf } from "./sides";

/** Choices that are drawn at once; typing finds the others. */
const MOST = 100;

/** A field that chooses a kernel of the document: what is typed looks in names, devices, toolchains, options and versions. */
export class Picker {
  readonly element = h("div", { class: "picker" });
  private readonly field: HTMLInputElement;
  /** The device, the version and all else of the build, below the kernel's name. */
  private readonly build: HTMLElement;
  private readonly list: HTMLElement;
  private choices: readonly Choice[] = [];
  private chosen: Choice | null = null;
  private offered: Choice[] = [];
  private at = 0;

  constructor(
    label: string,
    private readonly pick: (choice: Choice) => void,
  ) {
    const id = `picker-${label.toLowerCase()}`;
    this.field = h("input", { type: "text", role: "combobox", "aria-label": `${label}: kernel, device, toolchain or version`, "aria-expanded": "false", "aria-controls": id, "aria-autocomplete": "list", "aria-describedby": `${id}-build`, autocomplete: "off", spellcheck: "false", placeholder: "Choose a kernel" });
    this.list = h("ul", { id, role: "listbox", "aria-label": label, hidden: true });
    this.build = h("span", { class: "build-of", id: `${id}-build` });
    this.element.append(h("span", { class: "dim" }, label), this.field, this.build, this.list);
    this.field.addEventListener("focus", () => this.open());
    this.field.addEventListener("click", () => this.open());
    this.field.addEventListener("input", () => this.offer());
    this.field.addEventListener("blur", () => this.close());
    this.field.addEventListener("keydown", (event) => this.pressed(event));
    // The field keeps the focus: what is pressed in the list is a choice, or a scroll of it.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  show(choices: readonly Choice[], chosen: Choice | null): void {
    this.choices = choices;
    this.chosen = chosen;
    this.close();
  }

  focus(): void {
    this.field.focus();
  }

  private get isOpen(): boolean {
    return !this.list.hidden;
  }

  private open(): void {
    if (this.isOpen) return;
    this.field.placeholder = this.chosen?.title ?? "Choose a kernel";
    this.field.value = "";
    this.list.hidden = false;
    this.field.setAttribute("aria-expanded", "true");
    this.offer();
  }

  private close(): void {
    this.list.hidden = true;
    this.field.setAttribute("aria-expanded", "false");
    this.field.removeAttribute("aria-activedescendant");
    this.field.value = this.field.title = this.chosen?.title ?? "";
    fill(this.build, this.chosen?.detail ?? "");
    this.field.dataset.key = this.chosen?.key ?? "";
  }

  private offer(): void {
    if (!this.isOpen) this.list.hidden = false;
    const words = this.field.value.toLowerCase().split(/\s+/);
    const matching = this.choices.filter((choice) => {
      const text = wordsOf(choice).toLowerCase();
      return words.every((word) => text.includes(word));
    });
    // What was chosen stands first: its other builds are mostly what is looked for.
    const name = this.chosen?.entry.name;
    this.offered = [...matching.filter(({ entry }) => entry.name === name), ...matching.filter(({ entry }) => entry.name !== name)].slice(0, MOST);
    const more = matching.length - this.offered.length;
    fill(
      this.list,
      ...this.offered.map((choice, at) =>
        h("li", { id: `${this.list.id}-${at}`, role: "option", "aria-selected": String(choice === this.chosen), onclick: () => this.take(choice) }, h("b", {}, choice.title), h("span", { class: "dim" }, choice.detail)),
      ),
      this.offered.length === 0 && h("li", { class: "dim", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No kernel has these words."),
      more > 0 && h("li", { class: "dim", role: "option", "aria-disabled": "true", "aria-selected": "false" }, `${plural(more, "more kernel")}: type to find them.`),
    );
    this.point(0);
  }

  private point(at: number): void {
    this.at = Math.min(this.offered.length - 1, Math.max(0, at));
    Array.from(this.list.children).forEach((item, index) => item.classList.toggle("on", index === this.at));
    this.field.setAttribute("aria-activedescendant", `${this.list.id}-${this.at}`);
    this.list.children[this.at]?.scrollIntoView({ block: "nearest" });
  }

  private take(choice: Choice): void {
    this.chosen = choice;
    this.close();
    this.pick(choice);
  }

  private pressed(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const choice = this.offered[this.at];
    if (step !== undefined && this.isOpen) this.point(this.at + step);
    else if (step !== undefined) this.open();
    else if (event.key === "Enter" && this.isOpen && choice !== undefined) this.take(choice);
    else if (event.key === "Escape" && this.isOpen) this.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
