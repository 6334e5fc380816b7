import { expect, test } from "vitest";

import { decode85 } from "../src/document/base85";
import { group, lastAtMost, nearest, rowsOf } from "../src/document/csr";
import { FROM_STAGE, INHERITED, Kernel, LOST, PROLOGUE, UNCERTAIN } from "../src/document/kernel";
import { withoutLines } from "../src/document/options";
import { coverageWords } from "../src/frame/status";
import { Places } from "../src/document/places";
import { readIndex, readPasses, readTable, readText } from "../src/document/read";
import { ReportSource } from "../src/document/report";
import { DocumentError, Kept, sentenceOf } from "../src/document/source";
import { unpack } from "../src/document/unpack";
import { numbers } from "./numbers";
import { type Chunk, inlined, pageOf, sample } from "./sample";

async function packed(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// --- a report

test("a report that kernlens wrote is read", async () => {
  const source = new ReportSource(pageOf());
  const index = await source.index();
  expect(index.title).toBe("add.klens");
  const [program] = index.programs;
  expect(program).toMatchObject({ name: "add", device: "dg2", ok: true, edited: false, files: [{ path: "add.cl", missing: null }] });
  expect(program.kernels).toMatchObject({ name: ["add"], simd: [16], instructions: [5] });
  expect(program.kernels.figures.get("memory")).toEqual([null]);
  expect(readText(await source.chunk(program.files[0].chunk as string))).toContain("a[0] += 1;");
  const kernel = new Kernel(program, 0, await source.chunk(program.kernels.chunk[0]));
  expect(kernel.code.count).toBe(5);
  expect(kernel.code.lines[1].trim()).toMatch(/^add \(16\|M0\)/);
  expect(kernel.code.offset).toEqual(Int32Array.of(0, 16, 32, 48, 64));
  expect(kernel.coverage).toEqual({ own: 5, uncertain: 0, prologue: 0, bare: 0, inherited: 0, none: 0 });
  expect(kernel.weights.memory).toEqual(Float64Array.of(64));
  expect(kernel.stages.map(({ name, lines }) => [name, lines.length])).toEqual([["llvm-codegen", 3]]);
});

test("a chunk that is asked for twice is read once", async () => {
  const source = new ReportSource(pageOf());
  const [program] = (await source.index()).programs;
  const [id] = program.kernels.chunk;
  expect(source.chunk(id)).toBe(source.chunk(id));
  await expect(source.chunk("0".repeat(16))).rejects.toThrow("This report was written without this part.");
});

test("a page without a document says so", async () => {
  await expect(new ReportSource(pageOf("")).index()).rejects.toThrow('its block "index" is missing');
});

test("base 85: every four bytes, white space between digits, and what is no digit", () => {
  expect(decode85("00000 0|h+,\n|NsC05;RtL")).toEqual(Uint8Array.of(0, 0, 0, 0, 3, 5, 0x3d, 4, 255, 255, 255, 255, 0x12, 0x34, 0x56, 0x78));
  for (const wrong of ["0000<", "0000é", "0000"]) expect(() => decode85(wrong)).toThrow(DocumentError);
});

test("what is packed is unpacked, however many pieces it comes in", async () => {
  expect(await unpack(await packed('{"größe": [1]}'))).toEqual({ größe: [1] });
  const long = { text: "äöü".repeat(100_000), random: Array.from({ length: 50_000 }, Math.random) };
  expect(await unpack(await packed(JSON.stringify(long)))).toEqual(long);
  const [first, second] = ['{"größe": 1}', JSON.stringify(long)].map((each) => new TextEncoder().encode(each));
  const both = await packed('{"größe": 1}' + JSON.stringify(long));
  expect(await unpack(both, undefined, { start: 0, size: first.length })).toEqual({ größe: 1 });
  expect(await unpack(both, undefined, { start: first.length, size: second.length })).toEqual(long);
  await expect(unpack(both, undefined, { start: first.length + second.length, size: 3 })).rejects.toThrow("it is no JSON");
});

test.each([
  ["is damaged", Uint8Array.of(1, 2, 3, 4, 5, 6, 7)],
  ["is damaged", new Uint8Array(0)],
  ["is damaged", (await packed("[1, 2, 3]")).subarray(0, 5)],
  ["it is no JSON", await packed("{")],
  ["has more than 4 bytes: more than is shown", await packed("[1,2]")],
])("what is packed and wrong %s", async (words, frame) => {
  await expect(unpack(frame, words.includes("more") ? 4 : undefined)).rejects.toThrow(words);
  await expect(unpack(frame, words.includes("more") ? 4 : undefined)).rejects.toThrow(DocumentError);
});

// --- indexes and small chunks

const INDEX = { schema: 2, title: "t", opcodes: { add: "adds" }, figures: [{ key: "simd", heading: "SIMD" }], programs: [], chunks: {} };

test("an index of another schema is not read", () => {
  expect(() => readIndex({ ...INDEX, schema: 3 })).toThrow("This document is of schema 3, and this page reads schema 2.");
  expect(readIndex(INDEX)).toMatchObject({ title: "t", opcodes: new Map([["add", "adds"]]), programs: [] });
});

test.each([null, [], { ...INDEX, title: 1 }, { ...INDEX, programs: {} }, { ...INDEX, chunks: { a: { offset: -1 } } }, { ...INDEX, opcodes: { add: null } }])("an index that is damaged is not read: %j", (index) => {
  expect(() => readIndex(index)).toThrow(DocumentError);
});

test("a program that is damaged stands among the others as one that failed", () => {
  const { programs } = readIndex({ ...INDEX, programs: [{ id: "a", name: 3 }] });
  expect(programs).toMatchObject([{ name: "program 1", ok: false, reason: "This part of the document is damaged: name is no text.", files: [] }]);
});

test("names of a document are never those of JavaScript's objects", () => {
  const { opcodes } = readIndex(INDEX);
  expect(opcodes.get("constructor")).toBeUndefined();
  expect(readTable({ stages: [{ stage: "llvm", text: "!0" }] }, "constructor")).toBe("");
  expect(readTable({ stages: [{ stage: "llvm", text: "!0" }] }, "llvm")).toBe("!0");
});

test("passes are read", () => {
  const pass = { pass: "licm", names: ["licm"], attempt: 1, changed: null, added: 2, lines: [[0, 7]], diff: null };
  const chunk = { files: ["a.cl"], passes: [pass], times: { "OPT-licm": 0.25 } };
  const read = { ...pass, lines: [{ path: "a.cl", line: 7 }], removed: 0, missing: null };
  expect(readPasses(chunk)).toEqual({ passes: [read], times: new Map([["OPT-licm", 0.25]]), no_times: null, missing: null });
  expect(() => readPasses({ ...chunk, passes: [{ ...pass, added: "2" }] })).toThrow("passes is no number");
  expect(() => readPasses({ ...chunk, files: [] })).toThrow("passes holds 0");
});

test("options that nobody chose are left out", () => {
  expect(withoutLines("  -gline-tables-only -DA=1   -O0 ")).toBe("-DA=1 -O0");
});

test("the newest answers stay, and what failed is asked for again", async () => {
  const cache = new Kept<number>(2);
  let asked = 0;
  const next = async (): Promise<number> => ++asked;
  for (const key of ["a", "b", "a", "c", "a", "b"]) await cache.get(key, next);
  expect(asked).toBe(4); // a, b, c, and b again
  const failing = new Kept<number>(2);
  await expect(failing.get("a", () => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  expect(await failing.get("a", async () => 7)).toBe(7);
});

test("a failure says what to do next where that is known", () => {
  expect(sentenceOf(new DocumentError("It failed.", "Try this."))).toBe("It failed. Try this.");
  expect(sentenceOf(new Error("It failed."))).toBe("It failed.");
  expect(sentenceOf("It failed.")).toBe("It failed.");
});

// --- kernels

test("places: keys ascend by file and line, and know what they were inlined into", async () => {
  const { places } = await inlined();
  expect([...places.keyFile]).toEqual([0, 0, 1]);
  expect([...places.keyLine]).toEqual([3, 5, 7]);
  expect([...places.key]).toEqual([0, 1, 2, 0]);
  expect(places.chain(2)).toEqual([2, 1, 0]);
  expect(places.depth(2)).toBe(2);
  expect([0, 1, 2].map((key) => [...rowsOf(places.callers, key)].sort())).toEqual([[], [0], [0, 1]]);
  expect([places.keyOf(1, 7), places.keyOf(0, 7), places.keyOf(-1, 3)]).toEqual([2, -1, -1]);
});

test("rows of a line are those that have it as their own", async () => {
  const { code, coverage, weights } = await inlined();
  expect([...code.key]).toEqual([0, 1, 2, 0, -1]);
  expect([0, 1, 2, 3, -1].map((key) => [...code.of(key)])).toEqual([[0], [1], [2], [], []]);
  expect(coverage).toEqual({ own: 3, uncertain: 0, prologue: 0, bare: 0, inherited: 1, none: 1 });
  expect([...weights.instructions]).toEqual([1, 1, 1]);
});

test("with own lines inlined library code is on the user's line that it came through", async () => {
  const { places, code, stages, weights } = await inlined(true);
  expect([...places.keyLine]).toEqual([3, 5]);
  expect([...places.key]).toEqual([0, 1, 1, 0]);
  expect([0, 1, 2, 3].map((place) => places.inner(place))).toEqual([[], [], [[1, 7]], []]);
  expect([places.chain(2), places.depth(2)]).toEqual([[2, 0], 1]);
  expect([0, 1].map((key) => [...rowsOf(places.callers, key)])).toEqual([[], [0]]);
  expect([...code.key]).toEqual([0, 1, 1, 0, -1]);
  expect([...weights.instructions]).toEqual([1, 2]);
  expect(stages.map(({ key }) => [...key])).toEqual([[-1, 0, 1, 1], [0, 1]]);
});

test("each place of a chain is laid on the first own one from there", () => {
  const next = numbers(5);
  let moved = 0;
  for (let round = 0; round < 60; round++) {
    const count = 1 + next(12);
    const [file, line] = [3, 4].map((limit) => Array.from({ length: count }, () => next(limit)));
    const caller = Array.from({ length: count }, (_, place) => next(place + 1) - 1);
    const columns = { file, line: line.map((each, place) => each - (place > 0 ? line[place - 1] : 0)), column: line, caller };
    const own = [0, 1, 2].filter(() => next(2) === 0);
    const [plain, laid] = [new Places(columns, 3), new Places(columns, 3, own)];
    for (let place = 0; place < count; place++) {
      const chain = plain.chain(place).map((each) => [file[each], line[each]]);
      const firstOwn = (): number => Math.max(0, chain.findIndex(([at, number]) => own.includes(at) && number > 0));
      moved += firstOwn();
      expect(laid.inner(place)).toEqual(chain.slice(0, firstOwn()));
      for (const key of laid.chain(place).map((each) => laid.key[each])) {
        expect([laid.keyFile[key], laid.keyLine[key]]).toEqual(chain[firstOwn()]);
        chain.splice(0, firstOwn() + 1);
      }
      expect(chain).toEqual([]);
    }
    expect(laid.keys).toBe(new Set(laid.key).size);
  }
  expect(moved).toBeGreaterThan(40);
});

test("what a row's flags say decides whether its line is its own", async () => {
  const { program, chunk } = await sample();
  chunk.code.flags = [PROLOGUE, INHERITED, LOST, FROM_STAGE, 0];
  const { code, coverage } = new Kernel(program, 0, chunk);
  expect([...code.of(0)]).toEqual([3, 4]);
  expect(coverage).toEqual({ own: 2, uncertain: 0, prologue: 1, bare: 0, inherited: 2, none: 0 });
});

test("an instruction that may have no line counts for its line, and is said to be uncertain", async () => {
  const { program, chunk } = await sample();
  chunk.code.flags = [0, UNCERTAIN, UNCERTAIN, PROLOGUE, 0];
  const kernel = new Kernel(program, 0, chunk);
  expect(kernel.coverage).toMatchObject({ own: 4, uncertain: 2, prologue: 1 });
  expect(coverageWords(kernel)).toBe(
    "4 of 5 instructions have a line, 2 certain (the table leaves 2 open), 1 of the prologue shows one that is not counted",
  );
  chunk.code.flags = [0, 0, 0, 0, 0];
  expect(coverageWords(new Kernel(program, 0, chunk))).toBe("5 of 5 instructions have a line of their own");
});

test("rows that are some of the same vISA instructions are exactly tied", async () => {
  const { code, stages } = await inlined();
  const [llvm, spirv] = stages;
  expect(code.key.map((_, row) => llvm.exact(code, row)[0] ?? -1)).toEqual(Int32Array.of(1, 2, 2, 3, -1));
  expect([...code.exact(llvm, 1)]).toEqual([0]);
  expect([...code.exact(llvm, 3)]).toEqual([1, 2, 3]);
  expect([...spirv.exact(code, 0), ...code.exact(spirv, 0), ...code.exact(llvm, 0)]).toEqual([]);
});

test("who waits for whom, and whose values are read", async () => {
  const { program, chunk } = await sample();
  const { code } = new Kernel(program, 0, chunk);
  expect(code.producers(4, "$3.dst")).toEqual([2]);
  expect(code.producers(1, "I@1")).toEqual([0]);
  expect(code.producers(2, "A@1")).toEqual([1, 0]);
  expect(code.producers(2, "$3")).toEqual([]);
  expect(code.waiters(0)).toEqual([1, 2]);
  expect(code.waiters(2)).toEqual([4]);
  expect(code.registers?.neighbours(2, null)).toEqual({ writers: new Map([[1, [4]]]), readers: new Map([[4, [6]]]) });
  expect(code.registers?.neighbours(2, 6)).toEqual({ writers: new Map(), readers: new Map([[4, [6]]]) });
  expect([code.rowAt(32), code.rowAt(33), code.blockOf(3), code.blockOf(4), code.blockEnd(0), code.blockEnd(1)]).toEqual([2, -1, 0, 1, 4, 5]);
});

/** What may be wrong with a kernel's chunk, and what is said of it. */
const DAMAGES: [words: string, damage: (chunk: Chunk) => void][] = [
  ["code.flags has 4 entries, not 5", ({ code }) => code.flags.pop()],
  ["code.flags holds 256", ({ code }) => (code.flags[0] = 256)],
  ["code.size holds 1.5", ({ code }) => (code.size[4] = 1.5)],
  ["code.op holds 1", ({ code }) => (code.op[0] = 1)],
  ["code.place holds 1", ({ code }) => (code.place[1] = 1)],
  ["there are 6 lines of machine code, not 5", ({ code }) => (code.text += "\n")],
  ["the first block begins behind the first instruction", ({ code }) => (code.block = [1])],
  ["blocks do not ascend", ({ code }) => (code.block[1] = 0)],
  ["code.targets holds 5", ({ code }) => (code.targets[0][1] = 5)],
  ["the row that is waited for holds -1", ({ code }) => (code.wait.back[0] = 5)],
  ["2 rows have a distance, and it tells of 3", ({ code }) => (code.distance = [1, 1, 1])],
  ["code.message.kind holds 1", ({ code }) => (code.message.kind[0] = 1)],
  ["code.use.back holds 5", ({ code }) => (code.use.back[2] = -1)],
  ["code.peak holds 5", ({ code }) => (code.peak.row = 5)],
  ["places.line holds -1", ({ places }) => (places.line[0] = -1)],
  ["places.file holds 1", ({ places }) => (places.file[0] = 1)],
  ["place 0 is called from one behind it", ({ places }) => (places.caller[0] = 0)],
  ["a stage's place has 3 entries, not 4", ({ stages }) => stages[0].row.push(0)],
  ["a stage's row holds 3", ({ stages }) => (stages[0].row = [0, 1, 2])],
  ["a stage's text is too large", ({ stages }) => Object.assign(stages[0], { text: "x".repeat(2 ** 20), row: new Array(65).fill(0), line: new Array(65).fill(1), place: [0, ...new Array(64).fill(0)] })],
  ["own holds 1", (chunk) => (chunk.own = [1])],
  ["own is no list", (chunk) => (chunk.own = null)],
  ["files is no list", (chunk) => (chunk.files = "add.cl")],
  ["missing is no object", (chunk) => (chunk.missing = null)],
];

test.each(DAMAGES)("a kernel that is damaged: %s", async (words, damage) => {
  const { program, chunk } = await sample();
  damage(chunk);
  expect(() => new Kernel(program, 0, chunk)).toThrow(new DocumentError(`This part of the document is damaged: ${words}.`));
});

test("calls that are inlined too deep are no kernel", async () => {
  const { program, chunk } = await sample();
  const column = (value: number): number[] => new Array<number>(1002).fill(value);
  chunk.places = { file: column(0), line: column(0).fill(1, 0, 1), column: column(1), caller: Array.from(column(0), (_, place) => place - 1) };
  expect(() => new Kernel(program, 0, chunk)).toThrow("calls are inlined too deep");
});

test("a kernel without code or a stage's text says why", async () => {
  const { program, chunk } = await sample();
  Object.assign(chunk, { code: null, missing: { code: "no decoder knows it" } });
  Object.assign(chunk.stages[0], { text: "", missing: "too large" });
  const { code, missing, stages } = new Kernel(program, 0, chunk);
  expect([code.count, missing.code, stages[0].missing, stages[0].count]).toEqual([0, "no decoder knows it", "too large", 0]);
});

test("stages share lines", async () => {
  const { program, chunk } = await sample();
  const [first] = chunk.stages;
  const second = { ...first, stage: "visa", text: "mine", row: [0, 3, -2], functions: [] };
  const third = { ...second, stage: "spirv", text: null, row: [3, -3, 0] };
  const { stages } = new Kernel(program, 0, { ...chunk, stages: [first, second, third] });
  const [a, b] = stages[0].lines;
  expect(stages.map(({ lines }) => lines)).toEqual([stages[0].lines, [a, "mine", b], ["mine", a, a]]);
});

// --- columns

test("rows by key, and the nearest: as looking at each of them finds", () => {
  const next = numbers(4);
  for (let round = 0; round < 200; round++) {
    const keys = Array.from({ length: next(12) }, () => next(6) - 1);
    const csr = group(keys, 5);
    for (let key = -1; key < 6; key++) expect([...rowsOf(csr, key)]).toEqual([...keys.keys()].filter((row) => key >= 0 && keys[row] === key));
    const column = Int32Array.from(keys).sort();
    const value = next(8) - 2;
    expect(lastAtMost(column, value)).toBe(column.findLastIndex((each) => each <= value));
    if (column.length > 0) expect(Math.abs(nearest(column, value) - value)).toBe(Math.min(...column.map((each) => Math.abs(each - value))));
  }
});
