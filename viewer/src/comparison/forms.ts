/**
 * Instructions without what the compiler chose freely: registers' names, addresses, and how it waits for results.
 *
 * It is analysis/comparison/normal_form.py for the page, rule by rule: an instruction is its *form*, the text without these
 * names, and its *operands*, for each register that it reads which earlier instruction wrote it.
 */
import type { Registers } from "../document/registers";

/** A general register, or an accumulator; what is between them is alike in many instructions. */
const REGISTER = /\b(?:r|(acc))(\d+)(?:\.(\d+))?(?![\d.])/;
/** What follows a general register: its stride and its type. */
const REGION = /^(?:<(\d+)[^>]*>)?(?::([a-z]\w*))?/;
const OTHER_NAMES = /\b(?:(f|a)\d+\.\d+|(L)\d+\b)/g;
/** In front of the first register, which is the destination then: the channels, a condition, saturation. */
const CHANNELS = /\((\d+)\|M\d+\)\s*(?:\([a-z]+\)f\s)?\s*(?:\(sat\))?$/;
const LABEL = /\bL(\d+)\b/g;
const REPLY = /\brd:(\d+)/;
const SYSTOLIC = /\bdpasw?\.\d+x(\d+)/;
const TYPE_SIZES: ReadonlyMap<string, number> = new Map([
  ...["ub", "b", "hf8", "bf8", "qf"].map((type) => [type, 1] as const),
  ...["uw", "w", "hf", "bf"].map((type) => [type, 2] as const),
  ...["uq", "q", "df"].map((type) => [type, 8] as const),
]);
const USUAL_SIZE = 4;
const CALL_BYTES = 8;
/** Bytes that are told apart when a register is written in parts. */
const CELL = 2;
/** Registers that any thread has, and more; accumulators follow them. */
const REGISTERS = 512;
const ACCUMULATORS = 16;
/** A copy of bits. The compiler chooses the type by the pipe that is free. */
const COPY = /^((?:\(W\) )?mov \(\d+\|M\d+\) r<\d+>):(\w+) (r<[\d;,]+>):\2$/;
/** A constant that goes nowhere: a hash of the input. */
const NOWHERE = /^((?:\(W\) )?mov \(\d+\|M\d+\) null<1>:\w+) 0x[0-9A-F]+:\w+$/;
/** The operand of a math macro: some versions of libiga64 print a region behind it. */
const MACRO_REGION = /(\.(?:no)?mme\d?)<1;1,0>/g;
/** Instructions that only wait. */
const WAITING: ReadonlySet<string> = new Set(["sync", "nop", "wait"]);
/** What a line of code may have; longer ones are no instructions. */
const MOST_LETTERS = 2000;

/** Cells from the first, a step apart. */
interface Run {
  first: number;
  end: number;
  step: number;
}

/** An instruction's text without names, the cells that it writes (`first` is -1: none), and the first cell of each register that it reads. */
interface Form {
  text: string;
  first: number;
  written: readonly Run[];
  read: readonly number[];
  labels: readonly number[];
  waits: boolean;
  /** It reads whole registers. */
  isMessage: boolean;
}

/** Where an operand comes from: the row that wrote it and how far behind the first cell that this wrote; row -1: the cell itself. */
export interface Origin {
  writer: number;
  place: number;
}

function formOf(line: string, width: number): Form {
  const [code, remark] = partition(line.slice(0, MOST_LETTERS), "//");
  const words = partition(code, "{")[0].trim().split(/\s+/).join(" ").replace(MACRO_REGION, "$1");
  const pieces = words.split(REGISTER);
  const between = pieces.filter((_, at) => at % 4 === 0);
  const joined = between.join("r");
  const plain = between.map((piece) => piece.replace(OTHER_NAMES, (_, file?: string, label?: string) => file || label || ""));
  const regions = between.slice(1).map((piece) => REGION.exec(piece) as RegExpExecArray);
  const sizes = regions.map((region) => TYPE_SIZES.get(region[2] ?? "") ?? USUAL_SIZE);
  const channels = CHANNELS.exec(plain[0]);
  const mnemonic = joined.replace(/^\(W\) /, "").split(" ")[0].split(".")[0];
  const written = regions.length > 0 && channels !== null && mnemonic !== "ret" ? writtenCells(regions[0], sizes[0], Number(channels[1]), joined, remark, width) : [];
  const cells = sizes.map((size, at) => {
    const [accumulator, number, part] = pieces.slice(4 * at + 1, 4 * at + 4) as (string | undefined)[];
    const place = accumulator === undefined ? Number(number) % REGISTERS : REGISTERS + (Number(number) % ACCUMULATORS);
    return Math.floor((place * width + (Number(part ?? 0) % width) * size) / CELL);
  });
  const isWritten = written.length > 0;
  return {
    text: textOf(plain.join("r"), sizes),
    first: isWritten ? cells[0] : -1,
    written: written.map(({ first, end, step }) => ({ first: cells[0] + first, end: cells[0] + end, step })),
    read: isWritten ? cells.slice(1) : cells,
    labels: Array.from(joined.matchAll(LABEL), (label) => Number(label[1])),
    waits: WAITING.has(mnemonic),
    isMessage: mnemonic.startsWith("send"),
  };
}

function textOf(plain: string, sizes: readonly number[]): string {
  const copy = COPY.exec(plain);
  if (copy !== null) return `${copy[1]} ${copy[3]} of ${8 * sizes[0]} bits`;
  return NOWHERE.exec(plain)?.[1] ?? plain;
}

/** The cells that an instruction writes, each channel an element of `size` bytes. */
function writtenCells(region: RegExpExecArray, size: number, channels: number, code: string, remark: string, width: number): Run[] {
  const reply = REPLY.exec(remark);
  if (reply !== null) return [{ first: 0, end: (Math.min(Number(reply[1]), REGISTERS) * width) / CELL || 1, step: 1 }];
  // A call writes where it comes back to, and its mask.
  if (region[2] === undefined) return [{ first: 0, end: (code.startsWith("call") ? CALL_BYTES : width) / CELL, step: 1 }];
  const systolic = SYSTOLIC.exec(code);
  const elements = channels * (systolic === null ? 1 : Number(systolic[1]));
  const stride = Math.max(Number(region[1] ?? 1), 1) * size;
  const end = Math.min(Math.ceil((stride * (elements - 1) + size) / CELL), (REGISTERS * width) / CELL);
  if (stride <= Math.max(size, CELL)) return [{ first: 0, end, step: 1 }];
  return Array.from({ length: Math.ceil(size / CELL) }, (_, first) => ({ first, end, step: Math.floor(stride / CELL) }));
}

function partition(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** What the comparison asks of a kernel's code. */
export interface Instructions {
  lines: readonly string[];
  offset: Int32Array;
  size: Int32Array;
  /** Who wrote what a row reads, by row; null where that is not known. */
  registers: Pick<Registers, "neighbours"> | null;
}

/** A kernel's instructions as forms, with where their operands come from. */
export class Code {
  readonly forms: readonly Form[];
  /** The text of each form. */
  readonly texts: readonly string[];
  private flow: Origin[][] | null = null;
  private readonly targets: string[];

  /** `width` is the size of a general register in bytes. */
  constructor(
    private readonly instructions: Instructions,
    private readonly width: number,
  ) {
    const known = new Map<string, Form>();
    this.forms = instructions.lines.map((line) => {
      const form = known.get(line) ?? formOf(line, width);
      known.set(line, form);
      return form;
    });
    this.texts = this.forms.map(({ text }) => text);
    const { offset, size } = instructions;
    const rowOf = new Map(Array.from(offset, (at, row): [number, number] => [at, row]));
    const last = offset.length - 1;
    if (last >= 0) rowOf.set(offset[last] + size[last], offset.length);
    this.targets = this.forms.map(({ labels }) => labels.map((label) => rowOf.get(label) ?? "?").join());
  }

  get length(): number {
    return this.forms.length;
  }

  /** The origins of the registers that each instruction reads: if control can take several ways, in the code's order. */
  get origins(): readonly (readonly Origin[])[] {
    this.flow ??= this.followed();
    return this.flow;
  }

  private followed(): Origin[][] {
    const size = ((REGISTERS + ACCUMULATORS) * 2 * this.width) / CELL;
    const writers = new Int32Array(size).fill(-1);
    return this.forms.map(({ isMessage, read, written }, row) => {
      const operands = read.map((cell): Origin => {
        // A message's header is written in part, and what nobody sets in it is left from another value.
        const writer = isMessage ? writers.subarray(cell, cell + this.width / CELL).reduce((last, other) => Math.max(last, other), -1) : writers[Math.min(cell, size - 1)];
        return { writer, place: writer < 0 ? cell : cell - this.forms[writer].first };
      });
      for (const { first, end, step } of written) {
        for (let cell = first; cell < Math.min(end, size); cell += step) writers[cell] = row;
      }
      return operands;
    });
  }

  /** Whether the instructions are the same, names and addresses aside: each reads what the same ones wrote. */
  isSame(other: Code): boolean {
    const isAlike = this.length === other.length && this.texts.every((text, row) => text === other.texts[row] && this.targets[row] === other.targets[row]);
    if (!isAlike) return false;
    const [mine, theirs] = [this.instructions.registers, other.instructions.registers];
    return this.origins.every((operands, row) => {
      const [here, there] = [operands, other.origins[row]].map((origins) => origins.map(({ writer, place }) => `${writer} ${place}`));
      const isInOrder = here.every((origin, at) => origin === there[at]);
      if (mine === null || theirs === null) return isInOrder;
      // Through branches and loops the document tells who wrote what is read, but not as which operand.
      return writersOf(mine, row) === writersOf(theirs, row) && (isInOrder || here.sort().join() !== there.sort().join());
    });
  }
}

function writersOf(registers: Pick<Registers, "neighbours">, row: number): string {
  return Array.from(registers.neighbours(row, null).writers.keys()).sort((left, right) => left - right).join();
}
