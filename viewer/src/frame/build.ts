import type { Choices, Configuration } from "../document/options";
import type { ProgramInfo } from "../document/schema";
import { ORIGIN } from "../document/waits";
import { copyText, fill, h, visible } from "../dom";
import { COLOURS, type Colour, OBSERVED_NAMES } from "../state";

const NAMES: Record<Colour, [name: string, title: string]> = {
  instr: ["Instructions", "How many instructions each line became (1)"],
  memory: ["Memory", "Bytes that the messages of each line move (2)"],
  spills: ["Spills", "Bytes that each line saves to and brings back from memory, for want of registers (3)"],
  lines: ["Lines", "A hue for each line, the same in all panes (4)"],
  waits: ["Waits", `Cycles that the instructions of each line wait for others: ${ORIGIN} (5)`],
  samples: ["Samples", "What a profiler counted on the instructions of each line: measured (6)"],
  ...OBSERVED_NAMES,
};

/** After the last key in a field, before it counts; in milliseconds. */
const REST = 400;

/** How a compile stands, in words. */
export interface Standing {
  words: string;
  kind: "busy" | "done" | "failed" | "";
}

/** For what the program is compiled: a change compiles it. */
export class BuildFields {
  readonly element = h("form", { class: "fields", "aria-label": "Build" });
  private readonly device = h("select", {});
  private readonly toolchain = h("select", {});
  private readonly options = h("input", { type: "text", list: "kernlens-options", spellcheck: "false", autocomplete: "off", placeholder: "none" });
  private readonly offers = h("datalist", { id: "kernlens-options" });
  private readonly state = h("span", { class: "standing" });
  private timer = 0;
  private shown: Configuration = { device: "", toolchain: "", options: "", all_passes: false };

  constructor(
    private readonly choices: Choices,
    private readonly configure: (change: Partial<Configuration>) => void,
    compile: () => void,
  ) {
    for (const { name, title } of choices.devices) this.device.append(h("option", { value: name }, name === title ? name : `${name} · ${title}`));
    this.device.addEventListener("change", () => {
      const able = this.ableOf(this.device.value);
      const { toolchain } = this.shown;
      configure({ device: this.device.value, toolchain: able.includes(toolchain) ? toolchain : (able[0] ?? toolchain) });
    });
    this.toolchain.addEventListener("change", () => configure({ toolchain: this.toolchain.value }));
    this.options.addEventListener("change", () => this.take());
    this.options.addEventListener("input", () => {
      this.offer();
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.take(), REST);
    });
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.take();
      compile();
    });
    this.element.append(
      field("Device", this.device),
      field("Toolchain", this.toolchain),
      field("Options", this.options),
      this.offers,
      // Enter in a field is this button's.
      h("button", { class: "spoken", type: "submit", tabindex: "-1", "aria-hidden": "true" }, "Compile"),
      this.state,
    );
  }

  show(configuration: Configuration): void {
    const { device, toolchain, options } = configuration;
    if (device !== this.shown.device || this.toolchain.options.length === 0) {
      const able = this.ableOf(device);
      fill(this.toolchain, ...this.choices.toolchains.filter(({ name }) => able.includes(name)).map(({ name, versions }) => h("option", { value: name }, `${name} · ${versions}`)));
    }
    this.shown = configuration;
    this.device.value = device;
    this.toolchain.value = toolchain;
    // What is being typed is taken over at rest; a result that comes meanwhile leaves it alone.
    if (this.timer === 0 && this.options.value.trim() !== options) this.options.value = options;
    this.offer();
  }

  /** Shows what another kernel was built with, which is on its way: until it is there nothing can be chosen for it. */
  lock(configuration: Configuration | null): void {
    clearTimeout(this.timer);
    this.timer = 0;
    if (configuration !== null) this.show(configuration);
    this.tell({ words: "", kind: "" });
    for (const control of this.controls) control.disabled = true;
  }

  unlock(): void {
    for (const control of this.controls) control.disabled = false;
  }

  private get controls(): (HTMLSelectElement | HTMLInputElement)[] {
    return [this.device, this.toolchain, this.options];
  }

  tell({ words, kind }: Standing): void {
    const shown = visible(kind === "done" ? `✓ ${words}` : words);
    if (this.state.textContent !== shown) this.state.textContent = this.state.title = shown;
    this.state.className = `standing ${kind}`;
  }

  private take(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    const options = this.options.value.trim();
    if (options !== this.shown.options) this.configure({ options });
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

function field(label: string, control: HTMLElement): HTMLElement {
  control.setAttribute("aria-label", label);
  return h("label", { class: `field ${label.toLowerCase()}` }, h("em", {}, label), control);
}

/** How the program was built: device, toolchain, options, command; and what lines and colours say. */
export class BuildBar {
  readonly element = h("div", { class: "build", role: "region", "aria-label": "Build" });
  /** Where the fields for compiling in place go. */
  readonly facts = h("div", { class: "how" });
  /** A switch that is there where it changes something. */
  private readonly own: HTMLButtonElement;
  /** How many pieces of advice there are: a click lists them. */
  private readonly advice: HTMLButtonElement;
  private readonly colours = h("select", { "aria-label": "Colour by" });

  constructor(
    views: HTMLElement,
    private readonly tell: (sentence: string) => void,
    choose: (colour: Colour) => void,
    turnOwn: () => void,
    advise: () => void,
  ) {
    const title = "Inlined library code on the lines of your own files that it came through (i)";
    this.own = h("button", { class: "opt", type: "button", title, hidden: true, onclick: turnOwn }, "Own lines");
    this.advice = h("button", { class: "opt", type: "button", title: "What would make this kernel cheaper (a)", hidden: true, onclick: advise });
    for (const colour of COLOURS) {
      const [name, title] = NAMES[colour];
      this.colours.append(h("option", { value: colour, title }, name));
    }
    this.colours.addEventListener("change", () => choose(this.colours.value as Colour));
    const label = h("label", { class: "field colour" }, h("em", {}, "Colour by"), this.colours);
    this.element.append(views, this.facts, this.advice, this.own, label);
  }

  /** `fields` stand in place of what was built where it can be compiled. */
  show(program: ProgramInfo | null, fields: HTMLElement | null): void {
    if (fields !== null) return fields.parentElement === this.facts ? undefined : fill(this.facts, fields);
    if (program === null) return fill(this.facts);
    const { command } = program;
    fill(
      this.facts,
      fact("Device", program.device ?? "not known", program.device_title ?? ""),
      fact("Toolchain", program.toolchain ?? "not known", program.versions.join(" · ")),
      h("span", { class: "options", title: program.options }, h("em", {}, "Options"), " ", program.options === null ? h("i", {}, "not known") : h("code", {}, program.options || "none")),
      h(
        "span",
        { class: "cmd" },
        h("em", {}, "Command"),
        " ",
        command === null ? h("i", {}, "not recorded") : h("code", { title: command }, command),
        command === null ? null : h("button", { class: "tool", type: "button", "aria-label": "Copy the command", onclick: () => void copyText(command, this.tell) }, "Copy"),
      ),
    );
  }

  /** Whether inlined library code is on the user's own lines; null where there is none. */
  ownLines(isOn: boolean | null): void {
    this.own.hidden = isOn === null;
    this.own.setAttribute("aria-pressed", String(isOn === true));
  }

  /** How much is advised on the kernel, and whether build options can be tried on it. */
  advise(pieces: number, canTry: boolean): void {
    this.advice.hidden = pieces === 0 && !canTry;
    this.advice.textContent = `Advice ${pieces}`;
  }

  /** Whether there are samples, and counts of an interpreter: their colours are offered then. */
  has(samples: boolean, observed: boolean): void {
    for (const option of this.colours.options) {
      if (option.value === "samples") option.hidden = option.disabled = !samples;
      else if (option.value in OBSERVED_NAMES) option.hidden = option.disabled = !observed;
    }
  }

  colour(colour: Colour): void {
    this.colours.value = colour;
    this.colours.title = visible(NAMES[colour][1]);
  }
}

function fact(label: string, value: string, more: string): HTMLElement {
  return h("span", { class: "fact", title: more === "" ? value : `${value} ${more}` }, h("em", {}, label), " ", h("b", {}, value), " ", h("i", {}, more));
}
