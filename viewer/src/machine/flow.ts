/** The blocks of a kernel as an outline: lines in the order of their addresses, indented by loops, and jumps between them. */

/** What is known of where control goes. */
export interface Control {
  /** First rows of straight code, ascending. */
  firsts: ArrayLike<number>;
  /** The rows that lanes go to from a row, besides on to the next. */
  jumps: ReadonlyMap<number, readonly number[]>;
  /** The innermost loop of each block (-1: none), and the loop around each loop. */
  loopOf: ArrayLike<number>;
  parent: ArrayLike<number>;
}

/** A branch from a block to another, or to itself. What falls through to the next block is none. */
export interface Jump {
  from: number;
  to: number;
}

export interface Line {
  /** The first block that it stands for. */
  block: number;
  /** How many loops the line is in. */
  depth: number;
  /** The loop whose first block this is, -1 for none: the outermost, if several begin here. */
  loop: number;
  /** All blocks that it stands for: more than its own where the loop is folded. */
  blocks: number[];
}

export class Flow {
  readonly jumps: Jump[] = [];
  /** All blocks of each loop, those of the loops inside it too, ascending. */
  readonly blocksOf: number[][];
  /** Loops around each block, the outermost first. */
  private readonly around: number[][] = [];

  constructor(private readonly control: Control) {
    const { firsts, jumps, parent, loopOf } = control;
    const blockOf = new Map(Array.from(firsts, (row, block) => [row, block]));
    const seen = new Set<string>();
    for (const [row, rows] of jumps) {
      const from = this.holding(row);
      for (const target of rows) {
        const to = blockOf.get(target);
        if (to === undefined || (to === from + 1 && target === row + 1) || seen.has(`${from} ${to}`)) continue;
        seen.add(`${from} ${to}`);
        this.jumps.push({ from, to });
      }
    }
    this.blocksOf = Array.from(parent, () => []);
    for (let block = 0; block < firsts.length; block++) {
      const loops: number[] = [];
      for (let loop = loopOf[block]; loop >= 0; loop = parent[loop]) loops.unshift(loop);
      for (const loop of loops) this.blocksOf[loop].push(block);
      this.around.push(loops);
    }
  }

  get loops(): number {
    return this.blocksOf.length;
  }

  /** The block that a row is in. */
  holding(row: number): number {
    const { firsts } = this.control;
    let [low, high] = [0, firsts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (firsts[middle] <= row) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  /** The lines of the outline, with these loops folded: a folded loop is a line where its first block is. */
  lines(folded: ReadonlySet<number>): Line[] {
    const lines: Line[] = [];
    this.around.forEach((loops, block) => {
      const outer = loops.find((loop) => folded.has(loop));
      const begins = (loop: number): boolean => this.blocksOf[loop][0] === block;
      if (outer !== undefined) {
        if (begins(outer)) lines.push({ block, depth: loops.indexOf(outer) + 1, loop: loops.find(begins) ?? outer, blocks: this.blocksOf[outer] });
      } else {
        lines.push({ block, depth: loops.length, loop: loops.find(begins) ?? -1, blocks: [block] });
      }
    });
    return lines;
  }
}

/** A jump between lines of the outline, and the lane that it is drawn in: 0 is the nearest to the text. */
export interface Drawn extends Jump {
  lane: number;
}

/** More are not drawn: nobody could tell them apart. */
const MOST = 20_000;

/** The jumps between lines, each in a lane in which it meets no other while there are `lanes` of them; what is left shares the last. */
export function drawn(jumps: readonly Jump[], lines: readonly Line[], lanes: number): Drawn[] {
  const lineOf = new Map(lines.flatMap(({ blocks }, line) => blocks.map((block) => [block, line])));
  const seen = new Set<string>();
  const between: Jump[] = [];
  for (const jump of jumps) {
    const from = lineOf.get(jump.from) ?? -1;
    const to = lineOf.get(jump.to) ?? -1;
    const isInside = from === to && lines[from]?.blocks.length > 1;
    if (isInside || seen.has(`${from} ${to}`)) continue;
    seen.add(`${from} ${to}`);
    between.push({ from, to });
  }
  between.sort((left, right) => Math.abs(left.to - left.from) - Math.abs(right.to - right.from));
  const used: Occupied[] = Array.from({ length: lanes }, () => new Occupied());
  return between.slice(0, MOST).map((jump) => {
    // It leaves below the middle of a line, and arrives above that of another.
    const ends = [2 * jump.from + 1, 2 * jump.to];
    const at = used.findIndex((lane) => lane.take(Math.min(...ends), Math.max(...ends)));
    return { ...jump, lane: at < 0 ? lanes - 1 : at };
  });
}

/** Spans of one lane that meet nowhere, ascending. */
class Occupied {
  private readonly spans: [top: number, bottom: number][] = [];

  /** Takes a span if nothing is there yet. */
  take(top: number, bottom: number): boolean {
    let [low, high] = [0, this.spans.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.spans[middle][1] < top) low = middle + 1;
      else high = middle;
    }
    if (this.spans[low] !== undefined && this.spans[low][0] <= bottom) return false;
    this.spans.splice(low, 0, [top, bottom]);
    return true;
  }
}
