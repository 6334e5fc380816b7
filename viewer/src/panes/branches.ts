/** Where branches are drawn: lanes beside the addresses, in which no two of them meet. */

export const LANES = 4;

interface Branch {
  /** Editor lines, `top` the smaller; `from` is the branch, `to` where it goes. */
  top: number;
  bottom: number;
  from: number;
  to: number;
}

export class Branches {
  /** How many lanes hold a branch. */
  readonly used: number;
  private readonly lanes: Branch[][] = [];

  /** Short ones get the inner lanes; what finds none free is not drawn (its label still goes there). */
  constructor(pairs: Iterable<[from: number, to: number]>) {
    const branches = Array.from(pairs, ([from, to]) => ({ from, to, top: Math.min(from, to), bottom: Math.max(from, to) }));
    branches.sort((left, right) => left.bottom - left.top - (right.bottom - right.top));
    for (let lane = 0; lane < LANES; lane++) this.lanes.push([]);
    for (const branch of branches) {
      const free = this.lanes.find((lane) => lane.every(({ top, bottom }) => branch.bottom < top || branch.top > bottom));
      free?.push(branch);
    }
    for (const lane of this.lanes) lane.sort((left, right) => left.top - right.top);
    this.used = this.lanes.filter((lane) => lane.length > 0).length;
  }

  /** A letter per lane, outermost first: passes, starts or ends here, going (d)own or (u)p; a blank for none. */
  at(line: number): string {
    let text = "";
    for (let lane = this.used - 1; lane >= 0; lane--) {
      const branches = this.lanes[lane];
      let low = 0;
      let high = branches.length;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (branches[middle].bottom < line) low = middle + 1;
        else high = middle;
      }
      const branch = branches[low];
      text += branch === undefined || branch.top > line ? " " : letter(branch, line);
    }
    return text;
  }
}

/** `|` passes; `a` and `b` are the upper and lower end without a head, `A` and `B` those with one. */
function letter({ top, bottom, to }: Branch, line: number): string {
  if (line === top) return to === line ? "A" : "a";
  if (line === bottom) return to === line ? "B" : "b";
  return "|";
}
