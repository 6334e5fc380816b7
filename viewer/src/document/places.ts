import { column, damaged, integers, MOST, object } from "./checked";
import { type Csr, group } from "./csr";

/** Calls that a place may be inlined through, and pairs of lines that inlining ties: more no compiler makes. */
const MOST_CALLS = 1000;
const MOST_PAIRS = 2 ** 22;

/**
 * Where instructions come from. A *place* is a line and column of a file and the place of the call that it was inlined by;
 * a *key* is a line of a file, the unit of linking. Keys ascend by file and line.
 */
export class Places {
  readonly key: Int32Array;
  readonly caller: Int32Array;
  readonly keyFile: Int32Array;
  readonly keyLine: Int32Array;
  /** The keys of the lines that a line's code was inlined into. */
  readonly callers: Csr;
  private readonly known = new Map<number, number>();

  /** `files` is how many files there are. */
  constructor(written: unknown, files: number) {
    const columns = object(written, "places");
    const length = Array.isArray(columns.file) ? columns.file.length : 0;
    const file = integers(columns.file, length, 0, files - 1, "places.file");
    const line = column(columns.line, length, 0, MOST, "places.line");
    const lines = [...new Set(Array.from(line, (each, place) => file[place] * SPAN + each))];
    lines.sort((left, right) => left - right);
    lines.forEach((each, key) => this.known.set(each, key));
    this.keyFile = Int32Array.from(lines, (each) => Math.floor(each / SPAN));
    this.keyLine = Int32Array.from(lines, (each) => each % SPAN);
    this.key = Int32Array.from(line, (each, place) => this.keyOf(file[place], each));
    this.caller = integers(columns.caller, length, -1, length - 1, "places.caller");
    const pairs = this.pairs(lines.length);
    const from = Array.from(pairs, (pair) => Math.floor(pair / lines.length));
    this.callers = group(from, lines.length, Array.from(pairs, (pair) => pair % lines.length));
  }

  /** Each line with each that it was inlined into, as one number. */
  private pairs(keys: number): Set<number> {
    const pairs = new Set<number>();
    const calls = new Int32Array(this.caller.length);
    let walked = 0;
    for (let place = 0; place < this.caller.length; place++) {
      const called = this.caller[place];
      if (called < 0) continue;
      // A caller precedes what it calls, so that a chain ends.
      if (called >= place) damaged(`place ${place} is called from one behind it`);
      calls[place] = calls[called] + 1;
      walked += calls[place];
      if (calls[place] > MOST_CALLS || walked > MOST_PAIRS) damaged("calls are inlined too deep");
      for (let caller = called; caller >= 0; caller = this.caller[caller]) pairs.add(this.key[place] * keys + this.key[caller]);
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

  depth(place: number): number {
    return this.chain(place).length - 1;
  }
}

/** More lines than a file may have: file and line are one number below 2^53. */
const SPAN = 2 ** 31;
