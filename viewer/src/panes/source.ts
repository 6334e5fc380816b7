import { Compartment, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

import { visible } from "../dom";
import { NO_ROWS, rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import type { FileInfo } from "../document/schema";
import type { Light } from "../lighting";
import { gaps } from "./gaps";
import { LANGUAGE } from "./language";
import { Cell, cells, part, shadeClass } from "./gutter";
import { Linked, type Surroundings } from "./linked";
import { type EditActions, Pane } from "./pane";


const setProblems = StateEffect.define<DecorationSet>();

/** A message of the compiler about a line and column, both from 1. */
export interface Problem {
  line: number;
  column: number;
  severity: string;
  message: string;
}

/** The compiler's messages, as marks that move with the text. */
const problems = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, transaction) => transaction.effects.reduce((_, effect) => (effect.is(setProblems) ? effect.value : _), marks.map(transaction.changes)),
  provide: (field) => EditorView.decorations.from(field),
});

/** One source file. A line's key is what the other panes' rows share with it. */
export class SourcePane extends Linked {
  readonly kind = "source";
  readonly title: string;
  readonly pane: Pane;
  private keys: Int32Array;
  private readonly folds = new Compartment();
  /** Whether the text is that of the kernel: while it is edited, lines belong to nothing until it is compiled. */
  fresh = true;
  /** No text was at hand: the lines are empty, and only their numbers are true. */
  readonly bare: boolean;

  constructor(
    kernel: Kernel,
    public file: number,
    info: FileInfo,
    text: string | null,
    around: Surroundings,
  ) {
    super(kernel, null);
    this.title = info.path;
    this.bare = text === null;
    const { places } = kernel;
    let last = 0;
    for (let key = 0; key < places.keys; key++) if (places.keyFile[key] === file) last = Math.max(last, places.keyLine[key]);
    const lines = text === null ? new Array<string>(Math.min(last, 200_000)).fill("") : text.split("\n");
    this.keys = this.keysOf(lines.length);
    const has = Uint8Array.from(this.keys, (key) => Number(rowsOf(kernel.code.own, key).length > 0));
    this.pane = new Pane({
      root: around.root,
      kind: "source",
      label: `Source ${info.path}`,
      lines,
      classOf: (line) => this.sourceClasses(line, around),
      extensions: [
        this.folds.of(gaps(has, "without code", { before: 2, after: 1 })),
        LANGUAGE,
        cells("numbers", (line) => {
          const key = this.keyAt(line);
          const shade = around.shade(key);
          const { value, share } = around.figure(key);
          const { weights, advised } = this.kernel;
          const depth = key < 0 ? 0 : weights.depth[key];
          return new Cell(`${line} ${shade} ${value} ${share} ${depth}`, this.sourceClasses(line, around), () => [
            part("ln", String(line + 1)),
            ...(advised.size > 0 ? [tip(advised.get(key))] : []),
            ...(weights.hasLoops ? [loopMark(depth)] : []),
            part(`heat ${shadeClass(shade)}`, value),
            part(`heat share ${shadeClass(shade)}`, share),
          ]);
        }),
      ],
      onHover: (line) => around.hover(this, line),
      onPin: (line) => around.pin(this, line),
      onCursor: (line) => around.cursor(this, line),
    });
  }

  override keyAt(line: number): number {
    return this.fresh ? (this.keys[line] ?? -1) : -1;
  }

  override rowAt(): number {
    return -1;
  }

  override linesOf(light: Light): Int32Array {
    const { places } = this.kernel;
    if (light.key < 0 || places.keyFile[light.key] !== this.file) return NO_ROWS;
    return Int32Array.of(places.keyLine[light.key] - 1);
  }

  get text(): string {
    return this.pane.view.state.doc.toString();
  }

  get edited(): boolean {
    return this.pane.isEdited;
  }

  edit(actions: EditActions): void {
    // All lines are there now; the reader stays with those that were in sight.
    const { first } = this.pane;
    this.pane.view.dispatch({ effects: this.folds.reconfigure([]) });
    this.pane.show(first, "start");
    this.pane.edit(actions, problems);
  }

  endEditing(): void {
    this.pane.endEditing();
  }

  setText(text: string): void {
    this.pane.view.dispatch({ changes: { from: 0, to: this.pane.view.state.doc.length, insert: text } });
  }

  /** Takes over what the text has become; the editor stays as it is, with its history and cursor. */
  adopt(kernel: Kernel, file: number): void {
    this.kernel = kernel;
    this.file = file;
    this.keys = this.keysOf(this.pane.lineCount);
    this.pane.refresh();
  }

  /** Underlines what the compiler complains of; `words` are the message. */
  mark(diagnostics: readonly Problem[]): void {
    const { doc } = this.pane.view.state;
    const marks = diagnostics.flatMap(({ line, column, severity, message }) => {
      if (line < 1 || line > doc.lines) return [];
      const { from, to } = doc.line(line);
      const start = Math.max(from, Math.min(to - 1, from + Math.max(0, column - 1)));
      const word = /^\w+/.exec(doc.sliceString(start, to));
      const end = Math.min(to, start + (word?.[0].length ?? 1));
      return start < end ? [Decoration.mark({ class: "problem", attributes: { title: `${severity}: ${message}` } }).range(start, end)] : [];
    });
    this.pane.view.dispatch({ effects: setProblems.of(Decoration.set(marks, true)) });
  }

  /** Puts the cursor in a line and column, from 1. */
  place(line: number, column: number): void {
    const { doc } = this.pane.view.state;
    const { from, to } = doc.line(Math.min(Math.max(1, line), doc.lines));
    this.pane.view.dispatch({ selection: { anchor: Math.min(to, from + Math.max(0, column - 1)) }, scrollIntoView: true });
  }

  private keysOf(lines: number): Int32Array {
    const { places } = this.kernel;
    const keys = new Int32Array(lines).fill(-1);
    for (let key = 0; key < places.keys; key++) {
      const line = places.keyLine[key] - 1;
      if (places.keyFile[key] === this.file && line >= 0 && line < lines) keys[line] = key;
    }
    return keys;
  }

  private sourceClasses(line: number, around: Surroundings): string {
    const key = this.keyAt(line);
    const shade = around.shade(key);
    return key < 0 ? "" : shade >= 100 ? `L${key} S${key} y${shade - 100}` : `L${key} S${key}`;
  }
}

/** A mark of a line that something is advised on. */
function tip(sentence: string | undefined): HTMLElement {
  const mark = part("tip", sentence === undefined ? "" : "◆");
  if (sentence !== undefined) mark.title = visible(sentence);
  return mark;
}

/** How many loops a line is in: `↻`, `↻2`. */
function loopMark(depth: number): HTMLElement {
  const mark = part("rounds", depth === 0 ? "" : `↻${depth === 1 ? "" : depth}`);
  if (depth > 0) mark.title = depth === 1 ? "In a loop" : `In ${depth} loops`;
  return mark;
}
