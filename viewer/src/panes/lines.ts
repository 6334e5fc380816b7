import { Chunk } from "@codemirror/merge";
import { Text } from "@codemirror/state";

/** How the lines of a text are those of another one that it was edited into. All lines count from 0. */
export interface Matched {
  /** For each line after the edit, the line that it was; -1 for one that is new. */
  readonly former: Int32Array;
  /** 1 for each line after the edit whose text is another, or new. */
  readonly changed: Uint8Array;
}

/** Milliseconds after which texts that differ much are compared less exactly. */
const PATIENCE = { timeout: 100 };

/** Ranges of lines, from the first of them to the one behind the last, on both sides; each side may be empty. */
interface Range {
  fromA: number;
  toA: number;
  fromB: number;
  toB: number;
  chunk: Chunk;
}

export function textOf(text: string): Text {
  return Text.of(text.split("\n"));
}

export function matched(before: Text, after: Text): Matched {
  const former = new Int32Array(after.lines).fill(-1);
  const changed = new Uint8Array(after.lines);
  let a = 0;
  let b = 0;
  for (const range of rangesOf(before, after)) {
    while (b < range.fromB) former[b++] = a++;
    changed.fill(1, range.fromB, range.toB);
    pair(before, after, range, former);
    a = range.toA;
    b = range.toB;
  }
  while (b < after.lines) former[b++] = a++;
  return { former, changed };
}

/** The lines of a text, from 1, that an edit changed: first and last of each place. */
export function places(before: string, after: string): [first: number, last: number][] {
  return rangesOf(textOf(before), textOf(after)).map(({ fromB, toB }) => [fromB + 1, Math.max(fromB + 1, toB)]);
}

function rangesOf(before: Text, after: Text): Range[] {
  if (before.eq(after)) return [];
  return Chunk.build(before, after, PATIENCE).map((chunk) => {
    const [fromA, toA] = span(before, chunk.fromA, chunk.toA, chunk.endA);
    const [fromB, toB] = span(after, chunk.fromB, chunk.toB, chunk.endB);
    return { fromA, toA, fromB, toB, chunk };
  });
}

function span(text: Text, from: number, to: number, end: number): [number, number] {
  if (from > text.length) return [text.lines, text.lines];
  const first = text.lineAt(from).number - 1;
  return [first, from === to ? first : text.lineAt(end).number];
}

/** Lines that were changed go on as the line that their beginning is in now, unless that is another's already. */
function pair(before: Text, after: Text, { fromA, toA, fromB, toB, chunk }: Range, former: Int32Array): void {
  for (let line = fromA; line < toA; line++) {
    const at = chunk.fromB + moved(before.line(line + 1).from - chunk.fromA, chunk);
    if (at > after.length) continue;
    const now = after.lineAt(at).number - 1;
    if (now >= fromB && now < toB && former[now] < 0) former[now] = line;
  }
}

/** Where a position of a chunk is after the edit. */
function moved(at: number, { changes }: Chunk): number {
  let shift = 0;
  for (const { fromA, toA, fromB, toB } of changes) {
    if (toA <= at) shift = toB - toA;
    else if (fromA <= at) return fromB;
    else break;
  }
  return at + shift;
}
