import type { Kernel } from "../document/kernel";
import { certainOf, FROM_STAGE, INHERITED, LOST, PROLOGUE, UNCERTAIN } from "../document/kernel";
import type { Advice } from "../document/advice";
import { rowsOf } from "../document/csr";
import type { Held } from "../document/registers";
import { count, fill, h, hex, percent, plural } from "../dom";
import { extent, formula, OPTION_WORDS, tokenWords } from "../machine/explain";
import type { Named } from "../machine/named";
import { isScoreboard, parse } from "../machine/parse";
import { loopedOf } from "../panes/loops";
import { adviceOfLine } from "./advice";
import { registerZone } from "./registers";
import { observedOfLine, requestsOfLine } from "./observed";
import { samplesOf } from "./samples";
import { variablesOf } from "./variables";
import { waitsOfLine, waitsOfRow } from "./waits";

export interface InspectorActions {
  goToRow(row: number): void;
  /** Shows an instruction with a register of it that stays lit. */
  goToRegister(row: number, named: Named): void;
  goToLine(key: number): void;
  exact(): void;
  list(): void;
  advise(advice: Advice): void;
}

/** Where the panel stands beside the panes, and not below them (style/frame.css). */
const DOCKED = matchMedia("(min-width: 1900px)");

/** Links to other instructions in one sentence. */
const MOST = 6;

/** What is shown: a source line, and the instruction where one is pointed at. */
export interface Shown {
  key: number;
  place: number;
  row: number;
  /** The register that was clicked, null for none; and what it holds there, null where that is not known. */
  register: Named | null;
  held: Held | null;
  isExact: boolean;
  /** Whether the instructions are lit that an advice is about, and not those of the line. */
  isAdvice: boolean;
  /** Whether exact links of this instruction are known, and what is lit in each pane: name and lines. */
  hasExact: boolean;
  lit: { name: string; lines: number }[];
}

/** The panel below the panes: the instruction explained, how its line got here, and what the line costs. */
export class Inspector {
  readonly element = h("aside", { "aria-label": "Detail" });

  constructor(
    private readonly actions: InspectorActions,
    private readonly opcodes: ReadonlyMap<string, string>,
  ) {
    this.clear(null);
    DOCKED.addEventListener("change", () => {
      if (this.isIdle) this.element.hidden = !DOCKED.matches;
    });
  }

  /** Whether nothing is pinned, of a kernel that is shown. */
  private isIdle = false;

  clear(kernel: Kernel | null): void {
    const sentence =
      kernel?.hasLines === true
        ? "Point at a line of source, of a stage or of machine code: what belongs together lights up in all panes. A click keeps it."
        : "Point at an instruction: what it does stands here. Nothing is linked by line, as no lines are known.";
    this.isIdle = kernel !== null;
    this.element.hidden = kernel === null || !DOCKED.matches;
    fill(this.element, h("div", { class: "w" }, h("p", { class: "dim" }, sentence)));
  }

  show(kernel: Kernel, shown: Shown): void {
    this.isIdle = false;
    this.element.hidden = false;
    const line = this.line(kernel, shown);
    const isRow = shown.row >= 0;
    fill(
      this.element,
      isRow ? this.instruction(kernel, shown.row) : line,
      this.register(kernel, shown),
      variablesOf(kernel, shown.row),
      this.samples(kernel, shown),
      this.waits(kernel, shown),
      requestsOfLine(kernel, shown.key),
      observedOfLine(kernel, shown.key),
      this.trail(kernel, shown),
      isRow ? line : null,
      adviceOfLine(kernel, shown.key, (advice) => this.actions.advise(advice)),
    );
    tie(this.element);
    // What may scroll is reached by keys, too.
    for (const zone of this.element.children) if (zone.querySelector("button") === null) zone.setAttribute("tabindex", "0");
  }

  private instruction(kernel: Kernel, row: number): HTMLElement {
    const { code } = kernel;
    const parsed = parse(code.lines[row]);
    const message = code.messages.get(row);
    const words = this.opcodes.get(parsed.opcode) ?? this.opcodes.get(code.opcode(row)) ?? "";
    const computes = formula(parsed);
    const size = `${code.size[row]} bytes${parsed.options.includes("Compacted") ? " (compacted)" : ""}`;
    const first = h("p", {}, h("b", {}, parsed.opcode));
    if (words !== "") first.append(` ${words.replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase()).replace(/\.$/, "")}`);
    if (computes !== null) first.append(": ", h("code", {}, computes));
    first.append(`; ${[extent(parsed), size].filter(Boolean).join(", ")}.`);
    const more = h("div", { class: "more" });
    if (message !== undefined) more.append(h("p", {}, `${message.words.replace(/^./, (letter) => letter.toUpperCase())}.`));
    const targets = code.targets.get(row) ?? [];
    if (targets.length > 0) more.append(h("p", {}, "Goes to ", ...this.links(kernel, targets), "."));
    for (const token of parsed.options) {
      if (isScoreboard(token)) {
        const producers = code.producers(row, token);
        const sentence = h("p", {}, h("code", {}, token), ` ${tokenWords(token)}`);
        const isDistance = token.includes("@");
        if (producers.length > 0) sentence.append(isDistance ? ": " : ": sent at ", ...this.links(kernel, producers));
        else if (isDistance) sentence.append(", which is not in the straight code before it");
        sentence.append(".");
        more.append(sentence);
      } else if (token !== "Compacted" && OPTION_WORDS.has(token)) {
        more.append(h("p", {}, h("code", {}, token), ` ${OPTION_WORDS.get(token)}`));
      }
    }
    const waiters = code.waiters(row);
    if (waiters.length > 0) more.append(h("p", {}, "Waited for at: ", ...this.links(kernel, waiters), "."));
    this.uses(kernel, row, more);
    if (code.live !== null) more.append(h("p", {}, `${plural(code.live[row], "register")} live here.`));
    const bits = code.flags[row];
    const depth = code.depthOf(row);
    if (depth > 0) more.append(h("p", {}, depth === 1 ? "In a loop." : `In ${depth} loops.`));
    if (bits & PROLOGUE) more.append(h("p", {}, "Of the prologue: it counts in no line's share."));
    else if (bits & LOST) more.append(h("p", {}, "The compiler lost the line: the one shown is that of the row before."));
    else if (bits & INHERITED) more.append(h("p", {}, "Without a line of its own: the one shown is its neighbour's."));
    else if (bits & UNCERTAIN) more.append(h("p", {}, "Of this line or of none: the line table does not tell, the compile's stages do."));
    if (bits & FROM_STAGE) more.append(h("p", {}, "Its line is told by the stages; the line table lost it."));
    return h("div", { class: "w" }, h("span", { class: "at" }, hex(code.offset[row])), h("div", {}, first, more));
  }

  private samples(kernel: Kernel, { row, key }: Shown): HTMLElement | null {
    return samplesOf(kernel, row >= 0 ? Int32Array.of(row) : kernel.code.of(key), row, (other) => this.link(kernel, other));
  }

  private waits(kernel: Kernel, { row, key }: Shown): HTMLElement | null {
    const links = { row: (other: number) => this.link(kernel, other), line: (other: number) => this.lineLink(kernel, other) };
    return row >= 0 ? waitsOfRow(kernel, row, links) : key >= 0 ? waitsOfLine(kernel, key, links) : null;
  }

  private register(kernel: Kernel, { register, held }: Shown): HTMLElement | null {
    if (register === null) return null;
    const link = (row: number, isWritten: boolean): HTMLElement => {
      const go = (): void => this.actions.goToRegister(row, { register: register.register, isWritten });
      return h("button", { class: "link", type: "button", onclick: go }, hex(kernel.code.offset[row]));
    };
    return registerZone(kernel, register.register, held, link);
  }

  /** Who wrote what the row reads, and who reads what it writes. */
  private uses(kernel: Kernel, row: number, into: HTMLElement): void {
    const neighbours = kernel.code.registers?.neighbours(row, null);
    if (neighbours == null) return;
    const told = (others: Map<number, number[]>, verb: string): void => {
      if (others.size === 0) return;
      const named = (other: number): HTMLElement => h("span", {}, `${registersOf(others.get(other) ?? [])} `, this.link(kernel, other));
      into.append(h("p", {}, verb, ...this.links(kernel, Array.from(others.keys()), named), "."));
    };
    told(neighbours.writers, "Reads what was written at (w): ");
    told(neighbours.readers, "Its result is read at (r): ");
  }

  private trail(kernel: Kernel, { place, key }: Shown): HTMLElement | null {
    const { places } = kernel;
    const chain = place >= 0 ? places.chain(place) : [];
    // With own lines: what was inlined into this one, which no line of these panes is.
    const inner = place >= 0 ? places.inner(place).map(([file, line]) => nameOf(kernel.files[file], line)) : [];
    if (chain.length < 2 && inner.length === 0) {
      const callers = chain.length === 0 && key >= 0 ? Array.from(rowsOf(places.callers, key)) : [];
      if (callers.length === 0) return null;
      const links = callers.slice(0, 8).map((caller) => this.place(kernel, caller));
      const more = callers.length > 8 ? h("span", {}, `and ${callers.length - 8} more`) : null;
      return h("div", { class: "w" }, h("span", { class: "lab" }, "Inlined into"), h("div", { class: "trail" }, ...links, more));
    }
    const called = (): HTMLElement => h("span", {}, "called at");
    const parts = inner.flatMap((name) => [h("span", {}, name), called()]);
    parts.push(h("span", { class: "here" }, this.nameOf(kernel, places.key[chain[0]])));
    for (const caller of chain.slice(1)) parts.push(called(), this.place(kernel, places.key[caller]));
    return h("div", { class: "w" }, h("span", { class: "lab" }, "Inlined"), h("div", { class: "trail" }, ...parts));
  }

  private line(kernel: Kernel, shown: Shown): HTMLElement | null {
    const { key } = shown;
    const { code, places, weights } = kernel;
    if (key < 0) return h("div", { class: "w" }, h("span", { class: "lab" }, "Line"), h("p", {}, "– The compiler gave it no source line."));
    const instructions = weights.instructions[key];
    const body = h("div", { class: "line" });
    const first = h("p", {}, instructions === 0 ? "No instruction of its own" : h("b", {}, count(instructions)));
    if (instructions > 0) first.append(` instruction${instructions === 1 ? "" : "s"}, ${percent(instructions, code.count)}% of the kernel`);
    const certain = certainOf(code, code.of(key));
    if (certain < instructions) first.append(`, ${count(certain)} for certain`);
    if (weights.memory[key] > 0) first.append(`, ${count(weights.memory[key])} bytes moved`);
    if (weights.spills[key] > 0) first.append(`, ${count(weights.spills[key])} bytes spilled or filled`);
    first.append(loopedOf(kernel, key).replace(",", ";"));
    first.append(".");
    const lit = shown.lit.map(({ name, lines }) => `${count(lines)} in ${name}`).join(", ");
    const second = h("p", {}, `${shown.isAdvice ? "What the advice is about" : shown.isExact ? "Exactly this instruction" : "By line"}: ${lit}. `);
    if (shown.hasExact)
      second.append(h("button", { class: "link", type: "button", onclick: this.actions.exact }, shown.isExact ? "the whole line" : "exact links of this instruction", letter("x")), " ");
    second.append(h("button", { class: "link", type: "button", onclick: this.actions.list }, "list", letter("L")));
    body.append(first, second);
    return h("div", { class: "w" }, h("span", { class: "lab" }, `Line ${places.keyLine[key]}`), body);
  }

  private place(kernel: Kernel, key: number): HTMLElement {
    return h("button", { class: "link", type: "button", onclick: () => this.actions.goToLine(key) }, this.nameOf(kernel, key));
  }

  /** A line by its number; with its file where there are several. */
  private lineLink(kernel: Kernel, key: number): HTMLElement {
    const { keyFile, keyLine } = kernel.places;
    const isOne = keyFile.every((file) => file === keyFile[key]);
    return h("button", { class: "link", type: "button", onclick: () => this.actions.goToLine(key) }, isOne ? `line ${keyLine[key]}` : this.nameOf(kernel, key));
  }

  private nameOf(kernel: Kernel, key: number): string {
    return nameOf(kernel.files[kernel.places.keyFile[key]], kernel.places.keyLine[key]);
  }

  /** The first of these rows, as `named` has each, and how many more they are. */
  private links(kernel: Kernel, rows: number[], named = (row: number): HTMLElement => this.link(kernel, row)): (HTMLElement | string)[] {
    return [...commas(rows.slice(0, MOST).map(named)), rows.length > MOST ? ` and ${rows.length - MOST} more` : ""];
  }

  private link(kernel: Kernel, row: number): HTMLElement {
    return h("button", { class: "link", type: "button", onclick: () => this.actions.goToRow(row) }, hex(kernel.code.offset[row]));
  }
}

/** A key beside what it does: where letters are typed, in a source that can be edited, it is no key (style/frame.css). */
function letter(key: string): HTMLElement {
  return h("span", { class: "letter" }, ` (${key})`);
}

/** Keeps what ends a sentence on the line of the link before it: a button is a box, and boxes may be parted from what follows. */
function tie(element: HTMLElement): void {
  for (const link of element.querySelectorAll("button.link")) {
    const next = link.nextSibling;
    const mark = next instanceof Text ? (/^[.,;)]+/.exec(next.data)?.[0] ?? "") : "";
    if (mark === "" || !(next instanceof Text)) continue;
    next.data = next.data.slice(mark.length);
    const tied = h("span", { class: "tied" });
    link.replaceWith(tied);
    tied.append(link, mark);
  }
}

function nameOf(path: string, line: number): string {
  return `${path.split("/").pop()}:${line}`;
}

/** Registers in words: `r32`, `r32–r35`. */
function registersOf(registers: number[]): string {
  const sorted = [...new Set(registers)].sort((left, right) => left - right);
  const first = sorted[0];
  const last = sorted[sorted.length - 1];
  if (sorted.length === 1) return `r${first}`;
  return last - first === sorted.length - 1 ? `r${first}–r${last}` : sorted.slice(0, 4).map((each) => `r${each}`).join(" ");
}

function commas(parts: (HTMLElement | string)[]): (HTMLElement | string)[] {
  return parts.flatMap((each, index) => (index === 0 ? [each] : [", ", each]));
}
