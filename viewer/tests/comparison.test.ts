import { expect, test } from "vitest";

import { kernelChange, type KernelChange, type Side } from "../src/comparison/changes";
import { Code } from "../src/comparison/forms";
import { commonPairs } from "../src/comparison/matching";
import { SourceLines } from "../src/comparison/source_lines";
import { Kernel, UNCERTAIN } from "../src/document/kernel";
import { percent } from "../src/dom";
import { wordsOf } from "../src/views/compare_lines";
import { numbers } from "./numbers";
import { sample } from "./sample";

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

test("pairs are of equals, in order, all that both begin and end with among them", () => {
  const next = numbers(1);
  const list = (length: number): string[] => Array.from({ length }, () => "abcd"[next(4)]);
  for (let round = 0; round < 400; round++) {
    const [head, tail] = [list(next(4)), list(next(4))];
    const [left, right] = [0, 1].map(() => [...head, ...list(next(14)), ...tail]);
    const pairs = commonPairs(left, right);
    expect(pairs.every(([a, b]) => left[a] === right[b])).toBe(true);
    expect(pairs.every(([a, b], at) => at === 0 || (a > pairs[at - 1][0] && b > pairs[at - 1][1]))).toBe(true);
    expect(pairs.length).toBeLessThanOrEqual(common(left, right));
    expect(pairs.length).toBeGreaterThanOrEqual(head.length + tail.length);
  }
});

test("lists that differ in too much end in time", () => {
  const list = (letter: string, length: number): string[] => Array.from({ length }, (_, at) => `${letter}${at % 300}`);
  expect(commonPairs(list("a", 20_000), list("b", 20_000))).toEqual([]);
  const ends = list("c", 5000);
  expect(commonPairs([...ends, "a", ...ends], [...ends, "b", ...ends])).toHaveLength(10_000);
});

function formsOf(...lines: string[]): readonly string[] {
  return new Code({ lines, offset: new Int32Array(lines.length), size: new Int32Array(lines.length), registers: null }, 32).texts;
}

test.each([
  ["        add (16|M0)  r4.0<1>:f  r2.0<1;1,0>:f  -r3.0<0;1,0>:f  {I@1}", "        add (16|M0)  r9.0<1>:f  r7.0<1;1,0>:f  -r8.0<0;1,0>:f  {F@2}"],
  ["(W) jmpi L120", "(W)  jmpi  L88"],
  ["mov (8|M0) r1.0<1>:ud r2.0<1;1,0>:ud", "mov (8|M0) r1.0<1>:f r2.0<1;1,0>:f"],
])("registers, tokens and addresses make no difference: %s", (left, right) => {
  const [first, second] = formsOf(left, right);
  expect(first).toBe(second);
});

test.each([
  ["add (16|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<0;1,0>:f", "add (8|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<0;1,0>:f"],
  ["add (16|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<0;1,0>:f", "add (16|M0) r4.0<1>:f r2.0<1;1,0>:f r3.0<1;1,0>:f"],
  ["mov (8|M0) r1.0<1>:ud 0x10:ud", "mov (8|M0) r1.0<1>:ud 0x20:ud"],
])("what an instruction does makes one: %s", (left, right) => {
  const [first, second] = formsOf(left, right);
  expect(first).not.toBe(second);
});

test("an inserted line moves the others along, and an edited one stays the same line", () => {
  const file = (path: string, ...lines: string[]): { path: string; text: string } => ({ path, text: lines.join("\n") });
  const lines = new SourceLines([file("/old/a.cl", "a", "b", "c")], [file("/new/a.cl", "new", "a", "B", "c")]);
  expect(lines.oldKey("/old/a.cl", 3)).toEqual({ path: "/new/a.cl", old: 3, new: 4 });
  expect(lines.newKey("/new/a.cl", 3)).toEqual({ path: "/new/a.cl", old: 2, new: 3 });
  expect(lines.editedLines).toEqual([{ path: "/new/a.cl", old: 0, new: 1 }, { path: "/new/a.cl", old: 2, new: 3 }]);
  // Of a file without a text equal numbers are one line.
  expect(lines.oldKey("b.h", 9)).toEqual({ path: "b.h", old: 9, new: 9 });
});

async function side(change: (lines: string[]) => string[]): Promise<Side> {
  const { program, chunk } = await sample();
  chunk.code.text = change(chunk.code.text.split("\n")).join("\n");
  return { kernel: new Kernel(program, 0, chunk), sources: [] };
}

test("a line in which only waits differ is not said to be unchanged", () => {
  const line = (number: number): KernelChange["waiting"][number]["key"] => ({ path: "a.cl", old: number, new: number });
  const change = { isSame: false, lines: [{}], unchanged: 2, waiting: [{ key: line(16), old: 4, new: 6 }], edited: [] } as unknown as KernelChange;
  expect(wordsOf(change, false)).toBe("1 line with code did not change. Only instructions that wait differ in line 16 (4 → 6). Register names, addresses and tokens are not compared.");
  const two = { ...change, waiting: [...change.waiting, { key: line(9), old: 3, new: 2 }] };
  expect(wordsOf(two, true)).toBe("Only instructions that wait differ in lines a.cl:16 (4 → 6), a.cl:9 (3 → 2). Register names, addresses and tokens are not compared.");
});

test("a kernel is the same as itself with other registers, and differs in the line whose operand is another", async () => {
  const old = await side((lines) => lines);
  expect(kernelChange(old, old)).toMatchObject({ isSame: true, lines: [] });
  const row = old.kernel.code.key.findIndex((key, at) => key >= 0 && old.kernel.code.flags[at] === 0);
  const now = await side((lines) => lines.map((line, at) => (at === row ? `${line.replace(/^(\(W\))?\s*[a-z]+/, "xor")}` : line)));
  const change = kernelChange(old, now);
  expect(change.isSame).toBe(false);
  expect(change.lines.some(({ change: what, removed, added }) => what === "instructions" && removed === 1 && added === 1)).toBe(true);
  const changed = change.lines.find(({ change: what, added }) => what === "instructions" && added === 1);
  expect(changed?.certain).toEqual([changed?.old.length, changed?.new.length]);
  now.kernel.code.flags[row] |= UNCERTAIN;
  const doubted = kernelChange(old, now).lines.find(({ change: what, added }) => what === "instructions" && added === 1);
  expect(doubted?.certain).toEqual([changed?.old.length, (changed?.new.length ?? 0) - 1]);
});

test("shares are rounded as Python does it", () => {
  expect([[5, 16], [20, 64], [3, 4], [7, 2000], [1, 3], [0, 9], [1, 0]].map(([part, whole]) => percent(part, whole))).toEqual(["31.2", "31.2", "75.0", "0.3", "33.3", "0.0", "–"]);
  expect([percent(3, 160), percent(11, 160)]).toEqual(["1.9", "6.9"]);
});
