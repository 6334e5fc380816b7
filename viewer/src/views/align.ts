/** Indexes of the two sides that belong together, -1 where one side has nothing. */
export type Pair = readonly [left: number, right: number];

/** More differences than this are not looked through: the time grows with their square. */
const MOST = 1200;

/**
 * The shortest way from one list to the other (Myers, "An O(ND) Difference Algorithm", 1986); null if they differ in more
 * than `MOST` entries.
 */
export function align(left: readonly string[], right: readonly string[]): Pair[] | null {
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) head++;
  let tail = 0;
  while (tail < left.length - head && tail < right.length - head && left[left.length - 1 - tail] === right[right.length - 1 - tail]) tail++;
  const middle = between(left.slice(head, left.length - tail), right.slice(head, right.length - tail));
  if (middle === null) return null;
  const pairs: Pair[] = Array.from({ length: head }, (_, index) => [index, index]);
  for (const [a, b] of middle) pairs.push([a < 0 ? -1 : a + head, b < 0 ? -1 : b + head]);
  for (let index = tail; index > 0; index--) pairs.push([left.length - index, right.length - index]);
  return pairs;
}

function between(left: readonly string[], right: readonly string[]): Pair[] | null {
  const most = Math.min(MOST, left.length + right.length);
  const reach = new Int32Array(2 * most + 3);
  const traces: Int32Array[] = [];
  const middle = most + 1;
  for (let edits = 0; edits <= most; edits++) {
    traces.push(reach.slice(middle - edits - 1, middle + edits + 2));
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = diagonal === -edits || (diagonal !== edits && reach[middle + diagonal - 1] < reach[middle + diagonal + 1]);
      let x = down ? reach[middle + diagonal + 1] : reach[middle + diagonal - 1] + 1;
      let y = x - diagonal;
      while (x < left.length && y < right.length && left[x] === right[y]) {
        x++;
        y++;
      }
      reach[middle + diagonal] = x;
      if (x >= left.length && y >= right.length) return walk(traces, left.length, right.length);
    }
  }
  return left.length + right.length === 0 ? [] : null;
}

/** The way back, from the end to the beginning. `traces` has the reaches before each round, from diagonal -(round + 1) on. */
function walk(traces: Int32Array[], x: number, y: number): Pair[] {
  const pairs: Pair[] = [];
  for (let edits = traces.length - 1; edits >= 0; edits--) {
    const reach = (diagonal: number): number => traces[edits][diagonal + edits + 1];
    const diagonal = x - y;
    const down = diagonal === -edits || (diagonal !== edits && reach(diagonal - 1) < reach(diagonal + 1));
    const before = down ? diagonal + 1 : diagonal - 1;
    const startX = edits === 0 ? 0 : reach(before);
    const startY = startX - before;
    while (x > startX && y > (edits === 0 ? 0 : startY)) {
      if (edits > 0 && x - (down ? 0 : 1) <= startX && y - (down ? 1 : 0) <= startY) break;
      pairs.push([--x, --y]);
    }
    if (edits === 0) break;
    if (down) pairs.push([-1, --y]);
    else pairs.push([--x, -1]);
  }
  return pairs.reverse();
}

/** What an instruction does, without what a compiler names otherwise each time: registers, tokens, addresses. */
export function normal(line: string): string {
  return line
    .replace(/\{[^{}]*\}\s*$/, "")
    .replace(/\/\/.*$/, "")
    .replace(/\b(r|a|f|acc|s)\d+(\.\d+)?/g, "$1")
    .replace(/\b(?:_?L_?|label)\d+\b|-?\b0x[0-9a-f]+\b(?=\s*$)/gi, "@")
    .replace(/\s+/g, " ")
    .trim();
}
