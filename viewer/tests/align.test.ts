import { expect, test } from "vitest";

import { align, normal, type Pair } from "../src/views/align";
import { numbers } from "./numbers";

/** The length of the longest common subsequence, by the table that every textbook has. */
function common(left: readonly string[], right: readonly string[]): number {
  let row = new Array<number>(right.length + 1).fill(0);
  for (const word of left) {
    const next = [0];
    for (const [at, other] of right.entries()) next.push(word === other ? row[at] + 1 : Math.max(row[at + 1], next[at]));
    row = next;
  }
  return row[right.length];
}

test("an alignment has every entry of both sides once, in order, and pairs only equals", () => {
  const next = numbers(1);
  for (let round = 0; round < 400; round++) {
    const [left, right] = [0, 1].map(() => Array.from({ length: next(14) }, () => "abcd"[next(4)]));
    const pairs = align(left, right) as Pair[];
    expect(pairs.map(([a]) => a).filter((a) => a >= 0)).toEqual([...left.keys()]);
    expect(pairs.map(([, b]) => b).filter((b) => b >= 0)).toEqual([...right.keys()]);
    const both = pairs.filter(([a, b]) => a >= 0 && b >= 0);
    expect(both.every(([a, b]) => left[a] === right[b])).toBe(true);
    expect(both.length, `${left.join("")} ${right.join("")}`).toBe(common(left, right));
  }
});

test("lists that differ in too much are not aligned", () => {
  const list = (letter: string, length: number): string[] => Array.from({ length }, (_, at) => `${letter}${at}`);
  expect(align(list("a", 600), list("b", 600))).toHaveLength(1200);
  expect(align(list("a", 601), list("b", 600))).toBeNull();
  // What both begin and end with is no difference.
  const ends = list("c", 5000);
  expect(align([...ends, "a", ...ends], [...ends, "b", ...ends])).toHaveLength(10_002);
});

test.each([
  ["        add (16|M0)  r4.0<1>:f  r2.0<1;1,0>:f  -r3.0<0;1,0>:f  {I@1}", "        add (16|M0)  r9.0<1>:f  r7.0<1;1,0>:f  -r8.0<0;1,0>:f  {F@2}"],
  ["(W) jmpi L120", "(W)  jmpi  L88"],
  ["mov (8|M0) r1.0<1>:ud 0x10", "mov (8|M0) r2.0<1>:ud 0x20"],
])("registers, tokens and addresses make no difference: %s", (left, right) => {
  expect(normal(left)).toBe(normal(right));
});

test.each([
  ["add (16|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<0;1,0>:f", "add (8|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<0;1,0>:f"],
  ["add (16|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<0;1,0>:f", "add (16|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<1;1,0>:f"],
  ["mov (8|M0) r1.0<1>:ud r2.0<1;1,0>:ud", "mov (8|M0) r1.0<1>:d r2.0<1;1,0>:d"],
])("what an instruction does makes one: %s", (left, right) => {
  expect(normal(left)).not.toBe(normal(right));
});
