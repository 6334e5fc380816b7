import type { Text } from "@codemirror/state";

import { NO_ROWS, rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import type { Diagnostic, FileInfo } from "../document/schema";
import { brief, count, sentence, visible } from "../dom";
import type { Light } from "../lighting";
import { foldAgain, gaps } from "./gaps";
import { LANGUAGE } from "./language";
import { Cell, cells, part, shadeClass } from "./gutter";
import { type Matched, matched, textOf } from "./lines";
import { loopedOf } from "./loops";
import { Linked, type Surroundings } from "./linked";
import { type EditActions, Pane } from "./pane";
import { problems, show } from "./problems";


/** A line's figure in another version, and now. */
type Change = readonly [before: number, now: number];

/** A file beside that of another version; lines are those of the kernel's program, from 0. */
export interface Comparison {
  /** Null for figures that are the same. */
  change(line: number): Change | null;
  isChanged(line: number): boolean;
}

/** One source file. A line's key is what the other panes' rows share with it. */
export class SourcePane extends Linked {
  readonly kind = "source";
  readonly title: string;
  readonly pane: Pane;
  /** The file as it is in the kernel's program, its lines' keys, and what became of them where the text is another by now. */
  private own: Text;
  private keys: Int32Array;
  private edited: Matched | null = null;
  private comparison: Comparison | null = null;
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
    this.own = textOf(lines.join("\n"));
    this.pane = new Pane({
      root: around.root,
      kind: "source",
      label: `Source ${info.path}`,
      lines,
      classOf: (line) => this.sourceClasses(line, around),
      extensions: [
        gaps(this.withCode(this.keys.length), "without code", { before: 2, after: 1 }),
        problems,
        LANGUAGE,
        cells("numbers", (line) => {
          const key = this.keyAt(line);
          const shade = around.shade(key);
          const { value, share } = around.figure(key);
          const { weights, advised } = this.kernel;
          const depth = key < 0 ? 0 : weights.depth[key];
          const own = this.ownLine(line);
          const change = own < 0 ? null : (this.comparison?.change(own) ?? null);
          const isChanged = this.edited?.changed[line] === 1 || (own >= 0 && this.comparison?.isChanged(own) === true);
          return new Cell(`${line} ${shade} ${value} ${share} ${depth} ${change} ${isChanged}`, this.sourceClasses(line, around), () => [
            part(isChanged ? "ln changed" : "ln", String(line + 1)),
            ...(advised.size > 0 ? [tip(advised.get(key))] : []),
            ...(weights.hasLoops ? [loopMark(depth, depth === 0 ? "" : loopedOf(this.kernel, key))] : []),
            ...(change !== null ? [badge(change)] : [part(`heat ${shadeClass(shade)}`, value), part(`heat share ${shadeClass(shade)}`, share)]),
          ]);
        }),
      ],
      onHover: (line) => around.hover(this, line),
      onPin: (line) => around.pin(this, line),
      onCursor: (line) => around.cursor(this, line),
    });
  }

  override keyAt(line: number): number {
    return this.keys[this.ownLine(line)] ?? -1;
  }

  /** The line of the kernel's program that a line of the text was, -1 if it is new; both from 0. */
  private ownLine(line: number): number {
    return this.edited === null ? line : (this.edited.former[line] ?? -1);
  }

  /** The line of the text that a line of the kernel's program is now, -1 if it is gone; both from 0. */
  lineNow(own: number): number {
    return this.edited === null ? own : this.edited.former.indexOf(own);
  }

  override rowAt(): number {
    return -1;
  }

  override linesOf(light: Light): Int32Array {
    const { places } = this.kernel;
    if (light.key < 0 || places.keyFile[light.key] !== this.file) return NO_ROWS;
    const line = this.lineNow(places.keyLine[light.key] - 1);
    return line < 0 ? NO_ROWS : Int32Array.of(line);
  }

  get text(): string {
    return this.pane.view.state.doc.toString();
  }

  /** The text of the file in the kernel's program. */
  get read(): string {
    return this.own.toString();
  }

  edit(actions: EditActions): void {
    const change = (): void => {
      this.match();
      actions.change();
    };
    this.pane.edit({ ...actions, change });
  }

  setText(text: string): void {
    this.pane.setText(text);
    this.match();
  }

  /** Takes over another kernel, with the text that the file has in it; the editor stays as it is, with its history and cursor. What is
   * folded is other lines where the reader chose another kernel, and the same where this one was compiled anew. */
  adopt(kernel: Kernel, file: number, text: string): void {
    const isOther = this.kernel.row >= 0 && this.kernel.name !== kernel.name;
    this.kernel = kernel;
    this.file = file;
    this.own = textOf(text);
    this.keys = this.keysOf(this.own.lines);
    this.match();
    const { view } = this.pane;
    if (isOther) view.dispatch({ effects: foldAgain.of(this.withCode(view.state.doc.lines)) });
  }

  /** Which lines of the text have code, each 1 or 0. */
  private withCode(lines: number): Uint8Array {
    return Uint8Array.from({ length: lines }, (_, line) => Number(rowsOf(this.kernel.code.own, this.keyAt(line)).length > 0));
  }

  /** Finds the lines of the kernel's program again in the text as it is. */
  private match(): void {
    const { doc } = this.pane.view.state;
    this.edited = doc.eq(this.own) ? null : matched(this.own, doc);
    this.pane.refresh();
  }

  /** Shows figures beside those of another version. */
  compare(comparison: Comparison | null): void {
    if (comparison === null && this.comparison === null) return;
    this.comparison = comparison;
    this.pane.refresh();
  }

  /** Underlines what the compiler complains of, errors with the message below the line; `fix` does what it proposes. */
  mark(diagnostics: readonly Diagnostic[]): void {
    show(this.pane.view, diagnostics);
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

/** A figure before and now. Less than half a percent is no change to speak of. */
function badge([before, now]: Change): HTMLElement {
  const isSmall = Math.abs(now - before) < before / 200;
  const element = part(isSmall ? "badge" : now > before ? "badge up" : "badge down", `${brief(before)} → ${brief(now)}`);
  element.title = `${count(before)} before, ${count(now)} now`;
  return element;
}

/** A mark of a line that something is advised on. */
function tip(sentence: string | undefined): HTMLElement {
  const mark = part("tip", sentence === undefined ? "" : "◆");
  if (sentence !== undefined) mark.title = visible(sentence);
  return mark;
}

/** How many loops a line is in: `↻`, `↻2`. */
function loopMark(depth: number, words: string): HTMLElement {
  const mark = part("rounds", depth === 0 ? "" : `↻${depth === 1 ? "" : depth}`);
  if (depth > 0) mark.title = sentence(words.slice(2));
  return mark;
}
