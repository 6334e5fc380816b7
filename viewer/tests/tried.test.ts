import { expect, test } from "vitest";

import { DocumentError } from "../src/document/source";
import type { Choices } from "../src/document/options";
import type { ProgramInfo } from "../src/document/schema";
import { tableOf, triedOf } from "../src/document/tried";
import { isCompiledHere } from "../src/editing/builds";
import { likeOf } from "../src/editing/compiles";
import { mainFile, progressWords } from "../src/editing/trials";
import { sample } from "./sample";

const AS_IT_IS = { simd: 16, grf_count: 128, instructions: 40, cycles: 100, spill_messages: 2, loops: 1 };
const WIDE = { ...AS_IT_IS, simd: 32, instructions: 60, cycles: 150 };
const SAME = { rank: null, is_same_code: true, figures: AS_IT_IS, instructions_per_work_item_ratio: 1, cycles_per_work_item_ratio: 1, note: null };

function change(key: string, changes_results: string | null = null): object {
  return { change: key, title: `the ${key}`, options: "-x", removed: [], changes_results };
}

/** A document as kernlens writes it; each test changes what it is about. */
function written(): Record<string, unknown> {
  return {
    source: "a.cl",
    device: "dg2",
    toolchain: "IGC 1",
    toolchain_name: "system",
    options: "",
    changes: [change("unrolled"), change("second"), change("fast", "less accurate"), change("same"), change("narrow"), change("wide"), change("lost"), change("wrong")],
    kernels: [
      {
        kernel: "add",
        as_it_is: AS_IT_IS,
        tried: [
          { ...SAME, change: "unrolled", is_same_code: false, figures: { ...WIDE, loops: 0 }, instructions_per_work_item_ratio: null, cycles_per_work_item_ratio: null, note: "not comparable: 0 loops, not 1" },
          { ...SAME, change: "second", rank: 2, is_same_code: false, figures: { ...AS_IT_IS, grf_count: 256, cycles: 102 }, cycles_per_work_item_ratio: 1.02, note: "half the threads" },
          { ...SAME, change: "fast", rank: 1, is_same_code: false, figures: WIDE, instructions_per_work_item_ratio: 0.75, cycles_per_work_item_ratio: 0.75 },
          { ...SAME, change: "same" },
          { ...SAME, change: "narrow", note: "no effect" },
          { ...SAME, change: "wide", note: "no effect" },
          { ...SAME, change: "lost", is_same_code: false, figures: null, instructions_per_work_item_ratio: null, cycles_per_work_item_ratio: null, note: "the program has no such kernel then" },
        ],
      },
    ],
    failures: [{ change: "wrong", reason: "a.cl:1: error" }],
  };
}

test("the best is first, then what cannot be compared, then what failed", () => {
  const table = tableOf(triedOf(written()), "add");
  expect(table?.headings).toEqual(["tried", "instrs", "cycles", "SIMD", "GRFs", "spills", "loops", "note"]);
  expect(table?.rows.map(({ title, cells, reason }) => reason ?? (cells.join("|") || title))).toEqual([
    "as it is|2.5|6.2|16|128|2|1|",
    "the fast !|-25.0%|-25.0%|32|128|2|1|",
    "the second|+0.0%|+2.0%|16|256|2|1|half the threads",
    "the unrolled|-|-|32|128|2|0|not comparable: 0 loops, not 1",
    "the program has no such kernel then",
    "a.cl:1: error",
  ]);
  expect(table?.rows.slice(4).map(({ title }) => title)).toEqual(["the lost", "the wrong"]);
  expect(table?.same).toEqual(["same code: the same", "the narrow, the wide: no effect"]);
  expect(table?.legend.at(-1)).toBe("! changes results: the fast: less accurate");
  expect(table?.legend[0]).toMatch(/not time\. Fewer threads/);
  expect(tableOf(triedOf(written()), "constructor")).toBeNull();
});

test("where no cycles are known there is no column of them", () => {
  const document = written();
  document.kernels = [{ kernel: "add", as_it_is: { ...AS_IT_IS, cycles: null, simd: null }, tried: [] }];
  document.failures = [];
  const table = tableOf(triedOf(document), "add");
  expect(table?.headings).not.toContain("cycles");
  expect(table?.rows.map(({ cells }) => cells)).toEqual([["as it is", "-", "-", "128", "2", "1", ""]]);
  expect(table?.legend).toHaveLength(1);
  expect(table?.legend[0]).not.toMatch(/ycles|threads/);
});

test.each([
  ["kernels is no list", { kernels: null }],
  ["figures is no object", { kernels: [{ kernel: "add", as_it_is: null, tried: [] }] }],
  ["reason is no text", { failures: [{ change: "wrong", reason: 3 }] }],
])("an answer that is damaged: %s", (words, change) => {
  expect(() => triedOf({ ...written(), ...change })).toThrow(new DocumentError(`This part of the document is damaged: ${words}.`));
});

test("how far it is", () => {
  expect(progressWords({ event: "queued", configuration: 0, place: 1 })).toBe("waiting");
  expect(progressWords({ event: "queued", configuration: 0, place: 3 })).toBe("waiting behind 2 compiles,");
  expect(progressWords({ event: "started", configuration: 0 })).toBe("compiling");
  expect(progressWords({ event: "stage", configuration: 0, done: 3, of: 7 })).toBe("compiled 3 of 7,");
  expect(progressWords({ event: "alive" })).toBeNull();
});

test("what is compiled is the source itself, not a header or a file without a text", async () => {
  const { program } = await sample();
  const file = (path: string, chunk: string | null): ProgramInfo["files"][number] => ({ path, chunk, missing: null });
  const of = (...files: ProgramInfo["files"]): string | undefined => mainFile({ ...program, files })?.path;
  expect(of(file("a.h", "1"), file("lost.cl", null), file("a.cl", "2"))).toBe("a.cl");
  expect(of(file("a.hpp", "1"))).toBe("a.hpp");
  // What is written in another language is not OpenCL C, whatever a compiler here would make of it.
  expect(["mm.py", "axpy.cu", "x.cpp"].map((path) => of(file("a.cl", "1"), file(path, "2")))).toEqual([undefined, undefined, undefined]);
  expect(of(file("a.cl", null))).toBeUndefined();
});

test("a program is edited if a compiler here is for its device, or a processor ran it", async () => {
  const { program } = await sample();
  const choices: Choices = { devices: [{ name: "dg2", title: "DG2", toolchains: ["system"] }], toolchains: [], options: [] };
  const isFor = (device: string | null): boolean => isCompiledHere({ ...program, device }, choices);
  expect(["dg2", "x86-64", null].map(isFor)).toEqual([true, true, true]);
  expect(["sm_90", "bmg", "gfx942"].map(isFor)).toEqual([false, false, false]);
  expect(isCompiledHere({ ...program, device: "sm_90" }, null)).toBe(true);
});

test("it is compiled for what the program was built for", async () => {
  const { program } = await sample();
  const device = { name: "dg2", title: "DG2", toolchains: ["system", "newest"] };
  const choices: Choices = { devices: [{ ...device, name: "skl" }, device], toolchains: [{ name: "system", versions: "1" }, { name: "newest", versions: "2" }], options: [] };
  const like = likeOf({ ...program, device: "dg2", toolchain: "2", options: null }, choices);
  expect(like).toEqual({ device: "dg2", toolchain: "newest", options: "", all_passes: false });
  expect(likeOf(program, { ...choices, devices: [] })).toBeNull();
});
