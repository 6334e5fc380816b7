import { expect, test } from "vitest";
import { type Count, Counts, sentences } from "../src/counts";

const count = (change: Partial<Count>): Count => ({ line: 1, kernel: "blur", instructions: 13, wait_cycles: 203, device: "dg2", ...change });
const words = (...changes: Partial<Count>[]): string[] => sentences(changes.map(count)).map((sentence) => sentence.words);

test("a line of one kernel", () => {
  expect(words({})).toEqual(["13 instructions · waits 203 cycles"]);
  expect(words({ instructions: 1, wait_cycles: 0 })).toEqual(["1 instruction"]);
  expect(words({ instructions: 1234, wait_cycles: null })).toEqual(["1,234 instructions"]);
});

test("a line of several kernels, or devices, names them", () => {
  expect(words({}, { kernel: "mix", wait_cycles: null })).toEqual(["blur: 13 instructions · waits 203 cycles", "mix: 13 instructions"]);
  expect(words({}, { device: "bmg", wait_cycles: 0 })).toEqual(["dg2: 13 instructions · waits 203 cycles", "bmg: 13 instructions"]);
  expect(words({}, { kernel: "mix" }, { kernel: "mix", device: null })[2]).toBe("mix ?: 13 instructions · waits 203 cycles");
});

test("of many kernels the sum, and the costliest to go to", () => {
  const many = [1, 2, 90, 3].map((instructions, at) => count({ kernel: `k${at}`, instructions }));
  expect(sentences(many)).toEqual([{ words: "96 instructions in 4 kernels", count: many[2] }]);
});

test("figures move along with an edit", () => {
  const lines = (first: number, last: number, added: number): number[] => {
    const counts = Counts.of([1, 5, 6, 9].map((line) => count({ line })));
    counts.edit(first, last, added);
    return [...counts.lines];
  };
  expect(lines(5, 5, 0)).toEqual([1, 5, 6, 9]);
  expect(lines(5, 5, 2)).toEqual([1, 5, 8, 11]);
  expect(lines(4, 6, 0)).toEqual([1, 7]);
  expect(lines(1, 9, 0)).toEqual([1]);
});
