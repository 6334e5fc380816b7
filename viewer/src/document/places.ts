import { type Csr, group } from "./csr";
import type { PlaceColumns } from "./schema";
import { column } from "./unpack";

/**
 * Where instructions come from. A *place* is a line and column of a file and the place of the call that it was inlined by;
 * a *key* is a line of a file, the unit of linking. Keys ascend by file and line.
 */
export class Places {
  readonly key: Int32Array;
  readonly caller: Int32Array;
  readonly column: Int32Array;
  readonly keyFile: Int32Array;
  readonly keyLine: Int32Array;
  /** The keys of the lines that a line's code was inlined into. */
  readonly callers: Csr;
  private readonly known = new Map<number, number>();

  constructor(columns: PlaceColumns) {
    const length = columns.file.length;
    const line = column(columns.line, length);
    const lines = [...new Set(Array.from(line, (each, place) => columns.file[place] * SPAN + each))];
    lines.sort((left, right) => left - right);
    lines.forEach((each, key) => this.known.set(each, key));
    this.keyFile = Int32Array.from(lines, (each) => Math.floor(each / SPAN));
    this.keyLine = Int32Array.from(lines, (each) => each % SPAN);
    this.key = Int32Array.from(line, (each, place) => this.keyOf(columns.file[place], each));
    this.column = Int32Array.from(columns.column);
    // A caller precedes what it calls, so that a chain ends.
    this.caller = Int32Array.from(columns.caller, (caller, place) => (caller < place ? caller : -1));
    const pairs = new Set<number>();
    for (let place = 0; place < length; place++) {
      for (let caller = this.caller[place]; caller >= 0; caller = this.caller[caller])
        pairs.add(this.key[place] * lines.length + this.key[caller]);
    }
    const from = Array.from(pairs, (pair) => Math.floor(pair / lines.length));
    this.callers = group(from, lines.length, Array.from(pairs, (pair) => pair % lines.length));
  }

  get keys(): number {
    return this.keyLine.length;
  }

  /** The key of a line, -1 where no place is in it. */
  keyOf(file: number, line: number): number {
    return this.known.get(file * SPAN + line) ?? -1;
  }

  /** A place and those that it was inlined by, innermost first. */
  chain(place: number): number[] {
    const chain: number[] = [];
    for (; place >= 0; place = this.caller[place]) chain.push(place);
    return chain;
  }

  depth(place: number): number {
    return this.chain(place).length - 1;
  }
}

/** More lines than a file may have: file and line are one number below 2^53. */
const SPAN = 2 ** 31;
