import { expect, test } from "vitest";

import { adviceOf } from "../src/document/advice";
import { Kernel } from "../src/document/kernel";
import { DocumentError } from "../src/document/source";
import { inlined, sample } from "./sample";

const PIECE = { rule: "slow-built-in", sentence: "`sin` at add.cl:3:3 is 3 instructions", line: [0, 3], rows: [1, 1, 1] };

test("advice is of a line, and names its instructions", async () => {
  const { program, chunk } = await sample();
  chunk.advice = [PIECE, { ...PIECE, sentence: "second" }, { ...PIECE, line: null, rows: [4], sentence: "third" }];
  const { advice, advised } = new Kernel(program, 0, chunk);
  expect(advice.map(({ key, rows }) => [key, ...rows])).toEqual([[0, 1, 2, 3], [0, 1, 2, 3], [-1, 4]]);
  expect([...advised]).toEqual([[0, "`sin` at add.cl:3:3 is 3 instructions\nsecond"]]);
});

test("with own lines, advice on a library's line stands at the line that its code is on", async () => {
  const piece = { ...PIECE, line: [1, 7], rows: [2] };
  expect(adviceOf([piece], (await inlined()).code)[0].key).toBe(2);
  expect(adviceOf([piece], (await inlined(true)).code)[0].key).toBe(1);
});

test.each([
  ["advice is no list", null],
  ["advice names no instruction", [{ ...PIECE, rows: [] }]],
  ["advice.rows holds 5", [{ ...PIECE, rows: [5] }]],
  ["advice.line has 1 entries, not 2", [{ ...PIECE, line: [0] }]],
  ["advice.sentence is no text", [{ ...PIECE, sentence: 3 }]],
  ["it has 10001 pieces of advice", new Array(10_001).fill(PIECE)],
])("advice that is damaged: %s", async (words, advice) => {
  const { program, chunk } = await sample();
  chunk.advice = advice;
  expect(() => new Kernel(program, 0, chunk)).toThrow(new DocumentError(`This part of the document is damaged: ${words}.`));
});
