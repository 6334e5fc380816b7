import { expect, test } from "vitest";

import { pipelinesOf, type Run } from "../src/comparison/pipelines";
import { textChange, withoutNumbers } from "../src/comparison/texts";

function run(title: string, diff: string | null, changed: boolean | null = diff !== null): Run {
  return { pass: `0001-OPT-${title}`, attempt: null, names: [], changed, added: 0, removed: 0, lines: [], diff, missing: null, number: 1, phase: "OPT", title, seconds: null, runs: 1 };
}

test("names that compilers number anew are left out, and what they stand for is not", () => {
  expect(withoutNumbers("  %12 = add i32 %3, 4, !dbg !77")).toBe("% = add i32 %, 4");
  expect(withoutNumbers("mov (M1, 16) V0045(0,0)<1> V0046(0,0)<1;1,0>")).toBe("mov (M1, 16) V(0,0)<1> V(0,0)<1;1,0>");
  expect(withoutNumbers("%light = fmul float %a, 2.0")).not.toBe(withoutNumbers("%light = fmul float %a, 3.0"));
});

test("rows of two texts stand side by side, in their order", () => {
  const { rows, removed, added } = textChange(["%1 = load a", "%2 = add", "ret"], ["%4 = load a", "%5 = mul", "%6 = sub", "ret"]);
  expect(rows).toEqual([[0, 0], [1, 1], [-1, 2], [2, 3]].map(([left, right]) => (left === 1 ? [1, 1] : [left, right])));
  expect([removed, added]).toEqual([1, 2]);
});

test("pipelines part at the first pass with another change, whatever values are called", () => {
  const old = [run("A", "@@ -1 +1 @@\n-%1 = x\n+%2 = y"), run("B", null), run("C", "+%3 = fast")];
  const now = [run("A", "@@ -9 +9 @@\n-%7 = x\n+%8 = y"), run("Only", null), run("B", null), run("C", "+%3 = slow")];
  const { rows, parting, alike, isUncertain } = pipelinesOf(old, now);
  expect(rows.map(({ old: left, now: right }) => [left?.title, right?.title])).toEqual([["A", "A"], [undefined, "Only"], ["B", "B"], ["C", "C"]]);
  expect([parting, alike, isUncertain]).toEqual([3, 1, false]);
});

test("a pass that one side alone has parts them only where it changed something", () => {
  expect(pipelinesOf([run("A", null)], []).parting).toBe(-1);
  expect(pipelinesOf([run("A", "+x")], []).parting).toBe(0);
});

test("what is not known is not said to differ", () => {
  const { parting, isUncertain, rows } = pipelinesOf([run("A", null, null), run("B", "+x")], [run("A", "+x"), run("B", "+y")]);
  expect(rows[0].isSame).toBeNull();
  expect([parting, isUncertain]).toEqual([1, true]);
});
