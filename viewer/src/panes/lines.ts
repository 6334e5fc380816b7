import { type Change, diff } from "@codemirror/merge";
import { Text } from "@codemirror/state";

/** How the lines of a text are those of another one that it was edited into. All lines count from 0. */
export interface Matched {
  /** For each line after the edit, the line that it was; -1 for one that is new. Ascending, but for those. */
  readonly former: Int32Array;
  /** 1 for each line after the edit whose text is another, or new. */
  readonly changed: Uint8Array;
}

/** Milliseconds after which texts that differ much are compared less exactly. */
const PATIENCE = { timeout: 100 };

export function textOf(text: string): Text {
  return Text.of(text.split("\n"));
}

export function matched(before: Text, after: Text): Matched {
  const former = new Int32Array(after.lines).fill(-1);
  const changes = before.eq(after) ? [] : diff(before.toString(), after.toString(), PATIENCE);
  const [startOf, endOf] = [moved(changes, true), moved(changes, false)];
  const lineAt = (at: number): number => after.lineAt(at).number;
  let last = 0;
  let next = 0;
  for (let line = 1, from = 0; line <= before.lines; line++) {
    const { text, length } = before.line(line);
    // Of the lines that begin alike or end alike, the one with the same text goes on as this one; else where its beginning is.
    const [first, end] = [lineAt(startOf(from)), lineAt(endOf(from + length))];
    const now = [first, end].find((each) => each > last && after.line(each).text === text) ?? first;
    while (next < changes.length && changes[next].toA <= from + length) next++;
    if (now > last && !isGone(from, changes[next])) {
      former[now - 1] = line - 1;
      last = now;
    }
    from += length + 1;
  }
  const changed = Uint8Array.from(former, (line, now) => Number(line < 0 || before.line(line + 1).text !== after.line(now + 1).text));
  return { former, changed };
}

/** Whether a change, the first that ends behind a line, takes all of the line away. */
function isGone(from: number, change: Change | undefined): boolean {
  return change !== undefined && change.fromA <= from && change.fromB === change.toB;
}

/** Where positions are after changes, asked for in ascending order: what was inserted at one is before it if it is a line's
 * beginning, and behind it if it is an end. */
function moved(changes: readonly Change[], isBeginning: boolean): (at: number) => number {
  let next = 0;
  let shift = 0;
  return (at) => {
    const isOver = ({ fromA, toA }: Change): boolean => toA < at || (toA === at && (isBeginning || fromA < at));
    for (; next < changes.length && isOver(changes[next]); next++) shift = changes[next].toB - changes[next].toA;
    const change = changes[next];
    if (change === undefined || change.fromA > at || change.fromA === change.toA) return at + shift;
    return isBeginning || change.fromA === at ? change.fromB : change.toB;
  };
}

/** The lines of a text, from 1, that an edit changed: first and last of each place. Where lines are gone, the one behind them. */
export function places(before: string, after: string): [first: number, last: number][] {
  const [old, now] = [textOf(before), textOf(after)];
  const { former, changed } = matched(old, now);
  const places: [number, number][] = [];
  let expected = 0;
  for (let line = 0; line <= now.lines; line++) {
    const isEnd = line === now.lines;
    const isTouched = !isEnd && changed[line] === 1;
    const at = isEnd ? old.lines : former[line];
    const isBehindGone = at > expected && places.at(-1)?.[1] !== line;
    if (at >= 0) expected = at + 1;
    if (!isTouched && !isBehindGone) continue;
    const number = Math.min(line + 1, now.lines);
    const place = places.at(-1);
    if (place !== undefined && place[1] >= number - 1 && isTouched) place[1] = number;
    else places.push([number, number]);
  }
  return places;
}
