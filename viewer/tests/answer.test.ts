import { expect, test } from "vitest";

import type { Kernel } from "../src/document/kernel";
import { answerOf } from "../src/frame/answer";
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
