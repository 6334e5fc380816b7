import { afterEach, expect, test, vi } from "vitest";

import { readSearch } from "../src/document/search";
import type { Index } from "../src/document/schema";
import { DocumentError } from "../src/document/source";
import { findAll, searched, SourceText, sourceChunks } from "../src/everywhere";
import { bearable } from "../src/frame/pattern";
import { type Query, queryOf } from "../src/frame/query";

const TEXT = "int blur(int x)\n{\n  return Splat(x) + 1; // splat\n}\nkernel void mix() {}\nspills";
const WRITTEN = {
  opcodes: ["mov", "math.inv", "send.ugm", "dpas.8x8"],
  functions: ["blur", "splat_all"],
  files: ["a.cl", "b.h"],
  kernels: [
    [
      { opcodes: [0, 10, 1, 2], lines: [[0, 1, 3, 9, 1]], functions: [0], atomics: 3 },
      { opcodes: [0, 4, 2, 1, 3, 5], lines: [[0, 5, 1], [1, 7, 2]], functions: [0, 1], barriers: 1 },
    ],
  ],
};

afterEach(() => void vi.restoreAllMocks());

function index(change: object = {}): Index {
  const kernels = { name: ["blur_h", "_Z3mixv"], shown: ["blur_h", "mix()"], spill_bytes: [0, 64], spill_messages: [null, null] };
  const program = { id: "p", name: "a", ok: true, kernels, files: [{ path: "a.cl", chunk: "c", missing: null }, { path: "b.h", chunk: null, missing: "" }] };
  const failed = { id: "f", name: "bad.cl", ok: false, kernels: { name: [], shown: [], spill_bytes: [] }, files: [{ path: "a.cl", chunk: "c", missing: null }] };
  return { programs: [program, failed], ...change } as unknown as Index;
}

const TEXTS = new Map([["c", new SourceText(TEXT)]]);

const UNREAD = index().programs.map((program) => ({ program, words: null }));
const READ = index().programs.map((program) => searched(program, index(), readSearch(WRITTEN, index())));

function hits(typed: string, listed = READ): Record<string, number> | null {
  const all = findAll(listed, TEXTS, queryOf(typed) as Query);
  return all === null ? null : Object.fromEntries(all);
}

test.each([
  // A name, a function, and a line of each kernel that has code of it.
  ["blur", { "p 0": 3, "p 1": 1 }],
  ["mix()", { "p 1": 2 }],
  ["splat", { "p 0": 1, "p 1": 1 }],
  ["send", { "p 1": 1 }],
  ["op:mov", { "p 0": 10, "p 1": 4 }],
  ["op:send.ugm", { "p 1": 1 }],
  ["fn:splat", { "p 1": 1 }],
  ["line:2", { "p 0": 1 }],
  ["line:9", { "p 0": 1 }],
  ["line:7", { "p 1": 1 }],
  ["re:^sp.at_", { "p 1": 1 }],
  ["re:return .*\\+", { "p 0": 1 }],
  ["atomic", { "p 0": 3 }],
  ["barrier", { "p 1": 1 }],
  ["math", { "p 0": 2 }],
  ["dpas", { "p 1": 5 }],
  ["spills", { "p 1": 64 }],
  ["failed", { "f -1": 1 }],
  ["bad", { "f -1": 1 }],
  ["nowhere", {}],
])("what all kernels have of %s", (typed, expected) => {
  expect(hits(typed)).toEqual(expected);
});

test("of a program that was compiled anew the list's version is found, and no kernel counts twice", () => {
  const [read] = index().programs;
  const version = { ...read, id: "v", files: [{ path: "a.cl", chunk: "c", missing: null }], kernels: { ...read.kernels, spill_bytes: [8, 0] } };
  // The edit took the atomics, and put a barrier into the other kernel; its own document counts otherwise.
  const written = { opcodes: ["dpas.8x8", "mov"], functions: [], files: ["b.h", "a.cl"], kernels: [[{ opcodes: [1, 7], lines: [[1, 1, 3]] }, { opcodes: [0, 1], barriers: 2, atomics: 5 }]] };
  const made = { ...index(), programs: [version] };
  const listed = [searched(version, made, readSearch(written, made)), READ[1]];
  expect(hits("mov", listed)).toEqual({ "v 0": 7 });
  expect(hits("atomic", listed)).toEqual({ "v 1": 5 });
  expect(hits("barrier", listed)).toEqual({ "v 1": 2 });
  expect(hits("dpas", listed)).toEqual({ "v 1": 1 });
  expect(hits("re:return .*\\+", listed)).toEqual({ "v 0": 1 });
  expect(hits("spills", listed)).toEqual({ "v 0": 8 });
  expect(hits("failed", listed)).toEqual({ "f -1": 1 });
});

test("registers are of one kernel", () => {
  expect(hits("r12")).toBeNull();
  expect(hits("R7")).toBeNull();
  expect(queryOf("r1234")).toEqual({ kind: "text", text: "r1234" });
  expect(hits("reg:r12")).toBeNull();
});

test("without words names and figures are there", () => {
  expect(Object.fromEntries(findAll(UNREAD, TEXTS, queryOf("spills") as Query) ?? [])).toEqual({ "p 1": 64 });
  expect(Object.fromEntries(findAll(UNREAD, TEXTS, queryOf("blur") as Query) ?? [])).toEqual({ "p 0": 1 });
});

test("a text is looked for line by line, each line once", () => {
  const text = new SourceText("aa\nA\n\nb a a\na");
  expect(text.linesOf(queryOf("a") as Query)).toEqual([1, 2, 4, 5]);
  expect(text.linesOf(queryOf("re:^a$") as Query)).toEqual([2, 5]);
  expect(new SourceText("").linesOf(queryOf("a") as Query)).toEqual([]);
  // A letter whose small form is longer.
  expect(new SourceText("\u0130\nx").linesOf(queryOf("x") as Query)).toEqual([2]);
});

test("each text is read once", () => {
  expect(sourceChunks(index())).toEqual(["c"]);
});

test.each([
  { ...WRITTEN, kernels: [[WRITTEN.kernels[0][0]]] },
  { ...WRITTEN, kernels: [[], [], []] },
  { ...WRITTEN, kernels: [[{ opcodes: [4, 1] }, {}]] },
  { ...WRITTEN, kernels: [[{ functions: [-1] }, {}]] },
  { ...WRITTEN, kernels: [[{ lines: [[2, 1, 1]] }, {}]] },
  { ...WRITTEN, kernels: [[{ lines: [[]] }, {}]] },
  { ...WRITTEN, opcodes: [1] },
])("a chunk that does not fit is an error: %#", (written) => {
  expect(() => readSearch(written, index())).toThrow(DocumentError);
});

test.each([
  ["send\\..*r\\d+", 400, 800],
  ["add", 2000, 2000],
  ["[*+(|]+x", 2000, 2000],
  ["(ab)+c", 2000, 2000],
  ["\\(a\\)*b", 2000, 2000],
  ["a{2,5}b?", 2000, 2000],
  ["(?:load|store|atomic)_.*", 2000, 2000],
])("%s is tried on a line's beginning of %i to %i characters", (text, least, most) => {
  expect(bearable(text)).toBeGreaterThanOrEqual(least);
  expect(bearable(text)).toBeLessThanOrEqual(most);
});

test.each(["(a+)+b", "(a|a)*b", "(a?)*", "((ab)*c)*", "(?:a|b){3}", "(?=a*)*", "(.)\\1", "(?<n>a)\\k<n>", ".*.*.*.*x", "a?".repeat(30), "(a|a)".repeat(30), "(", "[", "a".repeat(5000)])(
  "%s is refused",
  (text) => {
    expect(typeof queryOf(`re:${text}`)).toBe("string");
  },
);

test("the worst that is taken comes to an end on a line", { timeout: 60_000 }, () => {
  for (const text of [".*.*.*x", "(?:a|a)(?:a|a)(?:a|a)a?a?a?a*x", "a*a*a*$b", "(a|a)a*a*x", ".*?.*?x"]) {
    const query = queryOf(`re:${text}`);
    expect(typeof query).toBe("object");
    expect((query as Query & { kind: "pattern" }).pattern.test("a".repeat(3000))).toBe(false);
  }
});

test("a look ends when its time is over", () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 50));
  const { pattern } = queryOf("re:a+") as Query & { kind: "pattern" };
  pattern.begin();
  const lines = Array.from({ length: 20 }, () => pattern.test("a"));
  expect(lines.indexOf(false)).toBe(6);
  expect(pattern.isOver).toBe(true);
  pattern.begin();
  expect(pattern.isOver).toBe(false);
  expect(pattern.test("a")).toBe(true);
});
