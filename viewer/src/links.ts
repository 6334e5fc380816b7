import { NO_ROWS, nearest, rowsOf } from "./document/csr";
import type { Kernel } from "./document/kernel";
import type { Held } from "./document/registers";
import { plural } from "./dom";
import type { Shown } from "./frame/inspector";
import type { Layout } from "./frame/layout";
import type { Slot } from "./frame/slot";
import { BOTH, DARK, type Light, type Lighting, READ, SAME, WRITTEN } from "./lighting";
import { type Named, namedFor, namedIn } from "./machine/named";
import { parse } from "./machine/parse";
import type { Linked } from "./panes/linked";
import type { Marks } from "./panes/ruler";

/** A line of a pane that was pointed at, and the row it is (-1 in the source). */
export interface Target {
  linked: Linked;
  line: number;
  row: number;
  key: number;
  /** The instructions that are meant, where they are others than the line's. */
  rows?: Int32Array;
}

/** What belongs together over all panes: lights it, marks it in the rulers, and finds what is nearest. */
export class Links {
  pinned: Target | null = null;
  exact = false;
  /** What a kernel opens on: lit as long as nothing is pointed at, until something is pinned. */
  lead: Target | null = null;
  /** The register that was clicked in the pinned instruction, where it is written or read; null: all of its registers. */
  register: Named | null = null;
  hits: Map<Linked, Int32Array> = new Map();

  constructor(
    private readonly lighting: Lighting,
    private readonly layout: Layout,
  ) {}

  target(linked: Linked, line: number): Target | null {
    const key = linked.keyAt(line);
    const row = linked.kind === "source" ? -1 : linked.rowAt(line);
    // Lines of a stage that are no instruction (labels, declarations) belong to nothing.
    const isNone = key < 0 && (row < 0 || (linked.rows?.place[row] ?? -1) < -1);
    return isNone ? null : { linked, line, row, key };
  }

  /** Rows of a pane that are exactly the target's instruction; null where no exact link is known. */
  exactRows(target: Target, linked: Linked): Int32Array | null {
    if (target.row < 0 || target.linked.rows === null || linked.rows === null) return null;
    if (target.linked === linked) return Int32Array.of(target.row);
    const rows = linked.rows.exact(target.linked.rows, target.row);
    return rows.length > 0 ? rows : null;
  }

  hasExact(target: Target): boolean {
    return this.linkedPanes().some((linked) => linked !== target.linked && this.exactRows(target, linked) !== null);
  }

  light(target: Target | null): Light {
    if (target === null) return DARK;
    if (target.rows !== undefined) return { key: target.key, exact: this.selectors(target, target.rows) };
    if (!this.exact || target.row < 0) return { key: target.key, exact: null };
    const exact: string[] = [];
    for (const slot of this.layout.slots) {
      if (slot.linked === null) continue;
      for (const row of (this.exactRows(target, slot.linked) ?? []).slice(0, 400)) exact.push(`.slot${slot.number} .R${row}`);
    }
    return { key: target.key, exact };
  }

  /** Selectors of these instructions, and of what comes from their line in the other panes. */
  private selectors(target: Target, rows: Int32Array): string[] {
    const { key } = target;
    return this.layout.slots.flatMap(({ linked, number }) =>
      linked !== null && areOf(linked, target) ? Array.from(rows.subarray(0, 2000), (row) => `.slot${number} .R${row}`) : linked?.kind === "stage" && key >= 0 ? [`.slot${number} .L${key}`] : [],
    );
  }

  /** Editor lines of a pane that are lit by a target. */
  lines(target: Target, linked: Linked): Int32Array {
    if (target.rows !== undefined && areOf(linked, target)) return target.rows.map((row) => linked.lineOf(row));
    if (this.exact && target.row >= 0 && linked.kind !== "source")
      return (this.exactRows(target, linked) ?? new Int32Array(0)).map((row) => linked.lineOf(row));
    return linked.linesOf({ key: target.key, exact: null });
  }

  hover(kernel: Kernel, hovered: Target | null): void {
    const target = hovered ?? this.lead;
    // What is pinned stands out already.
    const isPinned = target !== null && target.key >= 0 && target.key === this.pinned?.key;
    this.lighting.hover(kernel, isPinned ? DARK : this.light(target));
    this.mark(target);
  }

  pin(kernel: Kernel, target: Target | null): void {
    this.pinned = target;
    if (target !== null) this.lead = null;
    const slot = target === null ? null : this.layout.slotOf(target.linked);
    const selected = target !== null && target.row >= 0 && slot !== null ? `.slot${slot.number} .R${target.row}` : null;
    const held = this.held(target);
    this.lighting.pin(kernel, this.light(target), selected, this.marks(target, held));
    for (const linked of this.linkedPanes()) linked.hold(linked === target?.linked ? held : []);
    this.mark(null);
  }

  /** Nothing is shown that could be pinned. */
  clear(): void {
    this.pinned = null;
    this.lead = null;
    this.exact = false;
    this.lighting.clear();
  }

  /** What registers hold of the pinned instruction: the one that was clicked, else one per operand. */
  held(target: Target | null): Held[] {
    if (target === null || target.linked.kind !== "code" || target.row < 0) return [];
    const { code } = target.linked.kernel;
    const { registers } = code;
    if (registers === null) return [];
    const named = this.register === null ? namedIn(parse(code.lines[target.row])) : [this.register];
    const each = named.map(({ register, isWritten }) => registers.held(target.row, register, isWritten));
    return each.filter((held, at) => held !== null && named.findIndex(({ register, isWritten }) => register === named[at].register && isWritten === named[at].isWritten) === at) as Held[];
  }

  /** Style sheet's rules that mark who wrote what the pinned instruction reads (w), and who reads what it wrote (r); and a clicked register wherever it stands. */
  private marks(target: Target | null, held: readonly Held[]): string {
    const slot = target === null ? null : this.layout.slotOf(target.linked);
    if (target === null || slot === null || target.linked.kind !== "code" || target.row < 0) return "";
    const { code } = target.linked.kernel;
    const line = (row: number): string => `.slot${slot.number} .R${row}`;
    const neighbours = code.registers?.neighbours(target.row, this.register?.register ?? null);
    const letter = (rows: Iterable<number>, which: string): string => {
      const selectors = Array.from(rows, (row) => `${line(row)} .from::before`).slice(0, MOST_MARKS);
      return selectors.length === 0 ? "" : `${selectors.join()}{content:"${which}"}`;
    };
    const letters = neighbours == null ? "" : letter(neighbours.writers.keys(), "w") + letter(neighbours.readers.keys(), "r");
    if (this.register === null) return letters;
    const { register } = this.register;
    // The word of the operand that reaches the register: `r12` of eight registers has no `r14`.
    const rule = (rows: number[], body: string): string => {
      const selectors = rows.slice(0, MOST_MARKS).map((row) => `${line(row)} .t-r.g${namedFor(namedIn(parse(code.lines[row])), register)}`);
      return selectors.length === 0 ? "" : `${selectors.join()}{${body}}`;
    };
    const writers = held.flatMap((each) => each.writers.map(({ row }) => row));
    const readers = held.flatMap((each) => each.readers);
    const both = writers.filter((row) => readers.includes(row));
    return `${letters}.slot${slot.number} .t-r.g${register}{${SAME}}${rule(readers, READ)}${rule(writers, WRITTEN)}${rule(both, BOTH)}`;
  }

  /** Brings the target's nearest counterpart into view in each other pane that shows none, of `panes`. */
  scroll(target: Target, panes = this.linkedPanes()): void {
    for (const linked of panes) {
      if (linked === target.linked) continue;
      const exact = this.exactRows(target, linked);
      const lines = exact !== null ? exact.map((row) => linked.lineOf(row)) : this.lines(target, linked);
      if (lines.length === 0) continue;
      const { view } = linked.pane;
      const middle = view.lineBlockAtHeight(view.scrollDOM.scrollTop + view.scrollDOM.clientHeight / 2);
      const line = nearest(lines.sort(), view.state.doc.lineAt(middle.from).number - 1);
      linked.reveal(line);
      if (!linked.pane.sees(line)) linked.pane.show(line);
    }
  }

  /** Marks in rulers what is hovered, pinned and found; and says beside the tabs how much it is. */
  mark(hovered: Target | null): void {
    const target = this.pinned ?? hovered ?? this.lead;
    for (const slot of this.layout.slots) {
      const { linked } = slot;
      if (linked === null) continue;
      const marks: Marks[] = [];
      const lines = this.hits.get(linked);
      if (lines !== undefined) marks.push({ lines, colour: "hit" });
      if (target !== null) marks.push({ lines: this.lines(target, linked), colour: "lit" });
      linked.pane.ruler.set(marks);
      this.point(linked, target);
      this.tell(slot, marks.at(-1)?.colour === "lit" ? marks.at(-1)?.lines.length ?? 0 : null, lines?.length ?? null);
    }
  }

  /** Arrows of the instruction that is pointed at, or of the line that is pinned, to what it waits for. */
  private point(linked: Linked, target: Target | null): void {
    const isRow = target?.linked.kind === "code";
    if (target === null || (!isRow && target !== this.pinned)) linked.point(NO_ROWS, false, false);
    else linked.point(isRow ? Int32Array.of(target.row) : linked.kernel.code.of(target.key), !isRow, target === this.pinned);
  }

  /** What the detail says of a target. */
  shown(target: Target): Shown {
    const lit = this.linkedPanes()
      .filter((linked) => linked.kind !== "source")
      .map((linked) => ({ name: linked.kind === "code" ? "machine code" : linked.title, lines: this.lines(target, linked).length }));
    return {
      key: target.key,
      place: target.linked.placeAt(target.line),
      row: target.linked.kind === "code" ? target.row : -1,
      held: target === this.pinned && this.register !== null ? this.held(target)[0] ?? null : null,
      register: target === this.pinned ? this.register : null,
      isAdvice: target.rows !== undefined,
      isExact: this.exact && target.row >= 0,
      hasExact: this.hasExact(target),
      lit,
    };
  }

  /** A target as a screen reader hears it. */
  words(kernel: Kernel, target: Target): string {
    const { linked, line } = target;
    // A text that is only read has no caret, from which a screen reader would know the row.
    const row = `${linked.numberAt(line)}: ${linked.pane.view.state.doc.line(line + 1).text.trim().replace(/\s+/g, " ").slice(0, 200)}`;
    if (target.key < 0) return `${row}, no source line`;
    const { places, weights, code } = kernel;
    const instructions = weights.instructions[target.key];
    const share = code.count > 0 ? Math.round((100 * instructions) / code.count) : 0;
    const others = this.linkedPanes()
      .filter(({ kind }) => kind === "stage")
      .map((linked) => `${rowsOf(linked.rows?.own ?? EMPTY, target.key).length} in ${linked.title}`);
    const wait = target.linked.kind === "code" ? (code.waits?.cycles[target.row] ?? 0) : weights.waits[target.key];
    if (wait > 0) others.push(`waits ${plural(wait, "cycle")}`);
    return [row, `line ${places.keyLine[target.key]}`, plural(instructions, "instruction"), `${share} percent`, ...others].join(", ");
  }

  linkedPanes(): Linked[] {
    return this.layout.slots.flatMap(({ linked }) => (linked === null ? [] : [linked]));
  }

  private tell(slot: Slot, lit: number | null, hits: number | null): void {
    const parts: string[] = [];
    if (hits !== null) parts.push(`${hits} found`);
    if (lit !== null) parts.push(`${lit} lit`);
    const text = parts.join(" · ");
    if (slot.told.textContent !== text) slot.told.textContent = text;
  }
}

/** Whether the rows that a target means are this pane's: they are of the machine code, but for those of a stage where there is none. */
function areOf(linked: Linked, { linked: from }: Target): boolean {
  return from.kind === "stage" ? linked === from : linked.kind === "code";
}

/** Rows that one rule marks. */
const MOST_MARKS = 400;
const EMPTY = { start: new Int32Array(1), rows: new Int32Array(0) };
