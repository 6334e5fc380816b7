import { type Csr, group, lastAtMost, rowsOf } from "./csr";
import { Places } from "./places";
import { Rows } from "./rows";
import type { CodeChunk, KernelChunk, MessageKind, ProgramInfo, StageChunk } from "./schema";
import { column } from "./unpack";

/** Bits of `Code.flags`. */
export const PROLOGUE = 1;
export const INHERITED = 2;
export const LOST = 4;
export const FROM_STAGE = 8;
export const ILLEGAL = 16;
/** With one of these a row's place is another row's: it counts in no line's share. */
const NOT_OWN = PROLOGUE | INHERITED | LOST;

/** A distance among the options of an instruction. */
const DISTANCE = /[{,]\s*[A-Z]?@\d+\s*[,}]/;

/** A kernel's machine code in columns, one entry per instruction. */
export class Code extends Rows {
  /** As IGA writes them. */
  readonly lines: string[];
  readonly offset: Int32Array;
  readonly size: Int32Array;
  readonly flags: Uint8Array;
  /** First instructions of basic blocks; begins with 0. */
  readonly blocks: Int32Array;
  /** How many loops a block is in. */
  readonly depth: Int32Array;
  /** Live registers at each instruction, null where that is not known. */
  readonly live: Int32Array | null;
  /** The first row with the most live registers, and how many they are. */
  readonly peak: { row: number; registers: number } | null;
  /** Whose values a row reads (`readers`: who reads its), in pairs, by row; null where that is not known. */
  readonly uses: Uses | null;
  /** What messages do, by row. */
  readonly messages = new Map<number, MessageKind>();
  /** Where branches go: rows by row. */
  readonly targets = new Map<number, number[]>();
  /** Who waits for whom, by scoreboard tokens and by distances. */
  private readonly tokens: Waits;
  private readonly distances: Waits;
  private readonly opcodes: string[];
  private readonly op: number[];

  constructor(places: Places, chunk: CodeChunk) {
    const count = chunk.size.length;
    const flags = Uint8Array.from(chunk.flags);
    super(places, column(chunk.place, count), column(chunk.id, count), null, flags.map((bits) => bits & NOT_OWN));
    this.flags = flags;
    this.lines = count === 0 ? [] : chunk.text.split("\n");
    this.size = Int32Array.from(chunk.size);
    this.offset = new Int32Array(count);
    for (let row = 1; row < count; row++) this.offset[row] = this.offset[row - 1] + this.size[row - 1];
    this.opcodes = chunk.opcode;
    this.op = chunk.op;
    this.blocks = column(chunk.block, chunk.block.length);
    this.depth = Int32Array.from(chunk.depth);
    this.live = chunk.live === null ? null : Int32Array.from(chunk.live);
    this.peak = chunk.peak;
    this.uses = chunk.use === null ? null : usesOf(chunk.use, count);
    const { row: rows, kind, kinds } = chunk.message;
    column(rows, rows.length).forEach((row, index) => this.messages.set(row, kinds[kind[index]]));
    for (const [row, ...targets] of chunk.targets) this.targets.set(row, targets);
    const { row: waiting, back } = chunk.wait;
    this.tokens = waitsOf(column(waiting, waiting.length), back, count);
    const counting = this.lines.flatMap((line, row) => (DISTANCE.test(line) ? [row] : []));
    const pairs = chunk.distance.flatMap((backs, index) => [backs].flat().filter(Boolean).map((each) => [counting[index], each]));
    this.distances = waitsOf(Int32Array.from(pairs, ([row]) => row), pairs.map(([, each]) => each), count);
  }

  /** The rows that a row waits for by a token (`$3.dst`) or a distance (`I@2`) of its scoreboard, the nearest before it first. */
  producers(row: number, token: string): number[] {
    if (token.startsWith("$") && !token.includes(".")) return [];
    const { byWaiter, producer } = token.startsWith("$") ? this.tokens : this.distances;
    return Array.from(rowsOf(byWaiter, row), (pair) => producer[pair]);
  }

  /** The rows that wait for a row, ascending. */
  waiters(row: number): number[] {
    const found = [this.tokens, this.distances].flatMap(({ byProducer, waiter }) => Array.from(rowsOf(byProducer, row), (pair) => waiter[pair]));
    return Array.from(new Set(found)).sort((left, right) => left - right);
  }

  /** What a row's registers tie it to, by row; of one register only where one is named. Null where that is not known. */
  neighbours(row: number, only: number | null): Neighbours | null {
    const { uses } = this;
    if (uses === null) return null;
    const collect = (pairs: Int32Array, others: Int32Array): Map<number, number[]> => {
      const found = new Map<number, number[]>();
      for (const pair of pairs) {
        const register = uses.register[pair];
        if (only !== null && register !== only) continue;
        const registers = found.get(others[pair]);
        if (registers === undefined) found.set(others[pair], [register]);
        else registers.push(register);
      }
      return found;
    };
    return { writers: collect(rowsOf(uses.byReader, row), uses.writer), readers: collect(rowsOf(uses.byWriter, row), uses.reader) };
  }

  opcode(row: number): string {
    return this.opcodes[this.op[row]] ?? "";
  }

  /** The instruction that begins at an offset, -1 where none does. */
  rowAt(offset: number): number {
    const row = lastAtMost(this.offset, offset);
    return row >= 0 && this.offset[row] === offset ? row : -1;
  }

  blockOf(row: number): number {
    return lastAtMost(this.blocks, row);
  }

  blockEnd(block: number): number {
    return block + 1 < this.blocks.length ? this.blocks[block + 1] : this.count;
  }
}

/** Which rows wait for which: pairs, grouped both ways. */
interface Waits {
  waiter: Int32Array;
  producer: Int32Array;
  /** Indexes of the pairs above. */
  byWaiter: Csr;
  byProducer: Csr;
}

function waitsOf(waiter: Int32Array, back: number[], count: number): Waits {
  const producer = waiter.map((row, index) => row - back[index]);
  return { waiter, producer, byWaiter: group(waiter, count), byProducer: group(producer, count) };
}

/** Rows that wrote what a row reads of the general registers, with each register; and rows that read what it wrote. */
export interface Neighbours {
  writers: Map<number, number[]>;
  readers: Map<number, number[]>;
}

/** Which rows' values rows read: pairs of reader and writer with the general register, grouped both ways. */
export interface Uses {
  reader: Int32Array;
  writer: Int32Array;
  register: Int32Array;
  /** Indexes of the pairs above, by reader and by writer. */
  byReader: Csr;
  byWriter: Csr;
}

function usesOf(chunk: NonNullable<CodeChunk["use"]>, count: number): Uses {
  const reader = column(chunk.row, chunk.row.length);
  const writer = reader.map((row, index) => row - chunk.back[index]);
  const register = Int32Array.from(chunk.register);
  return { reader, writer, register, byReader: group(reader, count), byWriter: group(writer, count) };
}

/** One stage's text of a kernel. */
export class Stage extends Rows {
  readonly name: string;
  readonly attempt: number | null;
  /** The number that each row has in the whole stage's text. */
  readonly numbers: Int32Array;
  readonly functions: [string, number][];
  /** Why there is no text. */
  readonly missing: string | null;
  readonly lines: string[];

  constructor(places: Places, chunk: StageChunk) {
    const lines = chunk.text.split("\n");
    const ids = chunk.ids === null ? null : Int32Array.from(chunk.ids);
    super(places, column(chunk.place, lines.length), column(chunk.id, lines.length), ids);
    this.lines = lines;
    this.name = chunk.stage;
    this.attempt = chunk.attempt;
    this.numbers = column(chunk.line, lines.length);
    this.functions = chunk.functions;
    this.missing = chunk.missing;
  }
}

/** What each line of a kernel costs, by key. */
export interface Weights {
  instructions: Int32Array;
  /** Bytes that messages move, as far as they state them. */
  memory: Float64Array;
  spills: Float64Array;
}

export class Kernel {
  readonly name: string;
  /** Paths of the files that places are in. */
  readonly files: string[];
  readonly places: Places;
  readonly code: Code;
  readonly stages: Stage[];
  readonly weights: Weights;
  readonly missing: Record<string, string>;
  readonly warning: string | null;
  /** Instructions with a line of their own, of the prologue (with and without one), with a neighbour's, and with none. */
  readonly coverage = { own: 0, prologue: 0, bare: 0, inherited: 0, none: 0 };

  constructor(
    readonly program: ProgramInfo,
    readonly row: number,
    chunk: KernelChunk,
  ) {
    this.name = chunk.name;
    this.files = chunk.files;
    this.missing = chunk.missing;
    this.warning = chunk.warning;
    this.places = new Places(chunk.places);
    this.code = new Code(this.places, chunk.code ?? NO_CODE);
    this.stages = chunk.stages.map((stage) => new Stage(this.places, stage));
    this.weights = this.weigh();
    for (let row = 0; row < this.code.count; row++) {
      const bits = this.code.flags[row];
      const hasKey = this.code.key[row] >= 0;
      if (bits & PROLOGUE) this.coverage[hasKey ? "prologue" : "bare"]++;
      else if (!hasKey) this.coverage.none++;
      else if (bits & NOT_OWN) this.coverage.inherited++;
      else this.coverage.own++;
    }
  }

  /** Whether any instruction has a source line: without, there is nothing to link by line. */
  get hasLines(): boolean {
    return this.code.own.rows.length > 0;
  }

  private weigh(): Weights {
    const { code, places } = this;
    const weights: Weights = {
      instructions: Int32Array.from({ length: places.keys }, (_, key) => code.of(key).length),
      memory: new Float64Array(places.keys),
      spills: new Float64Array(places.keys),
    };
    for (const [row, message] of code.messages) {
      const key = code.flags[row] & NOT_OWN ? -1 : code.key[row];
      if (key < 0 || message.bytes === null) continue;
      weights.memory[key] += message.bytes;
      if (message.spill) weights.spills[key] += message.bytes;
    }
    return weights;
  }
}

const NO_CODE: CodeChunk = {
  text: "",
  size: [],
  opcode: [],
  op: [],
  place: [],
  flags: [],
  id: null,
  block: [],
  depth: [],
  targets: [],
  wait: { row: [], back: [] },
  distance: [],
  message: { row: [], kind: [], kinds: [] },
  live: null,
  peak: null,
  use: null,
};
