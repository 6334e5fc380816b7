import { column, damaged, integer, integers, list, MOST, object, text } from "./checked";
import { type Csr, group, rowsOf } from "./csr";

/** Rows that wrote what a row reads of the general registers, with each register; and rows that read what it wrote. */
export interface Neighbours {
  writers: Map<number, number[]>;
  readers: Map<number, number[]>;
}

/** A row that may have written what a register holds. */
export interface Writer {
  row: number;
  /** The bytes of the register that are read of it: first and last of each run; none where nobody reads it. */
  bytes: number[];
  /** A predicate may leave what was there as it was. */
  isPartial: boolean;
}

/** What a register holds where it was clicked: who wrote it, who reads it, and over which rows it is held. */
export interface Held {
  register: number;
  /** The row writes it there (else: reads it). */
  isWritten: boolean;
  /** Ascending; of the bytes of a register each may have been written by others. */
  writers: Writer[];
  /** Ascending; of all of these writers. */
  readers: number[];
  /** It may be what the register held before the code. */
  isBefore: boolean;
  /** First and last rows of its live ranges, ascending; null where they are not known. */
  ranges: [first: number, last: number][] | null;
}

/** What a register holds at a row: the rows that may have written it, ascending; none where it was there before the code. */
export interface LiveRegister {
  register: number;
  writers: number[];
}

/** Registers that hold values of a line at the peak: its file and number, null for what has none, and then what stands for it. */
export interface HeldAtPeak {
  line: readonly [file: number, line: number] | null;
  origin: string | null;
  registers: Int32Array;
}

/** Where most registers are live. A register whose value is of several lines is held by each. */
export interface Peak {
  row: number;
  registers: number;
  held: HeldAtPeak[];
}

/** Limits of what a document may say: makers of documents stay far below. */
const MOST_REGISTERS = 2 ** 16;
const MOST_BYTES = 64;

/** Which rows' values rows read, of the general registers, and over which rows registers hold them. */
export class Registers {
  private readonly reader: Int32Array;
  private readonly writer: Int32Array;
  private readonly register: Int32Array;
  /** The value of each pair, -1 where it is not known; and which of `parts` it is about. */
  private readonly value: Int32Array;
  private readonly part: Int32Array;
  private readonly parts: number[][];
  private readonly byReader: Csr;
  private readonly byWriter: Csr;
  /** Rows that read what registers held before the code. */
  private readonly before: { register: Int32Array; value: Int32Array; byRow: Csr };
  private readonly partial: ReadonlySet<number>;
  private readonly ranges: Ranges | null;

  constructor(use: unknown, range: unknown, count: number) {
    const chunk = object(use, "code.use");
    const { length } = list(chunk.row, "code.use.row");
    this.reader = column(chunk.row, length, 0, count - 1, "code.use.row");
    const back = integers(chunk.back, length, -MOST, MOST, "code.use.back");
    this.writer = this.reader.map((row, index) => integer(row - back[index], 0, count - 1, "code.use.back"));
    this.register = integers(chunk.register, length, 0, MOST_REGISTERS, "code.use.register");
    this.value = integers(chunk.value, length, -1, MOST, "code.use.value");
    this.parts = list(chunk.parts, "code.use.parts").map((runs) => runsOf(runs));
    this.part = integers(chunk.part, length, 0, this.parts.length - 1, "code.use.part");
    this.byReader = group(this.reader, count);
    this.byWriter = group(this.writer, count);
    const before = object(chunk.before, "code.use.before");
    const rows = column(before.row, list(before.row, "code.use.before").length, 0, count - 1, "code.use.before");
    this.before = {
      register: integers(before.register, rows.length, 0, MOST_REGISTERS, "code.use.before"),
      value: integers(before.value, rows.length, -1, MOST, "code.use.before"),
      byRow: group(rows, count),
    };
    this.partial = new Set(column(chunk.partial, list(chunk.partial, "code.use.partial").length, 0, count - 1, "code.use.partial"));
    this.ranges = range === null ? null : rangesOf(range, count);
  }

  /** What a row's registers tie it to, by row; of one register only where one is named. */
  neighbours(row: number, only: number | null): Neighbours {
    const collect = (pairs: Int32Array, others: Int32Array): Map<number, number[]> => {
      const registersOf = new Map<number, number[]>();
      for (const pair of pairs) {
        const register = this.register[pair];
        if (only !== null && register !== only) continue;
        const registers = registersOf.get(others[pair]);
        if (registers === undefined) registersOf.set(others[pair], [register]);
        else registers.push(register);
      }
      return registersOf;
    };
    return { writers: collect(rowsOf(this.byReader, row), this.writer), readers: collect(rowsOf(this.byWriter, row), this.reader) };
  }

  reads(row: number): number[] {
    const before = Array.from(rowsOf(this.before.byRow, row), (index) => this.before.register[index]);
    return ascending([...Array.from(rowsOf(this.byReader, row), (pair) => this.register[pair]), ...before]);
  }

  /** The registers that a row writes, of which somebody reads what it wrote. */
  writes(row: number): number[] {
    return ascending(Array.from(rowsOf(this.byWriter, row), (pair) => this.register[pair]));
  }

  /** What a register holds that a row reads or writes; null where the row is not known to do so. */
  held(row: number, register: number, isWritten: boolean): Held | null {
    const of = (pairs: Int32Array): number[] => Array.from(pairs).filter((pair) => this.register[pair] === register);
    const reads = isWritten ? [] : of(rowsOf(this.byReader, row));
    const before = isWritten ? [] : Array.from(rowsOf(this.before.byRow, row)).filter((index) => this.before.register[index] === register);
    const writing = isWritten ? [row] : ascending(reads.map((pair) => this.writer[pair]));
    const pairs = writing.flatMap((writer) => of(rowsOf(this.byWriter, writer)));
    const values = new Set([...(isWritten ? pairs : reads).map((pair) => this.value[pair]), ...before.map((index) => this.before.value[index])]);
    if (isWritten && pairs.length === 0) {
      const unread = this.ranges?.beginningAt(row, register).filter((value) => !this.value.includes(value)) ?? [];
      for (const value of unread) values.add(value);
    }
    if (values.size === 0 && writing.length + before.length === 0) return null;
    return {
      register,
      isWritten,
      writers: writing.map((writer) => ({
        row: writer,
        bytes: bytesOf((isWritten ? pairs : reads).filter((pair) => this.writer[pair] === writer).map((pair) => this.parts[this.part[pair]])),
        isPartial: this.partial.has(writer),
      })),
      readers: ascending([...pairs.map((pair) => this.reader[pair]), ...(before.length > 0 ? this.readersBefore(register, values) : [])]),
      isBefore: before.length > 0,
      ranges: this.ranges?.of(values) ?? null,
    };
  }

  /** The registers that hold a value at a row, ascending, with who wrote it; null where live ranges are not known. */
  liveAt(row: number): LiveRegister[] | null {
    if (this.ranges === null) return null;
    const writers = new Map<number, Set<number>>();
    this.value.forEach((value, pair) => writers.set(value, (writers.get(value) ?? new Set()).add(this.writer[pair])));
    const live = new Map<number, Set<number>>();
    const before = new Set(this.before.value);
    for (const { register, value, first } of this.ranges.over(row)) {
      const into = live.get(register) ?? new Set();
      // What nobody reads was written where its range begins.
      for (const writer of writers.get(value) ?? (before.has(value) ? [] : [first])) into.add(writer);
      live.set(register, into);
    }
    return ascending(live.keys()).map((register) => ({ register, writers: ascending(live.get(register) ?? []) }));
  }

  /** Rows that read what a register held before the code, of these values. */
  private readersBefore(register: number, values: ReadonlySet<number>): number[] {
    const { byRow } = this.before;
    const rows: number[] = [];
    for (let row = 0; row + 1 < byRow.start.length; row++) {
      for (const index of rowsOf(byRow, row)) if (this.before.register[index] === register && values.has(this.before.value[index])) rows.push(row);
    }
    return rows;
  }
}

/** Runs of rows over which registers hold a value. */
class Ranges {
  constructor(
    private readonly register: Int32Array,
    private readonly first: Int32Array,
    private readonly rows: Int32Array,
    private readonly value: Int32Array,
    private readonly byValue: Csr,
  ) {}

  of(values: Iterable<number>): [first: number, last: number][] {
    const ranges: [number, number][] = [];
    for (const value of values) {
      if (value < 0) continue;
      for (const index of rowsOf(this.byValue, value)) ranges.push([this.first[index], this.first[index] + this.rows[index] - 1]);
    }
    return ranges.sort(([left], [right]) => left - right);
  }

  /** The ranges that a row is in. */
  *over(row: number): Generator<{ register: number; value: number; first: number }> {
    for (let index = 0; index < this.first.length; index++)
      if (this.first[index] <= row && row < this.first[index] + this.rows[index]) yield { register: this.register[index], value: this.value[index], first: this.first[index] };
  }

  /** The values of a register whose range begins at a row. */
  beginningAt(row: number, register: number): number[] {
    return Array.from(this.value.filter((_, index) => this.first[index] === row && this.register[index] === register));
  }
}

function rangesOf(written: unknown, count: number): Ranges {
  const chunk = object(written, "code.range");
  const { length } = list(chunk.register, "code.range.register");
  const register = column(chunk.register, length, 0, MOST_REGISTERS, "code.range.register");
  const first = column(chunk.row, length, 0, count - 1, "code.range.row");
  const rows = integers(chunk.rows, length, 1, count, "code.range.rows");
  if (rows.some((each, index) => first[index] + each > count)) damaged("a live range ends behind the code");
  const value = column(chunk.value, length, 0, length, "code.range.value");
  return new Ranges(register, first, rows, value, group(value, length + 1));
}

export function heldOf(written: unknown): HeldAtPeak[] {
  return list(written, "code.peak.held").map((each) => {
    const { line, origin, registers } = object(each, "code.peak.held");
    const [file, number] = line === null ? [] : integers(line, 2, 0, MOST, "code.peak.held");
    const count = list(registers, "code.peak.held").length;
    return { line: file === undefined ? null : [file, number], origin: origin === null ? null : text(origin, "code.peak.held"), registers: integers(registers, count, 0, MOST_REGISTERS, "code.peak.held") };
  });
}

function runsOf(written: unknown): number[] {
  const runs = Array.from(integers(written, list(written, "code.use.parts").length, 0, MOST_BYTES - 1, "code.use.parts"));
  if (runs.length === 0 || runs.length % 2 !== 0) damaged("bytes of a register are no runs");
  return runs;
}

/** The runs of bytes of several, each once. */
function bytesOf(parts: number[][]): number[] {
  const bytes = new Set(parts.flatMap((runs) => runs.flatMap((first, at) => (at % 2 === 0 ? Array.from({ length: runs[at + 1] - first + 1 }, (_, byte) => first + byte) : []))));
  const runs: number[] = [];
  for (const byte of ascending(bytes)) {
    if (runs.length > 0 && runs[runs.length - 1] === byte - 1) runs[runs.length - 1] = byte;
    else runs.push(byte, byte);
  }
  return runs;
}

/** Whether two sets of runs have a byte in common. */
export function overlap(left: readonly number[], right: readonly number[]): boolean {
  for (let at = 0; at < left.length; at += 2) {
    for (let other = 0; other < right.length; other += 2) if (left[at] <= right[other + 1] && right[other] <= left[at + 1]) return true;
  }
  return false;
}

function ascending(numbers: Iterable<number>): number[] {
  return Array.from(new Set(numbers)).sort((left, right) => left - right);
}
