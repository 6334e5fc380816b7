import { expect, test } from "vitest";

import { drawn, Flow, type Line } from "../src/machine/flow";
import { numbers } from "./numbers";

/** Six blocks of ten rows; 1 to 4 are a loop, 2 and 3 one inside it. */
function flow(): Flow {
  return new Flow({
    firsts: [0, 10, 20, 30, 40, 50],
    jumps: new Map([[9, [50]], [19, [20, 40]], [39, [20, 40]], [49, [10]]]),
    loopOf: [-1, 0, 1, 1, 0, -1],
    parent: [-1, 0],
  });
}

test("jumps are what does not fall through", () => {
  expect(flow().jumps).toEqual([
    { from: 0, to: 5 },
    { from: 1, to: 4 },
    { from: 3, to: 2 },
    { from: 4, to: 1 },
  ]);
});

test("lines in the order of addresses, indented by loops", () => {
  const lines = flow().lines(new Set());
  expect(lines.map(({ block, depth, loop }) => [block, depth, loop])).toEqual([[0, 0, -1], [1, 1, 0], [2, 2, 1], [3, 2, -1], [4, 1, -1], [5, 0, -1]]);
  expect(flow().blocksOf).toEqual([[1, 2, 3, 4], [2, 3]]);
});

test("a folded loop is one line, with all of its blocks", () => {
  const inner = flow().lines(new Set([1]));
  expect(inner.map(({ block, blocks }) => [block, blocks.length])).toEqual([[0, 1], [1, 1], [2, 2], [4, 1], [5, 1]]);
  const outer = flow().lines(new Set([0, 1]));
  expect(outer.map(({ blocks, loop, depth }) => [blocks, loop, depth])).toEqual([[[0], -1, 0], [[1, 2, 3, 4], 0, 1], [[5], -1, 0]]);
  // What goes on within a folded loop is not drawn.
  expect(drawn(flow().jumps, outer, 7)).toEqual([{ from: 0, to: 2, lane: 0 }]);
});

test("a loop whose blocks lie apart is folded into its first one", () => {
  const apart = new Flow({ firsts: [0, 1, 2, 3], jumps: new Map([[1, [3]], [3, [1]]]), loopOf: [-1, 0, -1, 0], parent: [-1] });
  expect(apart.lines(new Set([0])).map(({ blocks }) => blocks)).toEqual([[0], [1, 3], [2]]);
});

test("jumps of one lane meet nowhere, and what is left shares the last", () => {
  const next = numbers(3);
  const lines: Line[] = Array.from({ length: 60 }, (_, block) => ({ block, depth: 0, loop: -1, blocks: [block] }));
  for (let round = 0; round < 30; round++) {
    const jumps = Array.from({ length: 40 }, () => ({ from: next(60), to: next(60) })).filter(({ from, to }, at, all) => all.findIndex((other) => other.from === from && other.to === to) === at);
    const lanes = drawn(jumps, lines, 7);
    expect(lanes).toHaveLength(jumps.length);
    const span = ({ from, to }: { from: number; to: number }): [number, number] => [Math.min(2 * from + 1, 2 * to), Math.max(2 * from + 1, 2 * to)];
    for (let lane = 0; lane < 6; lane++) {
      const spans = lanes.filter((each) => each.lane === lane).map(span).sort(([left], [right]) => left - right);
      expect(spans.every(([top], at) => at === 0 || top > spans[at - 1][1])).toBe(true);
    }
    expect(lanes.every(({ lane }) => lane >= 0 && lane < 7)).toBe(true);
  }
});
