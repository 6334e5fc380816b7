import { diff } from "@codemirror/merge";
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
  let next = 0;
  let shift = 0;
  let last = -1;
  for (let line = 0, from = 0; line < before.lines; line++) {
    for (; next < changes.length && changes[next].toA <= from; next++) shift = changes[next].toB - changes[next].toA;
    // A line goes on as the line that its beginning is in now; one whose beginning is gone, as what stands in its place.
    const at = next < changes.length && changes[next].fromA <= from ? changes[next].fromB : from + shift;
    const now = after.lineAt(at).number - 1;
    const { length } = before.line(line + 1);
    if (now > last && !isGone(from, length, changes[next])) {
      former[now] = line;
      last = now;
    }
    from += length + 1;
  }
  const changed = Uint8Array.from(former, (line, now) => Number(line < 0 || before.line(line + 1).text !== after.line(now + 1).text));
  return { former, changed };
}

/** Whether a change takes a whole line away, with its end. */
function isGone(from: number, length: number, change: { fromA: number; toA: number; fromB: number; toB: number } | undefined): boolean {
  return change !== undefined && change.fromA <= from && change.toA > from + length && change.fromB === change.toB;
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
