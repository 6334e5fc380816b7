import { expect, test } from "vitest";

import type { Kernel } from "../src/document/kernel";
import { answerOf, unanswered } from "../src/frame/answer";
import { inlined } from "./sample";

/** A kernel whose lines 3, 5 and 7 of two files have these figures. */
async function kernel(instructions: number[], spills: number[]): Promise<Kernel> {
  const built = await inlined();
  built.weights.instructions.set(instructions);
  built.weights.spills.set(spills);
  return built;
}

test("of a kernel that spills nothing it is the line with the most instructions, of equal ones the first", async () => {
  expect(answerOf(await kernel([1, 3, 3], [0, 0, 0]))).toEqual({ key: 1, sentence: "Line 5 has 3 of the 5 instructions in the line table: no line has more." });
});

test("of one that spills it is the line whose values hold most registers at the peak", async () => {
  const spilling = await kernel([4, 0, 0], [0, 0, 64]);
  const { peak } = spilling.code;
  if (peak === null) throw new Error("the sample has a peak");
  peak.held = [{ line: [0, 5], origin: null, registers: Int32Array.of(2, 3) }, { line: null, origin: "arguments", registers: Int32Array.of(4, 5, 6) }];
  expect(answerOf(spilling)).toEqual({ key: 1, sentence: "Registers spill: line 5 holds 2 of the 5 registers live at the peak, 0 for certain." });
  // Arguments alone are no line.
  peak.held = peak.held.slice(1);
  expect(answerOf(spilling)).toEqual({ key: 2, sentence: "Registers spill: line 7 moves 64 of the 64 bytes to memory and back." });
});

test("without lines there is no answer", async () => {
  expect(answerOf(await kernel([0, 0, 0], [0, 0, 0]))).toBeNull();
});

test("what fills the code up behind its end is the cost of no line", async () => {
  const padded = await kernel([3, 3, 9], [0, 0, 0]);
  const [last] = padded.code.of(1).slice(-1);
  padded.weights.instructions.set([2, 3, 0]);
  expect(answerOf(padded)?.sentence).toContain("Line 5 has 3 of the");
  const opcode = padded.code.opcode.bind(padded.code);
  padded.code.opcode = (row) => (row >= last ? "NOP" : opcode(row));
  const { sentence } = answerOf(padded) ?? { sentence: "" };
  expect(sentence).toContain("Line 3 has 2 of the");
  const words = padded.code.count - last === 1 ? "1 instruction that fills" : `${padded.code.count - last} instructions that fill`;
  expect(sentence).toContain(`: no line has more, but for the ${words} the code up behind its end.`);
});

test("without an answer it is said why, with what to do", async () => {
  const built = await kernel([0, 0, 0], [0, 0, 0]);
  built.missing.lines = "the program was built without debug data; build with -g to get one";
  expect(unanswered(built)).toBe("Which line costs most is not known: the program was built without debug data; build with -g to get one.");
  expect(unanswered(await kernel([1, 3, 3], [0, 0, 0]))).toBeNull();
});
