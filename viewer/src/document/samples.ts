import { column, damaged, integers, list, MOST, object, text } from "./checked";
import { type Csr, group, rowsOf } from "./csr";

/** Reasons that a profiler counts by: each has a dozen at most. */
const MOST_REASONS = 100;

export interface Reason {
  name: string;
  /** Whether the thread did not issue. */
  stall: boolean;
}

/** What a profiler counted on a kernel's instructions: measured elsewhere, on hardware. */
export class Samples {
  readonly profiler: string;
  readonly reasons: Reason[];
  /** Samples of each row, under any reason; of all rows; and of addresses where no instruction begins. */
  readonly sums: Float64Array;
  readonly total: number;
  readonly unplaced: number;
  private readonly counts = new Map<number, number[]>();
  /** Samples in which a row waited, laid on those that it waited for. */
  private readonly waiter: Int32Array;
  private readonly producer: Int32Array;
  private readonly laid: number[];
  private readonly byWaiter: Csr;
  private readonly byProducer: Csr;

  constructor(written: unknown, count: number) {
    const chunk = object(written, "code.samples");
    this.profiler = text(chunk.profiler, "code.samples.profiler");
    this.reasons = list(chunk.reasons, "code.samples.reasons").map((each) => {
      const { name, stall } = object(each, "code.samples.reasons");
      return { name: text(name, "code.samples.reasons"), stall: stall === true };
    });
    if (this.reasons.length > MOST_REASONS) damaged(`its samples have ${this.reasons.length} reasons`);
    const rows = object(chunk.rows, "code.samples.rows");
    const counts = list(rows.counts, "code.samples.rows.counts");
    const sampled = column(rows.row, counts.length, 0, count - 1, "code.samples.rows.row");
    this.sums = new Float64Array(count);
    let total = 0;
    sampled.forEach((row, index) => {
      const each = numbers(counts[index], this.reasons.length, "code.samples.rows.counts");
      this.counts.set(row, each);
      this.sums[row] = each.reduce((sum, samples) => sum + samples, 0);
      total += this.sums[row];
    });
    this.total = total;
    const blamed = object(chunk.blamed, "code.samples.blamed");
    const { length } = list(blamed.row, "code.samples.blamed.row");
    this.waiter = column(blamed.row, length, 0, count - 1, "code.samples.blamed.row");
    const back = integers(blamed.back, length, -MOST, MOST, "code.samples.blamed.back");
    this.producer = this.waiter.map((row, index) => row - back[index]);
    if (this.producer.some((row) => row < 0 || row >= count)) damaged("code.samples.blamed.back names no row");
    this.laid = numbers(blamed.samples, length, "code.samples.blamed.samples");
    this.byWaiter = group(this.waiter, count);
    this.byProducer = group(this.producer, count);
    const elsewhere = list(object(chunk.unplaced, "code.samples.unplaced").samples, "code.samples.unplaced");
    this.unplaced = numbers(elsewhere, elsewhere.length, "code.samples.unplaced").reduce((sum, samples) => sum + samples, 0);
  }

  /** The samples of these rows by reason, from the most down, those without any left out. */
  byReason(rows: Iterable<number>): [reason: Reason, samples: number][] {
    const sums = this.reasons.map(() => 0);
    for (const row of rows) for (const [reason, samples] of (this.counts.get(row) ?? []).entries()) sums[reason] += samples;
    const pairs = sums.flatMap((samples, reason): [Reason, number][] => (samples > 0 ? [[this.reasons[reason], samples]] : []));
    return pairs.sort(([, left], [, right]) => right - left);
  }

  /** The rows that a row waited for, with the samples that are laid on each, from the most down. */
  producers(row: number): [row: number, samples: number][] {
    return this.most(rowsOf(this.byWaiter, row), this.producer);
  }

  /** The rows that waited for a row. */
  waiters(row: number): [row: number, samples: number][] {
    return this.most(rowsOf(this.byProducer, row), this.waiter);
  }

  private most(pairs: Int32Array, others: Int32Array): [number, number][] {
    return Array.from(pairs, (pair): [number, number] => [others[pair], this.laid[pair]]).sort(([, left], [, right]) => right - left);
  }
}

/** Counts, which may be larger than a row's number is. */
function numbers(written: unknown, length: number, what: string): number[] {
  const entries = list(written, what);
  if (entries.length !== length) damaged(`${what} has ${entries.length} entries, not ${length}`);
  return entries.map((each) => (Number.isSafeInteger(each) && (each as number) >= 0 ? (each as number) : damaged(`${what} holds ${String(each).slice(0, 40)}`)));
}
