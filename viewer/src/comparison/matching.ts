/** Indexes of equal entries of two lists. */
export type Pair = readonly [old: number, new: number];

/** From and up to which index, of the old and of the new list. */
type Segment = readonly [oldStart: number, oldEnd: number, newStart: number, newEnd: number];

/** Entries that may be looked at, for each entry of both lists and for any; what is not matched by then counts as changed. */
const STEPS_PER_ITEM = 64;
const FREE_STEPS = 20_000;
/** The most insertions and deletions that Myers's algorithm looks for between two places. */
const MOST_EDITS = 256;

/**
 * Pairs of indexes at which two lists hold equal entries, both ascending: matched at what stands once in both, and between
 * those places by Myers's algorithm. It is `common_pairs` of analysis/comparison/matching.py, step by step, so that the page
 * and `kernlens diff` say the same.
 */
export function commonPairs(old: readonly string[], now: readonly string[]): Pair[] {
  return new Matching(old, now).pairs;
}

class Matching {
  readonly pairs: Pair[] = [];
  private readonly old: Int32Array;
  private readonly now: Int32Array;
  private steps: number;

  constructor(old: readonly string[], now: readonly string[]) {
    const numbers = new Map<string, number>();
    const numbered = (items: readonly string[]): Int32Array =>
      Int32Array.from(items, (item) => {
        const number = numbers.get(item) ?? numbers.size;
        numbers.set(item, number);
        return number;
      });
    this.old = numbered(old);
    this.now = numbered(now);
    this.steps = FREE_STEPS + STEPS_PER_ITEM * (old.length + now.length);
    const waiting: Segment[] = [[0, old.length, 0, now.length]];
    for (let segment = waiting.pop(); segment !== undefined; segment = waiting.pop()) waiting.push(...this.match(segment));
    this.pairs.sort((left, right) => left[0] - right[0]);
  }

  /** Matches what can be matched at once; the segments that are left to do. */
  private match(segment: Segment): Segment[] {
    const [oldStart, oldEnd, newStart, newEnd] = this.trimmed(segment);
    this.steps -= oldEnd - oldStart + newEnd - newStart;
    if (oldStart === oldEnd || newStart === newEnd || this.steps < 0) return [];
    const anchors = this.anchors(oldStart, oldEnd, newStart, newEnd);
    if (anchors.length === 0) {
      this.pairs.push(...this.fewestEdits(oldStart, oldEnd, newStart, newEnd));
      return [];
    }
    for (const anchor of anchors) this.pairs.push(anchor);
    const starts: Pair[] = [[oldStart, newStart], ...anchors.map(([before, after]): Pair => [before + 1, after + 1])];
    const ends: Pair[] = [...anchors, [oldEnd, newEnd]];
    return starts.map((start, at): Segment => [start[0], ends[at][0], start[1], ends[at][1]]);
  }

  /** Matches what a segment begins and ends with on both sides; the rest. */
  private trimmed([oldStart, oldEnd, newStart, newEnd]: Segment): Segment {
    const { old, now } = this;
    while (oldStart < oldEnd && newStart < newEnd && old[oldStart] === now[newStart]) this.pairs.push([oldStart++, newStart++]);
    while (oldStart < oldEnd && newStart < newEnd && old[oldEnd - 1] === now[newEnd - 1]) this.pairs.push([--oldEnd, --newEnd]);
    return [oldStart, oldEnd, newStart, newEnd];
  }

  /** The longest ascending run of what stands once in both. */
  private anchors(oldStart: number, oldEnd: number, newStart: number, newEnd: number): Pair[] {
    const { old, now } = this;
    const oldCounts = counted(old, oldStart, oldEnd);
    const newCounts = counted(now, newStart, newEnd);
    const placeOf = new Map<number, number>();
    for (let at = newStart; at < newEnd; at++) if (newCounts.get(now[at]) === 1) placeOf.set(now[at], at);
    const both: Pair[] = [];
    for (let at = oldStart; at < oldEnd; at++) {
      const place = oldCounts.get(old[at]) === 1 ? placeOf.get(old[at]) : undefined;
      if (place !== undefined) both.push([at, place]);
    }
    const lowest: number[] = [];
    const ends: number[] = [];
    const before = both.map(([, place], number) => {
      let low = 0;
      for (let high = lowest.length; low < high; ) {
        const middle = (low + high) >> 1;
        if (lowest[middle] < place) low = middle + 1;
        else high = middle;
      }
      lowest[low] = place;
      ends[low] = number;
      return low > 0 ? ends[low - 1] : -1;
    });
    const run: Pair[] = [];
    for (let number = ends.at(-1) ?? -1; number >= 0; number = before[number]) run.push(both[number]);
    return run.reverse();
  }

  /** The pairs that the fewest insertions and deletions leave; none if they are too many. */
  private fewestEdits(oldStart: number, oldEnd: number, newStart: number, newEnd: number): Pair[] {
    const { old, now } = this;
    const oldSize = oldEnd - oldStart;
    const newSize = newEnd - newStart;
    const middle = MOST_EDITS + 1;
    const reach = new Int32Array(2 * middle + 1);
    const trace: Int32Array[] = [];
    for (let edits = 0; edits <= Math.min(oldSize + newSize, MOST_EDITS); edits++) {
      trace.push(reach.slice());
      for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
        const begun = nextX(reach, middle + diagonal, diagonal, edits);
        let x = begun;
        let y = x - diagonal;
        while (x < oldSize && y < newSize && old[oldStart + x] === now[newStart + y]) {
          x++;
          y++;
        }
        this.steps -= 1 + x - begun;
        reach[middle + diagonal] = x;
        if (x >= oldSize && diagonal === oldSize - newSize) return path(trace, middle, oldStart, oldSize, newStart, newSize);
      }
      if (this.steps < 0) break;
    }
    return [];
  }
}

function counted(items: Int32Array, start: number, end: number): Map<number, number> {
  const counts = new Map<number, number>();
  for (let at = start; at < end; at++) counts.set(items[at], (counts.get(items[at]) ?? 0) + 1);
  return counts;
}

function isDown(reach: Int32Array, at: number, diagonal: number, edits: number): boolean {
  return diagonal === -edits || (diagonal !== edits && reach[at - 1] < reach[at + 1]);
}

function nextX(reach: Int32Array, at: number, diagonal: number, edits: number): number {
  return isDown(reach, at, diagonal, edits) ? reach[at + 1] : reach[at - 1] + 1;
}

/** The matches on the way back from the end. */
function path(trace: Int32Array[], middle: number, oldStart: number, oldSize: number, newStart: number, newSize: number): Pair[] {
  const pairs: Pair[] = [];
  let [x, y] = [oldSize, newSize];
  for (let edits = trace.length - 1; edits >= 0; edits--) {
    const diagonal = x - y;
    const begun = nextX(trace[edits], middle + diagonal, diagonal, edits);
    while (x > begun) pairs.push([oldStart + --x, newStart + --y]);
    if (edits === 0) break;
    if (isDown(trace[edits], middle + diagonal, diagonal, edits)) y--;
    else x--;
  }
  return pairs;
}
