import { expect, test } from "vitest";

import { readIndex } from "../src/document/read";
import type { Group, KernelColumns, ProgramInfo } from "../src/document/schema";
import { duration } from "../src/dom";
import { findAll } from "../src/everywhere";
import { arranged, type Item, itemsOf, type Order } from "../src/frame/arrange";
import { type Entry, entriesOf, slower, worse } from "../src/frame/kernels";
import { linesOf, pieces, type Style } from "../src/frame/names";
import { type Query, queryOf } from "../src/frame/query";
import { numbers } from "./numbers";

/** Each letter is a pixel wide. */
const WIDTHS = { of: (text: string): number => text.length };

function broken(name: string, width: number, hang = 0, style: Style = "name"): string[] {
  return linesOf(pieces(name, style), width, hang, WIDTHS).map((line) => line.map(({ text }) => text).join(""));
}

test("names are broken between words", () => {
  expect(broken("extractManifoldAndAddContact", 16)).toEqual(["extractManifold", "AndAddContact"]);
  expect(broken("kernel_mul_mv_q4_K_f32", 12)).toEqual(["kernel_mul_", "mv_q4_K_f32"]);
  expect(broken("at::ReduceKernel<4, float>", 12)).toEqual(["at::Reduce", "Kernel<4, ", "float>"]);
  expect(broken("hblur", 5)).toEqual(["hblur"]);
  // Lines after the first begin further right.
  expect(broken("find_all_of_them", 9, 4)).toEqual(["find_all_", "of_", "them"]);
  // A word that is wider than a line is broken anywhere.
  expect(broken("a".repeat(10), 4, 1)).toEqual(["aaaa", "aaa", "aaa"]);
});

test("no letter of a name is lost, and no line is too wide", () => {
  const next = numbers(7);
  const letters = ["a", "B", "_", "::", "<", ", ", "9", "é", ">", " "];
  for (let round = 0; round < 400; round++) {
    const name = Array.from({ length: 1 + next(40) }, () => letters[next(letters.length)]).join("");
    const [width, hang] = [5 + next(20), next(4)];
    const lines = broken(name, width, hang);
    expect(lines.join("")).toBe(name);
    lines.forEach((line, at) => expect(line.trimEnd().length).toBeLessThanOrEqual(width - (at > 0 ? hang : 0)));
  }
});

test("of a name without end a part is shown", () => {
  const lines = broken("x".repeat(1_000_000), 100);
  expect(lines.length).toBeLessThan(50);
  expect(lines.at(-1)).toMatch(/…$/);
});

const group = (title: string, build = ""): Group => ({ build, title, words: "", before: "", after: "" });

function document(names: [string, Group, number][]): { entries: Entry[]; programs: ProgramInfo[] } {
  const kernels = { name: names.map(([name]) => name), group: names.map(([, of]) => of) } as KernelColumns;
  const program = { id: "p", device: "dg2", kernels, rows: new Map(), beside: new Map([["0", "a.cl"]]), edited: false, ok: true } as unknown as ProgramInfo;
  const failed = { id: "f", name: "bad.cl", device: "dg2", ok: false, kernels: { name: [] as string[] } } as ProgramInfo;
  const entries = names.map(([name, , instructions], row): Entry => ({ program, row, name, shown: name, instructions, simd: 16, spillBytes: name === "spilling" ? 64 : 0, spill: name === "spilling" ? 64 : 0, spills: "", time: null, hasLines: true }));
  return { entries, programs: [program, failed] };
}

function texts(names: [string, Group, number][], order: Order = "worst", hits: Map<string, number> | null = null, isOpen: (key: string, items: Item[]) => boolean = () => true): string[] {
  const { entries, programs } = document(names);
  return arranged(itemsOf(entries, programs, programs), order, hits, isOpen).map(({ head, item, level }) => `${"  ".repeat(level - 1)}${item === null ? `${head.title} ${head.items.length}/${head.count}` : item.shown}`);
}

const [FIRST, SECOND] = [group("a.cl"), group("b.cl")];
const NAMES: [string, Group, number][] = [["small", FIRST, 10], ["large", SECOND, 900], ["spilling", FIRST, 20], ["other", SECOND, 5]];

test("the worst comes first, inside groups and between them; what failed before all", () => {
  expect(texts(NAMES)).toEqual(["1 program without kernels 1/1", "  bad.cl", "a.cl 2/2", "  spilling", "  small", "b.cl 2/2", "  large", "  other"]);
  expect(texts(NAMES, "instructions").slice(2)).toEqual(["b.cl 2/2", "  large", "  other", "a.cl 2/2", "  spilling", "  small"]);
  expect(texts(NAMES, "file").slice(2)).toEqual(["a.cl 2/2", "  small", "  spilling", "b.cl 2/2", "  large", "  other"]);
  expect(texts(NAMES, "name")).toEqual(["1 program without kernels 1/1", "  bad.cl", "a.cl 2/2", "  small", "  spilling", "b.cl 2/2", "  large", "  other"]);
});

test("closed groups show their head, and what is looked for leaves the others out", () => {
  expect(texts(NAMES, "worst", null, (key) => key === "group 2")).toEqual(["1 program without kernels 1/1", "a.cl 2/2", "b.cl 2/2", "  large", "  other"]);
  expect(texts(NAMES, "worst", new Map([["p 0", 3], ["p 3", 7]]))).toEqual(["b.cl 1/2", "  other", "a.cl 1/2", "  small"]);
});

test("builds are a level of their own", () => {
  const names: [string, Group, number][] = [["blur", group("a.cl", "dg2"), 10], ["blur", group("a.cl", "bmg"), 20]];
  expect(texts(names).slice(2)).toEqual(["bmg 1/1", "  a.cl 1/1", "    blur", "dg2 1/1", "  a.cl 1/1", "    blur"]);
});

test("a version that was compiled here stands where its kernel was", () => {
  const { entries, programs } = document(NAMES);
  const [read] = programs;
  const alone = group("other document");
  const kernels = { name: ["large", "new"], shown: ["large", "new"], group: [alone, alone] } as unknown as KernelColumns;
  const version = { ...read, id: "v", edited: true, kernels };
  const own = kernels.name.map((name, row): Entry => ({ ...entries[0], program: version, row, name, shown: name }));
  const groups = itemsOf(own, [version, programs[1]], [{ ...read, kernels: { ...read.kernels, shown: read.kernels.name } }, programs[1]]);
  expect(Array.from(groups, ([{ title }, items]) => [title, items.map(({ key }) => key)])).toEqual([["1 program without kernels", ["f -1"]], ["b.cl", ["v 0"]], ["other document", ["v 1"]]]);
});

test("spills are told by their messages where the binary does not state their bytes", () => {
  const columns = { name: ["stated", "none", "counted", "unknown"], spill_bytes: [64, 0, null, null], spill_messages: [null, null, 5, null], spill_store_bytes: [null, null, 96, null], instructions: [1, 1, 1, 9] };
  const kernels = readIndex({
    schema: 2, title: "", opcodes: {}, figures: [], chunks: {},
    programs: [{ id: "p", name: "p", format: null, device: null, toolchain: null, versions: [], files: [], stages: [], reasons: {}, ok: true, kernels: { ...columns, shown: columns.name, chunk: columns.name, lines: [1, 1, 1, 1] } }],
  });
  const entries = entriesOf(kernels);
  expect(entries.map(({ spills }) => spills)).toEqual(["64 bytes of scratch for spills", "", "5 spills and fills in the code; the binary does not state the bytes", ""]);
  expect([...entries].sort(worse).map(({ name }) => name)).toEqual(["counted", "stated", "unknown", "none"]);
  expect(findAll(kernels.programs.map((program) => ({ program, words: null })), new Map(), queryOf("spills") as Query)).toEqual(new Map([["p 0", 64], ["p 2", 5]]));
});

test("what took longest on the device comes first, and what nobody timed last", () => {
  const name = ["spills", "short", "long", "unknown"];
  const columns = { name, device_time: [null, 900, 15_200_000, null], spill_bytes: [64, 0, 0, 0], instructions: [9, 9, 1, 90] };
  const { programs } = readIndex({
    schema: 2, title: "", opcodes: {}, figures: [{ key: "device_time", heading: "device time" }], chunks: {},
    programs: [{ id: "p", name: "p", format: null, device: null, toolchain: null, versions: [], files: [], stages: [], reasons: {}, ok: true, kernels: { ...columns, shown: name, chunk: name, lines: [1, 1, 1, 1] } }],
  });
  const entries = entriesOf({ programs });
  expect([...entries].sort(slower).map(({ name: each }) => each)).toEqual(["long", "short", "spills", "unknown"]);
  expect([...entries].sort(worse).map(({ name: each }) => each)).toEqual(["spills", "unknown", "short", "long"]);
  expect(entries.map(({ time }) => (time === null ? "" : duration(time)))).toEqual(["", "900 ns", "15.2 ms", ""]);
});

test("a version for another device than the others says so", () => {
  const { entries, programs } = document(NAMES);
  const [read] = programs;
  const base = { ...read, device: "tgllp", kernels: { ...read.kernels, shown: read.kernels.name } };
  const own = entries.map((entry) => ({ ...entry, program: { ...read, id: "v" } }));
  const besides = (version: ProgramInfo, of: Entry[]): string[] => Array.from(itemsOf(of, [version, programs[1]], [base, programs[1]]).values(), (items) => items.map(({ beside }) => beside)).flat().slice(1);
  expect(besides(own[0].program, own.map((entry) => ({ ...entry, program: own[0].program })))).toEqual(["a.cl · dg2", "dg2", "dg2", "dg2"]);
  expect(besides(base, entries.map((entry) => ({ ...entry, program: base })))).toEqual(["a.cl", "", "", ""]);
});

test("what is compiled here keeps its place until the order is asked for again", () => {
  const { entries, programs } = document([["first", FIRST, 900], ["second", FIRST, 20]]);
  const shown = ["first", "second"];
  const read = { ...programs[0], kernels: { ...programs[0].kernels, shown, instructions: [900, 20], simd: [16, 16], spill_bytes: [0, 0], spill_store_bytes: [null, null], figures: new Map() } } as unknown as ProgramInfo;
  const version = { ...read, id: "v", kernels: { ...read.kernels, instructions: [10, 20] } };
  const own = entries.map((entry, row) => ({ ...entry, program: version, instructions: version.kernels.instructions[row] }));
  const order = (ranking: ProgramInfo[]): string[] => arranged(itemsOf(own, [version], [read], ranking), "worst", null, () => true).flatMap(({ item }) => item?.shown ?? []);
  expect(order([read])).toEqual(["first", "second"]);
  expect(order([version])).toEqual(["second", "first"]);
});
