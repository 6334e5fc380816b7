import { NO_ROWS, rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import type { Held } from "../document/registers";
import type { Rows } from "../document/rows";
import type { Light } from "../lighting";
import type { Pane } from "./pane";

/** What the panes ask of the page around them. */
export interface Surroundings {
  root: ShadowRoot;
  hover(from: Linked, line: number): void;
  pin(from: Linked, line: number): void;
  cursor(from: Linked, line: number): void;
  /** Step of heat (0 to 8) or hue (100 to 111) of a source line in the colours chosen, and the figures beside it. */
  shade(key: number): number;
  figure(key: number): { value: string; share: string };
}

/** A pane whose lines are linked with those of the others. Lines are the editor's, from 0; rows the document's. */
export abstract class Linked {
  abstract readonly kind: "source" | "stage" | "code";
  abstract readonly title: string;
  abstract readonly pane: Pane;
  /** Somebody else holds on to it, as whoever edits it: it outlives its place on the screen. */
  isHeld = false;

  constructor(
    public kernel: Kernel,
    readonly rows: Rows | null,
  ) {}

  /** The row of a line, -1 for lines that are none (a block's header). */
  rowAt(line: number): number {
    return line;
  }

  /** What stands in front of a line: its number, or an instruction's offset. */
  numberAt(line: number): string {
    return String(line + 1);
  }

  lineOf(row: number): number {
    return row;
  }

  /** The width in pixels that all of it would have; 0 for what takes the room that there is. */
  get width(): number {
    return 0;
  }

  /** Opens what a line is folded in. */
  reveal(_line: number): void {}

  /** Shows who waits for whom among these rows, which are those of one source line or a single one. */
  point(_rows: Int32Array, _isLine: boolean, _isPinned: boolean): void {}

  /** Shows over which rows registers hold the values of what is pinned. */
  hold(_bars: readonly Held[]): void {}

  keyAt(line: number): number {
    const row = this.rowAt(line);
    return row < 0 || this.rows === null ? -1 : this.rows.key[row];
  }

  placeAt(line: number): number {
    const row = this.rowAt(line);
    return row < 0 || this.rows === null ? -1 : this.rows.place[row];
  }

  /** Whether a row's place is not its own. */
  inherits(line: number): boolean {
    const row = this.rowAt(line);
    return row >= 0 && this.rows?.inherited != null && this.rows.inherited[row] !== 0;
  }

  /** Lines that come from a source line. */
  linesOf(light: Light): Int32Array {
    if (this.rows === null) return NO_ROWS;
    return rowsOf(this.rows.own, light.key).map((row) => this.lineOf(row));
  }

  /** The classes that a row is lit by (lighting.ts), and its line's hue where lines have hues. */
  protected classesOf(row: number, shade: number): string {
    const { rows } = this;
    if (rows === null || row < 0 || row >= rows.count) return "";
    let classes = shade >= 100 ? `R${row} y${shade - 100}` : `R${row}`;
    const key = rows.key[row];
    if (key >= 0) {
      const own = rows.inherited === null || rows.inherited[row] === 0;
      classes += own ? ` L${key}` : ` I${key} inherited`;
      if (own) {
        const { places } = this.kernel;
        for (let caller = places.caller[rows.place[row]]; caller >= 0; caller = places.caller[caller])
          classes += ` C${places.key[caller]}`;
      }
    }
    return classes;
  }

  /** The source line that a row shows: its number, one mark per call it was inlined by, a dash without one. */
  protected lineLabel(row: number): string {
    const { rows } = this;
    if (rows === null || rows.place[row] < -1) return "";
    if (rows.key[row] < 0) return "–";
    const depth = this.kernel.places.depth(rows.place[row]);
    return `${this.kernel.places.keyLine[rows.key[row]]}${"‹".repeat(Math.min(depth, 3))}`;
  }
}
