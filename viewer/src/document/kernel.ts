import { type Advice, adviceOf } from "./advice";
import { type Csr, group, lastAtMost, rowsOf } from "./csr";
import { Places } from "./places";
import { column, damaged, figure, integer, integers, list, MOST, object, text, textOrNull, texts } from "./checked";
import { NO_CODE } from "./no_code";
import { heldOf, type Peak, Registers } from "./registers";
import { Rows } from "./rows";
import { type Observed, observedOf } from "./observed";
import { Samples } from "./samples";
import { Variables } from "./variables";
import type { MessageKind, ProgramInfo } from "./schema";
import { Waits } from "./waits";
import { type Ways, waysOf } from "./ways";

/** Bits of `Code.flags`. */
export const PROLOGUE = 1;
export const INHERITED = 2;
export const LOST = 4;
export const FROM_STAGE = 8;
export const ILLEGAL = 16;
/** The row may have no line: the line table, which is all that tells it, shows a neighbour's where there is none. */
export const UNCERTAIN = 32;

/** How many of these rows are certainly of their line. */
export function certainOf({ flags }: { flags: ArrayLike<number> }, rows: Iterable<number>): number {
  let certain = 0;
  for (const row of rows) if ((flags[row] & (UNCERTAIN | INHERITED)) === 0) certain++;
  return certain;
}
/** With one of these a row's place is another row's: it counts in no line's share. */
const NOT_OWN = PROLOGUE | INHERITED | LOST;

/** How often a loop goes round, where lines are ranked: compilers assume as much to decide what to spill; and loops that count so. */
export const ROUNDS = 10;
const DEEPEST = 4;

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
  /** Row -> the function that begins there, in code that holds functions besides the kernel's own. */
  readonly functions: Map<number, string>;
  /** How many loops a block is in; 0 where that is not known. */
  readonly depth: Int32Array;
  /** Straight code, loops and jumps; null where they are not known. */
  readonly ways: Ways | null;
  /** Live registers at each instruction, null where that is not known. */
  readonly live: Int32Array | null;
  /** The first row with the most live registers, and how many they are. */
  readonly peak: Peak | null;
  /** Who writes and reads the general registers, and over which rows they hold a value; null where that is not known. */
  readonly registers: Registers | null;
  /** Whether registers may hold more than is told: of operands that are known only at run time, and functions called elsewhere. */
  readonly isLowerBound: boolean;
  /** Who waits how long for whom; null where that is not known. */
  readonly waits: Waits | null;
  /** What a profiler counted; null without samples. */
  readonly samples: Samples | null;
  /** Where the source's variables are; null without debug data that tells it. */
  readonly variables: Variables | null;
  /** What messages do, by row. */
  readonly messages = new Map<number, MessageKind>();
  /** Where branches go: rows by row. */
  readonly targets = new Map<number, number[]>();
  /** Who waits for whom, by scoreboard tokens and by distances. */
  private readonly tokens: Pairs;
  private readonly distances: Pairs;
  private readonly opcodes: string[];
  private readonly op: Int32Array;

  constructor(places: Places, written: unknown) {
    const chunk = object(written, "code");
    const size = list(chunk.size, "code.size");
    const count = size.length;
    if (count > MOST_ROWS) damaged(`it has ${count} instructions`);
    const flags = Uint8Array.from(integers(chunk.flags, count, 0, 255, "code.flags"));
    const id = chunk.id === null ? new Int32Array(count).fill(-1) : column(chunk.id, count, -1, MOST, "code.id");
    super(places, column(chunk.place, count, -1, places.key.length - 1, "code.place"), id, null, flags.map((bits) => bits & NOT_OWN));
    const last = count - 1;
    this.flags = flags;
    this.lines = count === 0 ? [] : text(chunk.text, "code.text").split("\n");
    if (this.lines.length !== count) damaged(`there are ${this.lines.length} lines of machine code, not ${count}`);
    this.size = integers(size, count, 0, MOST_BYTES, "code.size");
    this.offset = new Int32Array(count);
    for (let row = 1; row < count; row++) this.offset[row] = integer(this.offset[row - 1] + this.size[row - 1], 0, MOST, "code.size");
    this.opcodes = texts(chunk.opcode, "code.opcode");
    this.op = integers(chunk.op, count, 0, this.opcodes.length - 1, "code.op");
    this.blocks = column(chunk.block, list(chunk.block, "code.block").length, 0, last, "code.block");
    if (count > 0 && this.blocks[0] !== 0) damaged("the first block begins behind the first instruction");
    if (this.blocks.some((row, block) => block > 0 && row <= this.blocks[block - 1])) damaged("blocks do not ascend");
    this.functions = new Map(
      list(chunk.functions ?? [], "code.functions").map((each) => {
        const [name, row] = list(each, "code.functions");
        return [integer(row, 0, last, "code.functions"), text(name, "code.functions")];
      }),
    );
    this.depth = chunk.depth === null ? new Int32Array(this.blocks.length) : integers(chunk.depth, this.blocks.length, 0, MOST, "code.depth");
    this.ways = waysOf(chunk.flow ?? null, last);
    this.live = chunk.live === null ? null : integers(chunk.live, count, 0, MOST_REGISTERS, "code.live");
    this.peak = chunk.peak === null ? null : peakOf(chunk.peak, last);
    this.registers = chunk.use === null ? null : new Registers(chunk.use, chunk.range ?? null, count);
    this.isLowerBound = chunk.is_lower_bound === true;
    this.waits = chunk.cycles === null ? null : new Waits(chunk.cycles, count);
    this.samples = chunk.samples === null ? null : new Samples(chunk.samples, count);
    this.variables = chunk.variables == null ? null : new Variables(chunk.variables, count);
    const message = object(chunk.message, "code.message");
    const kinds = list(message.kinds, "code.message.kinds").map(kindOf);
    const [rows, kind] = pairsOf(message.row, message.kind, last, "code.message");
    rows.forEach((row, index) => this.messages.set(row, kinds[integer(kind[index], 0, kinds.length - 1, "code.message.kind")]));
    for (const each of list(chunk.targets, "code.targets")) {
      const [row, ...targets] = list(each, "code.targets").map((target) => integer(target, 0, last, "code.targets"));
      this.targets.set(integer(row, 0, last, "code.targets"), targets);
    }
    const wait = object(chunk.wait, "code.wait");
    const [waiting, back] = pairsOf(wait.row, wait.back, last, "code.wait");
    this.tokens = waitsOf(waiting, back, last);
    const counting = this.lines.flatMap((line, row) => (DISTANCE.test(line) ? [row] : []));
    const distances = list(chunk.distance, "code.distance");
    // None are told where the decoder does not know the pipes.
    if (distances.length > counting.length) damaged(`${counting.length} rows have a distance, and it tells of ${distances.length}`);
    const pairs = distances.flatMap((each, index) => {
      const backs = Array.isArray(each) ? integers(each, each.length, 0, last, "code.distance") : [integer(each, 0, last, "code.distance")];
      return Array.from(backs).filter((rows) => rows > 0).map((rows) => [counting[index], rows]);
    });
    this.distances = waitsOf(Int32Array.from(pairs, ([row]) => row), Int32Array.from(pairs, ([, rows]) => rows), last);
  }

  /** The rows that a row waits for by a token (`$3.dst`) or a distance (`I@2`) of its scoreboard, the nearest before it first. */
  producers(row: number, token: string): number[] {
    if (token.startsWith("$") && !token.includes(".")) return [];
    const { byWaiter, producer } = token.startsWith("$") ? this.tokens : this.distances;
    return Array.from(rowsOf(byWaiter, row), (pair) => producer[pair]);
  }

  /** The rows that wait for a row, ascending. */
  waiters(row: number): number[] {
    const waiters = [this.tokens, this.distances].flatMap(({ byProducer, waiter }) => Array.from(rowsOf(byProducer, row), (pair) => waiter[pair]));
    return Array.from(new Set(waiters)).sort((left, right) => left - right);
  }

  /** Rows that spill a register to memory or fill it again, ascending. */
  get spills(): number[] {
    return Array.from(this.messages).flatMap(([row, { spill }]) => (spill ? [row] : []));
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

  /** How many loops a row is in. */
  depthOf(row: number): number {
    return this.depth[this.blockOf(row)] ?? 0;
  }

  blockEnd(block: number): number {
    return block + 1 < this.blocks.length ? this.blocks[block + 1] : this.count;
  }
}

/** Which rows wait for which: pairs, grouped both ways. */
interface Pairs {
  waiter: Int32Array;
  producer: Int32Array;
  /** Indexes of the pairs above. */
  byWaiter: Csr;
  byProducer: Csr;
}

function waitsOf(waiter: Int32Array, back: Int32Array, last: number): Pairs {
  const producer = waiter.map((row, index) => integer(row - back[index], 0, last, "the row that is waited for"));
  return { waiter, producer, byWaiter: group(waiter, last + 1), byProducer: group(producer, last + 1) };
}

/** Limits of what a document may say: makers of documents stay far below. */
const MOST_ROWS = 250_000;
const MOST_BYTES = 2 ** 20;
const MOST_REGISTERS = 2 ** 16;
const MOST_LINES = 2 ** 22;
const MOST_TEXT = 2 ** 26;

/** Rows, delta coded, and a number for each. */
function pairsOf(rows: unknown, others: unknown, last: number, what: string): [Int32Array, Int32Array] {
  const { length } = list(rows, `${what}.row`);
  return [column(rows, length, 0, last, `${what}.row`), integers(others, length, -MOST, MOST, what)];
}

function peakOf(written: unknown, last: number): Peak {
  const { row, registers, held } = object(written, "code.peak");
  return { row: integer(row, 0, last, "code.peak"), registers: integer(registers, 0, MOST_REGISTERS, "code.peak"), held: heldOf(held) };
}

function kindOf(written: unknown): MessageKind {
  const what = "code.message.kinds";
  const { words, bytes, spill, action, memory, operation } = object(written, what);
  const names = { action: textOrNull(action, what), memory: textOrNull(memory, what), operation: textOrNull(operation, what) };
  return { words: text(words, what), bytes: figure(bytes, what), spill: spill === true, ...names };
}

const NO_STAGE = { text: null, row: [], line: [], place: [], id: null, ids: null, functions: [] };

/** One stage's text of a kernel. */
export class Stage extends Rows {
  readonly name: string;
  readonly attempt: number | null;
  /** The number that each row has in the whole stage's text. */
  readonly numbers: Int32Array;
  readonly functions: [name: string, row: number][];
  /** Why there is no text. */
  readonly missing: string | null;
  readonly lines: string[];

  /** `known` are the lines of the stages before it, which have many in common; it takes those of this one. */
  constructor(places: Places, written: unknown, known: string[]) {
    const whole = object(written, "a stage");
    const missing = textOrNull(whole.missing, "a stage's missing");
    const chunk = missing === null ? whole : { ...whole, ...NO_STAGE };
    for (const line of textOrNull(chunk.text, "a stage's text")?.split("\n") ?? []) known.push(line);
    const { length: count } = list(chunk.row, "a stage's row");
    if (count > MOST_LINES) damaged(`a stage has ${count} lines`);
    const lines = Array.from(column(chunk.row, count, 0, known.length - 1, "a stage's row"), (row) => known[row]);
    if (lines.reduce((sum, { length }) => sum + length, 0) > MOST_TEXT) damaged("a stage's text is too large");
    const ids = chunk.ids === null ? null : integers(chunk.ids, count, 0, MOST, "a stage's ids");
    const id = chunk.id === null ? new Int32Array(count).fill(-1) : column(chunk.id, count, -1, MOST, "a stage's id");
    super(places, column(chunk.place, count, -2, places.key.length - 1, "a stage's place"), id, ids);
    this.lines = lines;
    this.name = text(chunk.stage, "a stage's name");
    this.attempt = figure(chunk.attempt, "a stage's attempt");
    this.numbers = column(chunk.line, count, 0, MOST, "a stage's line");
    this.functions = list(chunk.functions, "a stage's functions").map((each) => {
      const [name, row] = list(each, "a stage's functions");
      return [text(name, "a stage's functions"), integer(row, 0, count, "a stage's functions")];
    });
    this.missing = missing;
  }
}

/** What each line of a kernel costs, by key. */
export interface Weights {
  instructions: Int32Array;
  /** Bytes that messages move, as far as they state them. */
  memory: Float64Array;
  spills: Float64Array;
  /** Cycles that instructions wait, and samples of a profiler. */
  waits: Float64Array;
  samples: Float64Array;
  /** The most loops that an instruction is in. */
  depth: Int32Array;
  /** Instructions in loops. */
  looped: Int32Array;
  /** Instructions, one in a loop counted `ROUNDS` times, and in deeper loops so often for each. */
  rounds: Float64Array;
  /** Whether there is any loop. */
  hasLoops: boolean;
}

export class Kernel {
  readonly name: string;
  /** Paths of the files that places are in. */
  readonly files: string[];
  /** The user's own among them; null if no code of other files was inlined into theirs. */
  readonly own: readonly number[] | null;
  readonly places: Places;
  readonly code: Code;
  readonly stages: Stage[];
  readonly advice: Advice[];
  /** What is advised on lines, by key. */
  readonly advised = new Map<number, string>();
  readonly weights: Weights;
  /** What an interpreter counted on data; null where nothing was observed. */
  readonly observed: Observed | null;
  /** Why there is no machine code, and why there are no lines; null where there are. */
  readonly missing: { code: string | null; lines: string | null; waits: string | null; advice: string | null };
  readonly warning: string | null;
  /** What kept it from being read; null if it was. */
  problem: unknown = null;
  /** Instructions that count for a line (`uncertain`: those of them that may have none), of the prologue (with and without a
   * line), with a neighbour's line, and with none. */
  readonly coverage = { own: 0, uncertain: 0, prologue: 0, bare: 0, inherited: 0, none: 0 };

  /** Takes a chunk over; `onOwnLines` lays inlined library code on the user's own lines. Throws DocumentError if it is damaged. */
  constructor(
    readonly program: ProgramInfo,
    readonly row: number,
    written: unknown,
    readonly onOwnLines = false,
  ) {
    const chunk = object(written, "a kernel");
    const missing = object(chunk.missing, "missing");
    this.name = text(chunk.name, "name");
    this.files = texts(chunk.files, "files");
    const why = (what: string): string | null => textOrNull(missing[what], `missing.${what}`);
    this.missing = { code: why("code"), lines: why("lines"), waits: why("waits"), advice: why("advice") };
    this.warning = textOrNull(chunk.warning, "warning");
    this.own = chunk.own === undefined ? null : list(chunk.own, "own").map((file) => integer(file, 0, this.files.length - 1, "own"));
    this.places = new Places(chunk.places, this.files.length, onOwnLines ? this.own : null);
    this.code = new Code(this.places, chunk.code ?? NO_CODE);
    const known: string[] = [];
    this.stages = list(chunk.stages, "stages").map((stage) => new Stage(this.places, stage, known));
    this.advice = adviceOf(chunk.advice, this.code);
    for (const { key, sentence } of this.advice) if (key >= 0) this.advised.set(key, this.advised.has(key) ? `${this.advised.get(key)}\n${sentence}` : sentence);
    this.observed = observedOf(chunk.observed, this.places, this.files.length);
    this.weights = this.weigh();
    for (let row = 0; row < this.code.count; row++) {
      const bits = this.code.flags[row];
      const hasKey = this.code.key[row] >= 0;
      if (bits & PROLOGUE) this.coverage[hasKey ? "prologue" : "bare"]++;
      else if (!hasKey) this.coverage.none++;
      else if (bits & NOT_OWN) this.coverage.inherited++;
      else {
        this.coverage.own++;
        if (bits & UNCERTAIN) this.coverage.uncertain++;
      }
    }
  }

  /** A program that has no kernel, because it does not compile: its files, and nothing of them. */
  static none(program: ProgramInfo): Kernel {
    return Kernel.empty(program, -1, program.name, program.reason ?? "the program holds no kernel");
  }

  /** A kernel that could not be read: its program's files, which can be edited all the same. */
  static unread(program: ProgramInfo, row: number, problem: unknown, onOwnLines: boolean): Kernel {
    const kernel = Kernel.empty(program, row, program.kernels.name[row], "the kernel could not be read", onOwnLines);
    kernel.problem = problem;
    return kernel;
  }

  private static empty(program: ProgramInfo, row: number, name: string, why: string, onOwnLines = false): Kernel {
    const missing = { code: why, lines: why, waits: why, advice: why };
    const places = { file: [], line: [], column: [], caller: [] };
    return new Kernel(program, row, { name, files: program.files.map(({ path }) => path), places, code: null, stages: [], advice: [], missing, warning: null }, onOwnLines);
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
      waits: new Float64Array(places.keys),
      samples: new Float64Array(places.keys),
      depth: new Int32Array(places.keys),
      looped: new Int32Array(places.keys),
      rounds: new Float64Array(places.keys),
      hasLoops: code.depth.some((depth) => depth > 0),
    };
    for (let block = 0; block < code.blocks.length; block++) {
      for (let row = code.blocks[block]; row < code.blockEnd(block); row++) {
        const key = code.flags[row] & NOT_OWN ? -1 : code.key[row];
        if (key < 0) continue;
        weights.waits[key] += code.waits?.cycles[row] ?? 0;
        weights.samples[key] += code.samples?.sums[row] ?? 0;
        weights.rounds[key] += ROUNDS ** Math.min(code.depth[block], DEEPEST);
        if (code.depth[block] === 0) continue;
        weights.depth[key] = Math.max(weights.depth[key], code.depth[block]);
        weights.looped[key]++;
      }
    }
    for (const [row, message] of code.messages) {
      const key = code.flags[row] & NOT_OWN ? -1 : code.key[row];
      if (key < 0 || message.bytes === null) continue;
      weights.memory[key] += message.bytes;
      if (message.spill) weights.spills[key] += message.bytes;
    }
    return weights;
  }
}
