import { column, damaged, integers, MOST, object } from "./checked";
import { type Csr, group } from "./csr";

/** Calls that a place may be inlined through, and pairs of lines that inlining ties: more no compiler makes. */
const MOST_CALLS = 1000;
const MOST_PAIRS = 2 ** 22;

/**
 * Where instructions come from. A *place* is a line and column of a file and the place of the call that it was inlined by;
 * a *key* is a line of a file, the unit of linking. Keys ascend by file and line.
 *
 * With own lines each place is laid on the innermost place in one of the user's own files that it was inlined through, on itself
 * if there is none (analysis/own_lines.py has the same rule): it has that one's key, and its callers are laid likewise.
 */
export class Places {
  readonly key: Int32Array;
  readonly caller: Int32Array;
  readonly keyFile: Int32Array;
  readonly keyLine: Int32Array;
  /** The keys of the lines that a line's code was inlined into. */
  readonly callers: Csr;
  private readonly known = new Map<number, number>();

  /** The place that each is laid on, and the columns as they are without that. */
  private readonly laid: Int32Array;
  private readonly file: Int32Array;
  private readonly line: Int32Array;
  private readonly inlinedBy: Int32Array;

  /** `files` is how many files there are; `own` are the user's own, null for each place where it is. */
  constructor(written: unknown, files: number, own: readonly number[] | null = null) {
    const columns = object(written, "places");
    const length = Array.isArray(columns.file) ? columns.file.length : 0;
    this.file = integers(columns.file, length, 0, files - 1, "places.file");
    this.line = column(columns.line, length, 0, MOST, "places.line");
    this.inlinedBy = integers(columns.caller, length, -1, length - 1, "places.caller");
    this.laid = this.lay(new Set(own));
    const at = Array.from(this.laid, (place) => this.file[place] * SPAN + this.line[place]);
    const lines = [...new Set(at)].sort((left, right) => left - right);
    lines.forEach((each, key) => this.known.set(each, key));
    this.keyFile = Int32Array.from(lines, (each) => Math.floor(each / SPAN));
    this.keyLine = Int32Array.from(lines, (each) => each % SPAN);
    this.key = Int32Array.from(at, (each) => this.known.get(each) ?? -1);
    this.caller = this.laid.map((place) => this.inlinedBy[place]);
    const pairs = this.pairs(lines.length);
    const from = Array.from(pairs, (pair) => Math.floor(pair / lines.length));
    this.callers = group(from, lines.length, Array.from(pairs, (pair) => pair % lines.length));
  }

  private lay(own: ReadonlySet<number>): Int32Array {
    const isOwn = (place: number): boolean => own.has(this.file[place]) && this.line[place] > 0;
    const laid = new Int32Array(this.file.length);
    const calls = new Int32Array(laid.length);
    for (let place = 0; place < laid.length; place++) {
      const caller = this.inlinedBy[place];
      // A caller precedes what it calls, so that a chain ends, and where the caller is laid is known.
      if (caller >= place) damaged(`place ${place} is called from one behind it`);
      if (caller >= 0) calls[place] = calls[caller] + 1;
      if (calls[place] > MOST_CALLS) damaged("calls are inlined too deep");
      laid[place] = !isOwn(place) && caller >= 0 && isOwn(laid[caller]) ? laid[caller] : place;
    }
    return laid;
  }

  /** Each line with each that it was inlined into, as one number. */
  private pairs(keys: number): Set<number> {
    const pairs = new Set<number>();
    let walked = 0;
    for (let place = 0; place < this.caller.length; place++) {
      for (let caller = this.caller[place]; caller >= 0; caller = this.caller[caller]) {
        if (++walked > MOST_PAIRS) damaged("calls are inlined too deep");
        pairs.add(this.key[place] * keys + this.key[caller]);
      }
    }
    return pairs;
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

  /** File and line of the places that were inlined into the one that this place is laid on, its own first; empty if it is that. */
  inner(place: number): [file: number, line: number][] {
    const inner: [number, number][] = [];
    for (let at = place; at !== this.laid[place]; at = this.inlinedBy[at]) inner.push([this.file[at], this.line[at]]);
    return inner;
  }

  depth(place: number): number {
    return this.chain(place).length - 1;
  }
}

/** More lines than a file may have: file and line are one number below 2^53. */
const SPAN = 2 ** 31;
