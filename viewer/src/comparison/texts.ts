import { commonPairs } from "./matching";

/** Rows of two texts side by side, -1 where a side has none. */
export interface TextChange {
  rows: (readonly [old: number, now: number])[];
  removed: number;
  added: number;
}

/** What compilers number anew in each text: names of values (%12, %bb.3, V0045), metadata (!34), attributes (#5), and where that
 * stands only for debug data, all of it. */
const NUMBERED = /, !\w+ !\d+|%"?[\w.]*\d[\w.]*|[!#]\d+|\b[VPTS]\d{2,}\b|\b_main_\d+|\bB?B_?\d+_\d+\b/g;

/** A row of a compiler's text without what is numbered anew in each. */
export function withoutNumbers(row: string): string {
  return row.replace(NUMBERED, (name) => (name.startsWith(",") ? "" : name[0])).trim().replace(/\s+/g, " ");
}

/** How two texts differ, by rows; numbered names are not compared. */
export function textChange(old: readonly string[], now: readonly string[]): TextChange {
  const rows: [number, number][] = [];
  let [left, right] = [0, 0];
  const pairs = commonPairs(old.map(withoutNumbers), now.map(withoutNumbers));
  for (const [before, after] of [...pairs, [old.length, now.length] as const]) {
    while (left < before || right < after) rows.push([left < before ? left++ : -1, right < after ? right++ : -1]);
    if (before < old.length) rows.push([left++, right++]);
  }
  return { rows, removed: old.length - pairs.length, added: now.length - pairs.length };
}
