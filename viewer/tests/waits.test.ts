import { expect, test } from "vitest";

import { Kernel } from "../src/document/kernel";
import { DocumentError } from "../src/document/source";
import { operation, Waits } from "../src/document/waits";
import { Shades } from "../src/shades";
import { numbers } from "./numbers";
import { type Chunk, inlined, sample } from "./sample";

const MESSAGE = { words: "", bytes: 64, spill: false, action: "load", memory: "image", operation: "sample" };

test("who waits how long for whom, and by what", async () => {
  const { program, chunk } = await sample();
  const waits = new Kernel(program, 0, chunk).code.waits as Waits;
  expect([...waits.cycles]).toEqual([0, 5, 0, 0, 142]);
  expect([...waits.producer]).toEqual([-1, 0, -1, -1, 2]);
  expect([...waits.start]).toEqual([0, 6, 8, 10, 154]);
  expect([waits.sum, waits.whyOf(4), waits.whyOf(1), waits.whyOf(0)]).toEqual([147, "written", "taken", ""]);
  expect([0, 1, 2].map((row) => [...waits.waiters(row)])).toEqual([[1], [], [4]]);
});

test("a line waits as long as its own instructions do; inherited ones count for none", async () => {
  const { weights, code } = await inlined();
  // Row 1 is of the second line, row 4 of none.
  expect([...weights.waits]).toEqual([0, 5, 0]);
  expect([...weights.depth]).toEqual([1, 1, 1]);
  expect([code.depthOf(0), code.depthOf(4), weights.hasLoops]).toEqual([1, 1, true]);
});

test("those that wait long", () => {
  expect([...waitsOf([[3, 20], [5, 19], [7, 400], [9, 21]]).long]).toEqual([3, 7, 9]);
  expect([...waitsOf([[3, 19]]).long]).toEqual([]);
});

test("waits add up however they lie", () => {
  const next = numbers(7);
  for (let round = 0; round < 50; round++) {
    const pairs = Array.from({ length: 30 }, (_, row): [number, number] => [row + 1, next(40)]).filter(([, cycles]) => cycles > 0);
    const waits = waitsOf(pairs);
    expect(waits.sum).toBe(pairs.reduce((sum, [, cycles]) => sum + cycles, 0));
    expect(pairs.every(([row, cycles]) => waits.cycles[row] === cycles && waits.waiters(row - 1).includes(row))).toBe(true);
  }
});

test("the colour of waits: shares of the kernel's, whoever has no line counted too", async () => {
  const kernel = await inlined();
  const shades = new Shades(kernel, "waits");
  expect([shades.of(0), shades.of(1), shades.figure(1), shades.heading]).toEqual([0, 8, { value: "5", share: "3.4" }, ["waits", "%"]]);
  expect([shades.empty, shades.ranking()]).toEqual([null, [1]]);
});

test("where waits are not known, the reason is said", async () => {
  const { program, chunk } = await sample();
  Object.assign(chunk, { missing: { waits: "waits are unknown on skl: IGC has none" } });
  chunk.code.cycles = null;
  const kernel = new Kernel(program, 0, chunk);
  expect([kernel.code.waits, kernel.weights.waits[0]]).toEqual([null, 0]);
  expect(new Shades(kernel, "waits").empty).toBe("Waits are unknown on skl: IGC has none.");
  expect(new Shades(kernel, "instr").empty).toBeNull();
});

test("who is waited for, in two words", () => {
  expect(operation(MESSAGE, "send")).toBe("image read");
  expect(operation({ ...MESSAGE, action: "store", memory: "slm" }, "send")).toBe("SLM write");
  expect(operation({ ...MESSAGE, action: "atomic", memory: "global" }, "send")).toBe("global atomic");
  expect(operation({ ...MESSAGE, spill: true, memory: "scratch" }, "send")).toBe("spill read");
  expect(operation({ ...MESSAGE, action: null, memory: null, operation: "SLM fence" }, "send")).toBe("SLM fence");
  expect(operation({ ...MESSAGE, action: null, memory: null, operation: "unknown" }, "send")).toBe("message");
  expect(operation({ ...MESSAGE, action: null, memory: null, operation: null }, "send")).toBe("send");
  expect([operation(undefined, "math"), operation(undefined, "math.inv"), operation(undefined, "dpas")]).toEqual(["math", "math", "dpas"]);
});

const DAMAGES: [words: string, damage: (chunk: Chunk) => void][] = [
  ["code.cycles.start has 4 entries, not 5", ({ start }) => start.pop()],
  ["code.cycles.issue has 6 entries, not 5", ({ issue }) => issue.push(1)],
  ["code.cycles.start holds -1", ({ start }) => (start[0] = -1)],
  ["code.cycles.wait.row holds 5", ({ wait }) => (wait.row[1] = 4)],
  ["rows that wait do not ascend", ({ wait }) => (wait.row[1] = 0)],
  ["code.cycles.wait.back holds -1", ({ wait }) => (wait.back[0] = 2)],
  ["code.cycles.wait.cycles holds 0", ({ wait }) => (wait.cycles[0] = 0)],
  ["code.cycles.wait.why holds 2", ({ wait }) => (wait.why[0] = 2)],
];

test.each(DAMAGES)("waits that are damaged: %s", async (words, damage) => {
  const { program, chunk } = await sample();
  damage(chunk.code.cycles);
  expect(() => new Kernel(program, 0, chunk)).toThrow(new DocumentError(`This part of the document is damaged: ${words}.`));
});

/** Waits of rows, each for the row before it. */
function waitsOf(pairs: [row: number, cycles: number][]): Waits {
  const none = new Array<number>(40).fill(0);
  const row = pairs.map(([each], index) => each - (index > 0 ? pairs[index - 1][0] : 0));
  const [back, why] = [pairs.map(() => 1), pairs.map(() => 0)];
  return new Waits({ start: none, issue: none, wait: { row, back, cycles: pairs.map(([, cycles]) => cycles), why, reasons: ["written"] } }, 40);
}
