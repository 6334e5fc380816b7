import { withoutLines } from "../document/options";
import { fill, h } from "../dom";
import type { Choices, Configuration, Result } from "./compiles";

/** After the last key, before a compile begins; in milliseconds. */
export const REST = 400;

/** The configurations as the bar shows and changes them. */
interface Attempts {
  readonly attempts: readonly { configuration: Configuration; result: Result | null }[];
  /** The one that is shown. */
  readonly at: number;
  configure(change: Partial<Configuration>): void;
  select(at: number): void;
  add(): void;
  remove(): void;
  compile(): void;
  stop(): void;
}

/** The build bar while a source is edited: device, toolchain and options of the configuration that is shown, and the others. */
export class EditBar {
  readonly element = h("form", { class: "edit-bar", "aria-label": "Configuration" });
  private readonly device = h("select", {});
  private readonly toolchain = h("select", {});
  private readonly options = h("input", { type: "text", list: "kernlens-options", spellcheck: "false", autocomplete: "off", placeholder: "none" });
  private readonly offers = h("datalist", { id: "kernlens-options" });
  private readonly chips = h("span", { class: "chips", role: "group", "aria-label": "Configurations" });
  private readonly state = h("span", { class: "state", role: "status" });
  private timer = 0;
  private choices: Choices = { devices: [], toolchains: [], options: [] };

  constructor(private readonly editing: Attempts) {
    this.device.addEventListener("change", () => {
      const able = this.ableOf(this.device.value);
      const { toolchain } = this.shown;
      this.editing.configure({ device: this.device.value, toolchain: able.includes(toolchain) ? toolchain : (able[0] ?? toolchain) });
    });
    this.toolchain.addEventListener("change", () => this.editing.configure({ toolchain: this.toolchain.value }));
    this.options.addEventListener("change", () => this.take());
    this.options.addEventListener("input", () => {
      this.offer();
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.take(), REST);
    });
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.take();
      this.editing.compile();
    });
    this.element.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.take();
      this.editing.compile();
    });
    this.element.append(
      h("label", {}, "Device ", this.device),
      h("label", {}, "Toolchain ", this.toolchain),
      h("label", {}, "Options ", this.options),
      this.offers,
      this.chips,
      h("button", { class: "tool", type: "submit", title: "Ctrl+Enter" }, "Compile"),
      h("button", { class: "tool", type: "button", onclick: () => editing.stop() }, "End editing"),
      this.state,
    );
  }

  private get shown(): Configuration {
    return this.editing.attempts[this.editing.at].configuration;
  }

  show(choices: Choices): void {
    this.choices = choices;
    fill(this.device, ...choices.devices.map(({ name, title }) => h("option", { value: name }, name === title ? name : `${name} · ${title}`)));
    this.tell("", false);
    this.offer();
    this.draw();
  }

  /** What the fields and chips say of the configurations. */
  draw(): void {
    const { device, toolchain, options } = this.shown;
    const able = this.ableOf(device);
    fill(this.toolchain, ...this.choices.toolchains.filter(({ name }) => able.includes(name)).map(({ name, versions }) => h("option", { value: name }, `${name} · ${versions}`)));
    this.device.value = device;
    this.toolchain.value = toolchain;
    // What is being typed is taken over at rest; a result that comes meanwhile leaves it alone.
    if (this.timer === 0 && this.options.value.trim() !== options) this.options.value = options;
    const { attempts, at } = this.editing;
    const chips = attempts.map(({ configuration, result }, number) =>
      h(
        "button",
        { class: "chip", type: "button", "aria-pressed": String(number === at), title: wordsOf(configuration), onclick: () => this.editing.select(number) },
        `${result?.ok === false ? "✗ " : ""}${wordsOf(configuration)}`,
      ),
    );
    const add = h("button", { class: "chip", type: "button", title: "Another configuration of the same source", "aria-label": "Add a configuration", onclick: () => this.editing.add() }, "+");
    const remove = h("button", { class: "chip", type: "button", title: "Leave this configuration out", "aria-label": "Remove this configuration", onclick: () => this.editing.remove() }, "−");
    fill(this.chips, ...chips, add, attempts.length > 1 ? remove : null);
  }

  tell(sentence: string, failed: boolean): void {
    this.state.textContent = sentence;
    this.state.classList.toggle("failed", failed);
  }

  focus(): void {
    this.device.focus();
  }

  private take(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    const options = this.options.value.trim();
    if (options !== this.shown.options) this.editing.configure({ options });
  }

  /** Completes the last word of what is typed. */
  private offer(): void {
    const before = this.options.value.replace(/\S*$/, "");
    fill(this.offers, ...this.choices.options.map((option) => h("option", { value: before + option })));
  }

  private ableOf(device: string): string[] {
    return this.choices.devices.find(({ name }) => name === device)?.toolchains ?? [];
  }
}

function wordsOf({ device, toolchain, options }: Configuration): string {
  return [device, toolchain, withoutLines(options)].filter((word) => word !== "").join(" · ");
}
