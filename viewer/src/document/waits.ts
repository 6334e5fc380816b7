import { column, damaged, integer, integers, list, MOST, object, texts } from "./checked";
import { type Csr, group, rowsOf } from "./csr";
import type { MessageKind } from "./schema";

/** Fewer cycles are no wait that a column shows; fewer than `LONG` none that is stepped to, or that has an arrow of its line. */
export const SHORT = 3;
export const LONG = 20;

/** What each figure of this is: said wherever one stands. */
export const ORIGIN = "IGC's estimate, one thread alone, loops once";

/**
 * Who waits how long for whom, as the compiler itself estimates it: no measurement, of one thread alone, each block once from
 * its beginning.
 */
export class Waits {
  /** The cycle of its block in which each row issues, and how many cycles that takes. */
  readonly start: Int32Array;
  readonly issue: Int32Array;
  /** How many cycles each row waits, 0 for none; and the row that it waits for, -1 for none. */
  readonly cycles: Int32Array;
  readonly producer: Int32Array;
  /** Rows that wait, ascending. */
  readonly rows: Int32Array;
  /** Wait cycles of the whole kernel. */
  readonly sum: number;
  private readonly why = new Map<number, string>();
  private readonly byProducer: Csr;

  constructor(written: unknown, count: number) {
    const chunk = object(written, "code.cycles");
    const entries = list(chunk.start, "code.cycles.start").length;
    this.start = column(chunk.start, entries, 0, MOST, "code.cycles.start");
    if (entries !== count) damaged(`code.cycles.start has ${entries} entries, not ${count}`);
    this.issue = integers(chunk.issue, count, 0, MOST, "code.cycles.issue");
    const wait = object(chunk.wait, "code.cycles.wait");
    const { length } = list(wait.row, "code.cycles.wait.row");
    this.rows = column(wait.row, length, 0, count - 1, "code.cycles.wait.row");
    if (this.rows.some((row, index) => index > 0 && row <= this.rows[index - 1])) damaged("rows that wait do not ascend");
    const cycles = integers(wait.cycles, length, 1, MOST, "code.cycles.wait.cycles");
    const back = integers(wait.back, length, -MOST, MOST, "code.cycles.wait.back");
    const reasons = texts(wait.reasons, "code.cycles.wait.reasons");
    const why = integers(wait.why, length, 0, reasons.length - 1, "code.cycles.wait.why");
    this.cycles = new Int32Array(count);
    this.producer = new Int32Array(count).fill(-1);
    let sum = 0;
    this.rows.forEach((row, index) => {
      this.producer[row] = integer(row - back[index], 0, count - 1, "code.cycles.wait.back");
      this.cycles[row] = cycles[index];
      this.why.set(row, reasons[why[index]]);
      sum += cycles[index];
    });
    this.sum = sum;
    this.byProducer = group(this.producer, count);
  }

  /** What a row waits for of its producer: `written`, `read`, `taken`. */
  whyOf(row: number): string {
    return this.why.get(row) ?? "";
  }

  /** The rows that wait for a row, ascending. */
  waiters(row: number): Int32Array {
    return rowsOf(this.byProducer, row);
  }

  /** Rows that wait long, ascending. */
  get long(): Int32Array {
    return this.rows.filter((each) => this.cycles[each] >= LONG);
  }

  /** Rows that wait long, the longest first. */
  get longest(): Int32Array {
    return this.long.sort((left, right) => this.cycles[right] - this.cycles[left] || left - right);
  }
}

const DONE: ReadonlyMap<string, string> = new Map([["load", "read"], ["store", "write"], ["atomic", "atomic"]]);

/** An instruction in two words, as `annotate --waits` has it: `image read`, `SLM fence`, `math`. */
export function operation(message: MessageKind | undefined, opcode: string): string {
  if (message === undefined || message.operation === null) return opcode.startsWith("math") ? "math" : opcode;
  if (message.action === null) return message.operation === "unknown" ? "message" : message.operation;
  const memory = message.spill ? "spill" : message.memory === "slm" ? "SLM" : message.memory;
  return `${memory} ${DONE.get(message.action) ?? message.action}`;
}
