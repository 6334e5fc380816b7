import { expect, test } from "vitest";

import { Kernel } from "../src/document/kernel";
import type { Samples } from "../src/document/samples";
import { DocumentError } from "../src/document/source";
import { Shades } from "../src/shades";
import { type Chunk, sample } from "./sample";

const SAMPLES = {
  profiler: "unitrace",
  devices: [0],
  total: 3_000_000_107,
  reasons: [{ name: "Active", stall: false }, { name: "SbidStall", stall: true }],
  rows: { row: [1, 3], counts: [[100, 7], [0, 3_000_000_000]] },
  blamed: { row: [4, 0], back: [2, 4], samples: [2_000_000_000, 1_000_000_000] },
  unblamed: 7,
  unplaced: { offset: [8], samples: [5] },
};

/** The sample's kernel with samples; rows 1 and 4 of its five instructions have some. */
async function sampled(damage: (samples: Chunk) => void = () => {}): Promise<Kernel> {
  const { program, chunk } = await sample();
  const samples = structuredClone(SAMPLES) as Chunk;
  damage(samples);
  chunk.code.samples = samples;
  return new Kernel(program, 0, chunk);
}

test("samples by row, by line and by reason", async () => {
  const { code, weights } = await sampled();
  const samples = code.samples as Samples;
  expect([...samples.sums]).toEqual([0, 107, 0, 0, 3_000_000_000]);
  expect([samples.total, samples.unplaced, samples.profiler]).toEqual([3_000_000_107, 5, "unitrace"]);
  expect(samples.byReason([1, 4]).map(([{ name }, sum]) => [name, sum])).toEqual([["SbidStall", 3_000_000_007], ["Active", 100]]);
  expect(samples.byReason([0])).toEqual([]);
  expect([...weights.samples]).toEqual([3_000_000_107]);
});

test("waits that were sampled are laid on those that were waited for", async () => {
  const samples = (await sampled()).code.samples as Samples;
  expect(samples.producers(4)).toEqual([[2, 2_000_000_000], [0, 1_000_000_000]]);
  expect([samples.waiters(0), samples.waiters(2), samples.waiters(4)]).toEqual([[[4, 1_000_000_000]], [[4, 2_000_000_000]], []]);
});

test("the colour of samples", async () => {
  const shades = new Shades(await sampled(), "samples");
  expect([shades.of(0), shades.figure(0).share, shades.heading, shades.empty]).toEqual([8, "100.0", ["samples", "%"], null]);
  const { program, chunk } = await sample();
  expect(new Shades(new Kernel(program, 0, chunk), "samples").empty).toBe("There are no samples of this kernel: --samples FILE reads them.");
});

const DAMAGES: [words: string, damage: (samples: Chunk) => void][] = [
  ["code.samples.rows.row holds 5", ({ rows }) => (rows.row[1] = 4)],
  ["code.samples.rows.row has 2 entries, not 1", ({ rows }) => rows.counts.pop()],
  ["code.samples.rows.counts has 1 entries, not 2", ({ rows }) => rows.counts[0].pop()],
  ["code.samples.rows.counts holds -1", ({ rows }) => (rows.counts[0][0] = -1)],
  ["code.samples.rows.counts holds 10000000000000000", ({ rows }) => (rows.counts[0][0] = 1e16)],
  ["code.samples.blamed.back names no row", ({ blamed }) => (blamed.back[0] = 5)],
  ["its samples have 101 reasons", (samples) => (samples.reasons = new Array(101).fill(samples.reasons[0]))],
  ["code.samples.reasons is no text", ({ reasons }) => (reasons[0].name = 1)],
];

test.each(DAMAGES)("samples that are damaged: %s", async (words, damage) => {
  await expect(sampled(damage)).rejects.toThrow(new DocumentError(`This part of the document is damaged: ${words}.`));
});
