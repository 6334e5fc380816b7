import type { ProgramInfo } from "../document/schema";
import { ORIGIN } from "../document/waits";
import { copyText, fill, h } from "../dom";
import { COLOURS, type Colour } from "../state";

const NAMES: Record<Colour, [name: string, title: string]> = {
  instr: ["Instructions", "How many instructions each line became (1)"],
  memory: ["Memory", "Bytes that the messages of each line move (2)"],
  spills: ["Spills", "Bytes that each line saves to and brings back from memory, for want of registers (3)"],
  lines: ["Lines", "A hue for each line, the same in all panes (4)"],
  waits: ["Waits", `Cycles that the instructions of each line wait for others: ${ORIGIN} (5)`],
  samples: ["Samples", "What a profiler counted on the instructions of each line: measured (6)"],
};

/** How the program was built: device, toolchain, options, command; and what lines and colours say. */
export class BuildBar {
  readonly element = h("div", { class: "build", role: "region", "aria-label": "Build" });
  /** Where the fields for compiling in place go. */
  readonly facts = h("div", { class: "how" });
  /** A switch that is there where it changes something. */
  private readonly own: HTMLButtonElement;
  /** How many pieces of advice there are: a click lists them. */
  private readonly advice: HTMLButtonElement;
  private readonly buttons = new Map<Colour, HTMLButtonElement>();

  constructor(
    private readonly tell: (sentence: string) => void,
    choose: (colour: Colour) => void,
    turnOwn: () => void,
    advise: () => void,
  ) {
    const title = "Inlined library code on the lines of your own files that it came through (i)";
    this.own = h("button", { class: "opt", type: "button", title, hidden: true, onclick: turnOwn }, "Own lines");
    this.advice = h("button", { class: "opt", type: "button", title: "What would make this kernel cheaper (a)", hidden: true, onclick: advise });
    const group = h("span", { class: "seg", role: "group", "aria-label": "Colour" }, h("em", {}, "Colour"));
    for (const colour of COLOURS) {
      const [name, title] = NAMES[colour];
      const button = h("button", { type: "button", title, onclick: () => choose(colour) }, name);
      this.buttons.set(colour, button);
      group.append(button);
    }
    this.element.append(this.facts, this.advice, this.own, group);
  }

  /** `fields` are those of the configuration that is edited, in place of what was built. */
  show(program: ProgramInfo | null, fields: HTMLElement | null): void {
    if (fields !== null) return fill(this.facts, fields);
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

  /** Whether there are samples, whose colour is offered then. */
  hasSamples(is: boolean): void {
    const button = this.buttons.get("samples");
    if (button !== undefined) button.hidden = !is;
  }

  colour(colour: Colour): void {
    for (const [each, button] of this.buttons) button.setAttribute("aria-pressed", String(each === colour));
  }
}

function fact(label: string, value: string, more: string): HTMLElement {
  return h("span", { class: "fact", title: more === "" ? value : `${value} ${more}` }, h("em", {}, label), " ", h("b", {}, value), " ", h("i", {}, more));
}
