/** Where branches are drawn: lanes beside the addresses, in which no two of them meet. */

export const LANES = 4;

interface Branch {
  /** Editor lines, `top` the smaller; `from` is the branch, `to` where it goes. */
  top: number;
  bottom: number;
  from: number;
  to: number;
}

/** More are not drawn: nobody could tell them apart, and their lanes would be looked through for seconds. */
const MOST = 20_000;

export class Branches {
  /** How many lanes hold a branch. */
  readonly used: number;
  /** Branches of one lane meet nowhere, and ascend. */
  private readonly lanes: Branch[][] = [];

  /** Short ones get the inner lanes; what finds none free is not drawn (its label still goes there). */
  constructor(pairs: Iterable<[from: number, to: number]>) {
    const branches = Array.from(pairs, ([from, to]) => ({ from, to, top: Math.min(from, to), bottom: Math.max(from, to) }));
    branches.sort((left, right) => left.bottom - left.top - (right.bottom - right.top));
    for (let lane = 0; lane < LANES; lane++) this.lanes.push([]);
    for (const branch of branches.slice(0, MOST)) {
      for (const lane of this.lanes) {
        const at = firstFrom(lane, branch.top);
        if (lane[at] !== undefined && lane[at].top <= branch.bottom) continue;
        lane.splice(at, 0, branch);
        break;
      }
    }
    this.used = this.lanes.filter((lane) => lane.length > 0).length;
  }

  /** A letter per lane, outermost first: passes, starts or ends here, going (d)own or (u)p; a blank for none. */
  at(line: number): string {
    let text = "";
    for (let lane = this.used - 1; lane >= 0; lane--) {
      const branch = this.lanes[lane][firstFrom(this.lanes[lane], line)];
      text += branch === undefined || branch.top > line ? " " : letter(branch, line);
    }
    return text;
  }
}

/** The first branch of a lane that does not end above a line. */
function firstFrom(lane: readonly Branch[], line: number): number {
  let low = 0;
  let high = lane.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane[middle].bottom < line) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `|` passes; `a` and `b` are the upper and lower end without a head, `A` and `B` those with one. */
function letter({ top, bottom, to }: Branch, line: number): string {
  if (line === top) return to === line ? "A" : "a";
  if (line === bottom) return to === line ? "B" : "b";
  return "|";
}
