import { EditorView, showPanel } from "@codemirror/view";

import { isListed } from "../document/family";
import type { Kernel } from "../document/kernel";
import { FROM_STAGE, ILLEGAL, PROLOGUE } from "../document/kernel";
import { LONG, ORIGIN, SHORT } from "../document/waits";
import type { Held } from "../document/registers";
import type { Samples } from "../document/samples";
import { hex, largest, plural, visible } from "../dom";
import { namedIn } from "../machine/named";
import { columnsOf, layOut, messageWords, scoreboardOf } from "../machine/operands";
import { parse, type Parsed } from "../machine/parse";
import { Blocks } from "./blocks";
import { refreshed } from "./classes";
import { FOLDING, foldEffect, isFoldedAt, unfoldEffect } from "./folding";
import { Cell, cells, part, shadeClass } from "./gutter";
import { GEN, highlight } from "./highlight";
import { Lane } from "./lane";
import { Linked, type Surroundings } from "./linked";
import { Pane } from "./pane";
import { Strip } from "./strip";
import { tokens } from "./tokens";

export interface CodeSurroundings extends Surroundings {
  /** The reader clicked a token of the scoreboard. */
  follow(row: number, token: string): void;
  /** The reader clicked a branch's label. */
  goToRow(row: number): void;
  /** The reader clicked a general register of an instruction. */
  register(from: Linked, line: number, register: number, isWritten: boolean): void;
}

/** The machine code: a header per basic block, then its instructions. */
export class CodePane extends Linked {
  readonly kind = "code";
  readonly title = "Machine code";
  readonly pane!: Pane;
  readonly parsed: Parsed[];
  readonly strip: Strip | null;
  private readonly lineOfRow: Int32Array;
  /** The row of each line; of a block's header, -1 minus its block. */
  private readonly rowOfLine: Int32Array;
  readonly blocks: Blocks;
  private lane: Lane | null = null;
  /** Whether it has the column of wait cycles. */
  private readonly hasWaits: boolean;
  /** The most loops that an instruction is in, of those that are told apart. */
  private readonly deepest: number;
  /** Characters of the longest row. */
  private readonly widest: number;

  constructor(
    kernel: Kernel,
    readonly short: boolean,
    around: CodeSurroundings,
  ) {
    const { code } = kernel;
    super(kernel, code);
    this.parsed = code.lines.map(parse);
    const columns = columnsOf(this.parsed, isListed(kernel.program));
    const lines: string[] = [];
    const rowOfLine: number[] = [];
    this.lineOfRow = new Int32Array(code.count);
    const headers = code.blocks.length > 1;
    for (let block = 0; block < code.blocks.length; block++) {
      if (headers) {
        lines.push(this.describe(block));
        rowOfLine.push(-1 - block);
      }
      for (let row = code.blocks[block]; row < code.blockEnd(block); row++) {
        this.lineOfRow[row] = lines.length;
        rowOfLine.push(row);
        lines.push(short ? layOut(this.parsed[row], columns, this.wordsOf(row)) : code.lines[row]);
      }
    }
    const tokensOf = short ? this.parsed.map(scoreboardOf) : [];
    const width = (line: string, row: number): number => (row < 0 ? 0 : line.length + (tokensOf[row] ?? []).reduce((sum, token) => sum + token.length + 1, 1));
    this.widest = largest(lines.map((line, at) => width(line, rowOfLine[at])), 20);
    this.rowOfLine = Int32Array.from(rowOfLine);
    // The same scale as the strip's: the register file.
    const most = Math.max(kernel.program.kernels.registers[kernel.row] ?? 0, largest(code.live ?? [], 1));
    this.deepest = Math.min(DEEPEST, largest(code.depth, 0));
    this.hasWaits = code.waits?.cycles.some((cycles) => cycles >= SHORT) === true;
    this.pane = new Pane({
      root: around.root,
      kind: "gen",
      label: "Machine code",
      lines,
      classOf: (line) => this.lineClass(line, around),
      extensions: [
        FOLDING,
        highlight(GEN),
        cells("numbers", (line) => this.cell(line, around, most)),
        ...(short ? [tokens((line) => tokensOf[rowOfLine[line]] ?? []), showPanel.of(() => ({ top: true, dom: this.heads(columns.head, columns.size) }))] : []),
        EditorView.updateListener.of((update) => {
          if (update.geometryChanged || refreshed(update)) this.lane?.redraw();
          if (refreshed(update)) this.blocks?.redraw();
        }),
        EditorView.clipboardOutputFilter.of((text) => this.copied() ?? text),
      ],
      onHover: (line) => around.hover(this, line),
      onPin: (line) => around.pin(this, line),
      onCursor: (line) => around.cursor(this, line),
      meaning: (word, line) => this.meaning(word, line, around),
    });
    // What wraps goes on below the operands.
    this.pane.element.style.setProperty("--hang", `${short ? columns.head + columns.size : 32}ch`);
    this.lane = new Lane(this, (row) => around.goToRow(row));
    this.strip = code.live === null ? null : new Strip(this, code.live);
    if (this.strip !== null) this.pane.attach(this.strip.canvas);
    this.blocks = new Blocks(this, (row) => around.goToRow(row));
    if (this.prologue > 0) this.turnPrologue();
  }

  /** Words that do more than pin their row: tokens, registers, labels, and the arrow that folds. */
  private meaning(word: Element, line: number, around: CodeSurroundings): (() => void) | null {
    const row = this.rowAt(line);
    if (row < 0) return word.closest(".header") === null ? null : () => this.toggle(line);
    if (row === 0 && word.closest(".cm-foldPlaceholder, .fold") !== null) return () => this.turnPrologue();
    const text = word.textContent ?? "";
    if (word.classList.contains("token")) return () => around.follow(row, text);
    if (word.classList.contains("t-f") && this.kernel.code.targets.has(row)) {
      const offset = Number.parseInt(text.slice(1), text.startsWith("→") ? 16 : 10);
      return () => around.goToRow(this.branchTo(row, offset));
    }
    const registers = Array.from(word.closest(".cm-line")?.querySelectorAll(".t-r") ?? []).filter((each) => /^[-~(]*r\d/.test(each.textContent ?? ""));
    const register = registers.includes(word) ? namedIn(this.parsed[row])[registers.indexOf(word)] : undefined;
    return register === undefined ? null : () => around.register(this, line, register.register, register.isWritten);
  }

  /** Where a branch goes: to the instruction at this offset, if there is one. */
  private branchTo(row: number, offset: number): number {
    const target = Number.isInteger(offset) ? this.kernel.code.rowAt(offset) : -1;
    return target >= 0 ? target : (this.kernel.code.targets.get(row)?.[0] ?? row);
  }

  private wordsOf(row: number): string | null {
    const message = this.kernel.code.messages.get(row);
    return message === undefined ? null : messageWords(message);
  }

  /** How wide the pane is to be so that no row wraps, in pixels; 0 while it is not on the screen. */
  override get width(): number {
    const { element, view } = this.pane;
    const content = view.contentDOM.clientWidth;
    if (content === 0) return 0;
    const letter = widthOf(getComputedStyle(view.contentDOM).font);
    return Math.ceil(element.offsetWidth - content + (this.widest + 1) * letter + 12);
  }

  override rowAt(line: number): number {
    return line < 0 || line >= this.rowOfLine.length || this.rowOfLine[line] < 0 ? -1 : this.rowOfLine[line];
  }

  override numberAt(line: number): string {
    const row = this.rowAt(line);
    return row < 0 ? "" : hex(this.kernel.code.offset[row]);
  }

  override point(rows: Int32Array, isLine: boolean, isPinned: boolean): void {
    this.lane?.show(rows, isLine, isPinned);
    if (isPinned || rows.length === 0) this.blocks.mark(rows);
  }

  override hold(bars: readonly Held[]): void {
    this.lane?.hold(bars);
  }

  override lineOf(row: number): number {
    return this.lineOfRow[row];
  }

  /** Folds or unfolds the block of a line. */
  toggle(line: number): void {
    const { view } = this.pane;
    if (this.isInPrologue(line)) return this.turnPrologue();
    const header = this.headerOf(line);
    if (header < 0) return;
    const block = -1 - this.rowOfLine[header];
    const from = view.state.doc.line(header + 1).to;
    const to = view.state.doc.line(this.lineOf(this.kernel.code.blockEnd(block) - 1) + 1).to;
    view.dispatch({ effects: this.isFolded(from) ? unfoldEffect.of(from) : foldEffect.of({ from, to, words: "…" }), selection: { anchor: from } });
    this.pane.refresh();
  }

  /** Instructions that the compiler puts before the first of the source, where they are worth a row of their own; 0 for none. */
  private get prologue(): number {
    const { flags, count } = this.kernel.code;
    let rows = 0;
    while (rows < count && flags[rows] & PROLOGUE && this.lineOfRow[rows] - this.lineOfRow[0] === rows) rows++;
    return rows < LEAST_FOLDED ? 0 : rows;
  }

  /** Whether a line is one of the folded prologue. */
  private isInPrologue(line: number): boolean {
    const row = this.rowAt(line);
    return row >= 0 && row < this.prologue && this.isFolded(this.pane.view.state.doc.line(this.lineOf(0) + 1).from);
  }

  /** Makes one row of the prologue, or shows its instructions. */
  private turnPrologue(): void {
    const { view } = this.pane;
    const { doc } = view.state;
    const { from } = doc.line(this.lineOf(0) + 1);
    const words = `prologue: ${plural(this.prologue, "instruction")}, of no source line`;
    view.dispatch({ effects: this.isFolded(from) ? unfoldEffect.of(from) : foldEffect.of({ from, to: doc.line(this.lineOf(this.prologue - 1) + 1).to, words }) });
    this.pane.refresh();
  }

  /** The header of a line's block; -1 where there is none. */
  private headerOf(line: number): number {
    let header = line;
    while (header > 0 && this.rowOfLine[header] >= 0) header--;
    return this.rowOfLine[header] >= 0 ? -1 : header;
  }

  /** Opens the block that a line is in. */
  override reveal(line: number): void {
    const header = this.headerOf(line);
    if (header >= 0 && this.isFolded(this.pane.view.state.doc.line(header + 1).to)) this.toggle(header);
    if (this.isInPrologue(line)) this.turnPrologue();
  }

  private isFolded(from: number): boolean {
    return isFoldedAt(this.pane.view, from);
  }

  private describe(block: number): string {
    const { code, places } = this.kernel;
    const first = code.blocks[block];
    const end = code.blockEnd(block);
    let low = Number.MAX_SAFE_INTEGER;
    let high = -1;
    let prologue = 0;
    for (let row = first; row < end; row++) {
      if (code.flags[row] & PROLOGUE) prologue++;
      if (code.key[row] < 0 || (code.inherited !== null && code.inherited[row] !== 0)) continue;
      low = Math.min(low, places.keyLine[code.key[row]]);
      high = Math.max(high, places.keyLine[code.key[row]]);
    }
    const parts = [`block B${block}`, plural(end - first, "instruction")];
    const name = code.functions.get(first);
    if (name !== undefined) parts.unshift(name);
    if (high >= 0) parts.push(low === high ? `line ${low}` : `lines ${low}–${high}`);
    if (prologue > 0) parts.push(`prologue ${prologue}`);
    const depth = code.depth[block] ?? 0;
    if (depth > 0) parts.push(depth === 1 ? "in a loop" : `in ${depth} loops`);
    return parts.join(" · ");
  }

  private lineClass(line: number, around: Surroundings): string {
    const row = this.rowAt(line);
    if (row < 0) return "header";
    const { flags } = this.kernel.code;
    const extra = flags[row] & ILLEGAL ? " illegal" : flags[row] & FROM_STAGE ? " from-stage" : "";
    return this.classesOf(row, this.shadeOf(row, around)) + extra;
  }

  private shadeOf(row: number, around: Surroundings): number {
    const { code } = this.kernel;
    return around.shade(code.inherited?.[row] ? -1 : code.key[row]);
  }

  private cell(line: number, around: Surroundings, most: number): Cell {
    const row = this.rowAt(line);
    if (row < 0) {
      // The gutter is drawn once before the pane is there.
      const folded = this.pane !== undefined && this.isFolded(this.pane.view.state.doc.line(line + 1).to);
      return new Cell(`${line} ${folded}`, "header", () => [part("fold", folded ? "▸" : "▾")]);
    }
    const { code } = this.kernel;
    if (row === 0 && this.pane !== undefined && this.isInPrologue(line)) return new Cell("prologue", "header", () => [part("fold", "▸")]);
    const shade = this.shadeOf(row, around);
    return new Cell(`${line} ${shade}`, this.lineClass(line, around), () => {
      const parts = [part("ln", code.offset[row].toString(16).padStart(4, "0"))];
      if (this.deepest > 0) parts.push(this.loops(row));
      parts.push(part(`bar ${shadeClass(shade)}`), part("from", this.lineLabel(row)));
      if (code.live !== null) {
        const live = part("live");
        live.append(part(`p${Math.round((20 * code.live[row]) / most)}`));
        live.title = `${code.live[row]} registers live`;
        parts.push(live);
      }
      if (code.samples !== null) parts.push(this.sampled(code.samples, row));
      if (this.hasWaits) parts.push(this.wait(row));
      parts.push(part("lane"));
      return parts;
    });
  }

  /** The names of the columns, as wide as these. */
  private heads(head: number, size: number): HTMLElement {
    const { code } = this.kernel;
    const named = (classes: string, name: string, title: string): HTMLElement => {
      const element = part(classes, name);
      element.title = title;
      return element;
    };
    const parts = [named("ln-head", "at", "The instruction's offset in the code, in hexadecimal digits")];
    if (this.deepest > 0) parts.push(part(`loops of${this.deepest}`));
    parts.push(part("bar"), named("from-head", "line", "The source line that it comes from: 454‹ is inlined from line 454; in italics, it is of the prologue or has only its neighbour's line, and counts in no line"));
    if (code.live !== null) parts.push(named("live-head", "live", "How many registers hold a value there"));
    if (code.samples !== null) parts.push(part("sm-head", "samples"));
    if (this.hasWaits) parts.push(named("wt-head", "waits", `Cycles that the instruction waits. ${ORIGIN}`));
    parts.push(part("lane"));
    // As wide as letters of the code are, with smaller ones in them.
    const column = (characters: number, name: string, title = ""): HTMLElement => {
      const element = part("wide-head");
      element.title = title;
      element.style.width = `${characters}ch`;
      element.append(part("", name));
      return element;
    };
    const row = part("heads");
    // The pane's lines are named by themselves.
    row.setAttribute("aria-hidden", "true");
    row.append(...parts, column(4, ""), column(head - 4, "opcode"));
    if (size === 0) row.append(part("operands-head", "operands"));
    else row.append(column(size, "lanes", "How many lanes the instruction works on, and from which on: 16·16 are lanes 16 to 31"), part("operands-head", "to, from"), named("tokens-head", "waits for", "Scoreboard: I@2 is the second last instruction of the integer pipe, $3.dst the result of the message with token 3"));
    return row;
  }

  /** The cycles that a row waits, from a few on. */
  private wait(row: number): HTMLElement {
    const { waits } = this.kernel.code;
    const cycles = waits?.cycles[row] ?? 0;
    const element = part(cycles < SHORT ? "wt" : `wt ${cycles < LONG ? "h2" : cycles < 5 * LONG ? "h4" : "h6"}`, cycles < SHORT ? "" : String(cycles));
    if (cycles >= SHORT) element.title = `Waits ${cycles} cycles for ${hex(this.kernel.code.offset[waits?.producer[row] ?? row])}`;
    return element;
  }

  /** The samples of a row, in steps of the most that a row has. */
  private sampled(samples: Samples, row: number): HTMLElement {
    const sum = samples.sums[row];
    this.mostSamples ??= largest(samples.sums, 1);
    const element = part(sum === 0 ? "sm" : `sm h${Math.max(1, Math.round((8 * Math.log1p(sum)) / Math.log1p(this.mostSamples)))}`, sum === 0 ? "" : sum >= 100_000 ? `${Math.round(sum / 1000)}k` : String(sum));
    const words = samples.byReason([row]).map(([{ name }, each]) => `${each} ${name}`);
    if (sum > 0) element.title = visible(`${plural(sum, "sample")}: ${words.join(", ")}`);
    return element;
  }

  private mostSamples: number | null = null;

  /** A mark for each loop that a row is in. */
  private loops(row: number): HTMLElement {
    const depth = this.kernel.code.depthOf(row);
    const element = part(`loops of${this.deepest}`);
    for (let loop = 0; loop < Math.min(depth, this.deepest); loop++) element.append(part("loop"));
    if (depth > 0) element.title = depth === 1 ? "In a loop" : `In ${depth} loops`;
    return element;
  }

  /** IGA's text of the rows that are selected; null while the selection is within one. */
  private copied(): string | null {
    const { state } = this.pane.view;
    const { from, to, empty } = state.selection.main;
    const first = state.doc.lineAt(from);
    const last = state.doc.lineAt(to);
    if (!empty && first.number === last.number && (from > first.from || to < last.to)) return null;
    const end = to === last.from && last.number > first.number ? last.number - 1 : last.number;
    const texts: string[] = [];
    for (let line = first.number - 1; line < end; line++) {
      const row = this.rowAt(line);
      if (row >= 0) texts.push(this.kernel.code.lines[row]);
    }
    return texts.join("\n");
  }
}

const LETTERS = new Map<string, number>();

/** The width of a letter of a font that has one for all, in pixels. */
function widthOf(font: string): number {
  let width = LETTERS.get(font);
  if (width === undefined) {
    const context = document.createElement("canvas").getContext("2d");
    if (context === null) return 7;
    context.font = font;
    width = context.measureText("0".repeat(100)).width / 100;
    LETTERS.set(font, width);
  }
  return width;
}

/** Fewer instructions of a prologue are not folded. */
const LEAST_FOLDED = 4;

/** Loops within loops are told apart so far. */
const DEEPEST = 4;
