import { type Csr, group, NO_ROWS, rowsOf } from "./csr";
import type { Places } from "./places";

/** The lines of one text (a stage, the machine code) and where each comes from. */
export class Rows {
  /** The line that a row comes from, -1 without one. */
  readonly key: Int32Array;
  /** Rows by the line that they come from; what a row only inherits is not in it. */
  readonly own: Csr;

  constructor(
    readonly places: Places,
    readonly place: Int32Array,
    /** The number of the first vISA instruction that a row is, -1 where that is not known, and how many it is. */
    readonly id: Int32Array,
    readonly ids: Int32Array | null = null,
    /** Rows whose place is that of another row: the prologue, and code without a row in the line table. */
    readonly inherited: Uint8Array | null = null,
  ) {
    const count = place.length;
    this.key = new Int32Array(count);
    const own = new Int32Array(count);
    for (let row = 0; row < count; row++) {
      const at = place[row];
      const key = at < 0 ? -1 : places.key[at];
      this.key[row] = key;
      own[row] = inherited !== null && inherited[row] !== 0 ? -1 : key;
    }
    this.own = group(own, places.keys);
  }

  get count(): number {
    return this.place.length;
  }

  /** The rows that are, exactly, some of the vISA instructions that `row` of `from` is: none where that is not known. */
  exact(from: Rows, row: number): Int32Array {
    const first = from.id[row];
    if (first < 0) return NO_ROWS;
    const end = first + (from.ids === null ? 1 : from.ids[row]);
    const rows: number[] = [];
    for (let at = 0; at < this.count; at++) {
      const id = this.id[at];
      if (id >= 0 && id < end && id + (this.ids === null ? 1 : this.ids[at]) > first) rows.push(at);
    }
    return Int32Array.from(rows);
  }

  of(key: number): Int32Array {
    return rowsOf(this.own, key);
  }
}
