import { count, fill, h, plural } from "../dom";
import { queryOf, type Query, WORDS } from "./query";

/** What a pane of the kernel that is shown has of what is looked for. */
export interface Here {
  title: string;
  count: number;
  /** What is counted: lines or instructions. */
  unit: string;
  go(): void;
}

/** What all kernels have of it: a sentence where that cannot be told, or not yet. */
export type Everywhere = { kernels: number; all: number } | string;

export interface SearchActions {
  find(query: Query | null): void;
  /** To the next place in this kernel. */
  step(by: number): void;
  /** To the next kernel that has it. */
  stepKernel(by: number): void;
  /** Shows the list of kernels. */
  list(): void;
  leave(): void;
}

const EXAMPLES = ["op:send", "line:43", "reg:r52", "fn:name", "re:add.*f"];

/** The field in the header, and what it found below it: in this kernel, and in all kernels. */
export class SearchField {
  readonly element: HTMLElement;
  readonly input = h("input", { type: "search", placeholder: "Search all kernels", "aria-label": "Search this kernel and all others", spellcheck: "false", autocomplete: "off" });
  private readonly told = h("span", { class: "found" });
  private readonly problem = h("p", { class: "warn", hidden: true });
  private readonly here = h("div", { hidden: true });
  private readonly everywhere = h("div", { hidden: true });
  private readonly results: HTMLElement;
  private timer = 0;
  private sought = "";

  constructor(private readonly actions: SearchActions) {
    const word = (text: string): HTMLElement => h("button", { type: "button", class: "word", onclick: () => this.put(text) }, text);
    const keys = h("p", { class: "keys" }, h("kbd", {}, "Enter"), " next here ", h("kbd", {}, "Alt ↓"), " next kernel");
    const tips = h("div", { class: "tips" }, keys, h("p", {}, ...WORDS.map(word)), h("p", {}, ...EXAMPLES.map((text) => h("code", {}, text))));
    this.results = h("div", { class: "results", role: "dialog", "aria-label": "Search results", hidden: true }, this.problem, this.here, this.everywhere, tips);
    this.element = h("div", { class: "find", role: "search" }, h("span", { "aria-hidden": "true" }, "⌕"), this.input, this.told, h("kbd", { "aria-hidden": "true" }, "/"), this.results);
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.look(), 120);
    });
    this.element.addEventListener("keydown", (event) => this.pressed(event));
    this.element.addEventListener("focusin", () => (this.results.hidden = false));
    // What is clicked elsewhere need not take the keyboard.
    window.addEventListener("pointerdown", (event) => {
      if (!event.composedPath().includes(this.element)) this.results.hidden = true;
    });
    this.element.addEventListener("focusout", (event) => (this.results.hidden = !this.element.contains(event.relatedTarget as Node | null)));
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  tell(sentence: string): void {
    this.told.textContent = sentence;
  }

  /** Says what is wrong with what was typed; "" for nothing. */
  warn(sentence: string): void {
    this.problem.hidden = sentence === "";
    this.problem.textContent = sentence;
  }

  showHere(panes: Here[]): void {
    this.here.hidden = panes.length === 0;
    const item = ({ title, count: places, unit, go }: Here): HTMLElement =>
      h("button", { type: "button", class: "it", disabled: places === 0, onclick: go }, h("span", {}, title), h("em", {}, plural(places, unit)));
    fill(this.here, h("h2", {}, "In this kernel"), ...panes.map(item));
  }

  showEverywhere(all: Everywhere | null): void {
    this.everywhere.hidden = all === null;
    if (all === null) return;
    const words = typeof all === "string" ? h("p", { class: "dim" }, all) : null;
    const item = typeof all === "string" ? null : h("button", { type: "button", class: "it", disabled: all.kernels === 0, onclick: () => this.actions.list() }, h("span", {}, this.input.value.trim()), h("em", {}, `${count(all.kernels)} of ${plural(all.all, "kernel")}`));
    fill(this.everywhere, h("h2", {}, "In all kernels"), item, words);
  }

  private pressed(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      this.put("");
      this.actions.leave();
      this.results.hidden = true;
    } else if (event.altKey && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      this.now();
      this.actions.stepKernel(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && event.target === this.input) {
      this.now();
      this.actions.step(event.shiftKey ? -1 : 1);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Looks for this text. */
  private put(text: string): void {
    this.input.value = text;
    this.now();
    if (text !== "") this.input.focus();
  }

  private now(): void {
    clearTimeout(this.timer);
    this.look();
  }

  private look(): void {
    if (this.input.value === this.sought) return;
    this.sought = this.input.value;
    const query = queryOf(this.input.value);
    const isWrong = typeof query === "string";
    this.warn(isWrong ? query : "");
    this.tell("");
    this.actions.find(isWrong ? null : query);
  }
}
