import { expect, test } from "vitest";

import type { Configuration } from "../src/document/options";
import type { Index } from "../src/document/schema";
import { type Draft, firstOf, MOST, nameOf, type Outcome, Versions } from "../src/editing/versions";
import { matched, places, textOf } from "../src/panes/lines";
import { type Choice, choicesOf, usual } from "../src/views/sides";
import { numbers } from "./numbers";
import { sample } from "./sample";

const BUILD: Configuration = { device: "dg2", toolchain: "system", options: "", all_passes: false };
const READ = new Map([["a.cl", "one\ntwo\nthree\nfour\nfive"]]);

function draft(text: string | null, change: Partial<Configuration> = {}): Draft {
  return { texts: text === null ? {} : { "a.cl": text }, configuration: { ...BUILD, ...change } };
}

/** What a compile of the sample gave, with so many instructions; null: it failed. */
async function outcome(instructions: number | null): Promise<Outcome> {
  const { program } = await sample();
  const kernels = { ...program.kernels, instructions: program.kernels.instructions.map(() => instructions) };
  const error = { path: "a.cl", line: 1, column: 1, severity: "error", message: "no", fix: null };
  return { program: instructions === null ? null : { ...program, kernels }, index: null, diagnostics: instructions === null ? [error, error] : [], log: "", seconds: 1 };
}

async function begun(): Promise<Versions> {
  const versions = new Versions(firstOf(draft(null), await outcome(100)));
  for (const [path, text] of READ) versions.read.set(path, text);
  return versions;
}

function former(before: string, after: string): number[] {
  return Array.from(matched(textOf(before), textOf(after)).former);
}

test("lines go on where their text goes", () => {
  const before = "a\nb\nc\nd";
  expect(former(before, before)).toEqual([0, 1, 2, 3]);
  expect(former(before, "a\nnew\nb\nc\nd")).toEqual([0, -1, 1, 2, 3]);
  expect(former(before, "new\na\nb\nc\nd")).toEqual([-1, 0, 1, 2, 3]);
  expect(former(before, "a\nb\nc\nd\nnew")).toEqual([0, 1, 2, 3, -1]);
  expect(former(before, "a\nc\nd")).toEqual([0, 2, 3]);
  expect(former(before, "")).toHaveLength(1);
  // Though what was inserted begins as the line behind it does.
  expect(former("{\n  if (a) b;\n}", "{\n  c[0] = sqrt(c[1]);\n  if (a) b;\n}")).toEqual([0, -1, 1, 2]);
  expect(former("{\n  if (a) b;\n}", "{\n  if (a) b;\n  if (b) c;\n}")).toEqual([0, 1, -1, 2]);
});

test("a line that was changed is still that line, also below a new one", () => {
  const before = "int i;\nfor (int n = 0; n <= rad / lsz; n++)\nreturn;";
  const loop = "for (int n = 0; n * lsz <= rad; n++)";
  expect(former(before, `int i;\n${loop}\nreturn;`)).toEqual([0, 1, 2]);
  expect(former(before, `int i;\nint j;\n${loop}\nreturn;`)).toEqual([0, -1, 1, 2]);
  expect(former(before, `int i;\n${loop}\n{\nreturn;`)).toEqual([0, 1, -1, 2]);
  expect(Array.from(matched(textOf(before), textOf(`int i;\n${loop}\nreturn;`)).changed)).toEqual([0, 1, 0]);
});

test("no line stands for two, and each that is matched was there", () => {
  const words = ["a", "b", "", "if (a) {", "}"];
  const next = numbers(7);
  for (let round = 0; round < 300; round++) {
    const [before, after] = [0, 0].map(() => Array.from({ length: 1 + next(12) }, () => words[next(words.length)]).join("\n"));
    const lines = former(before, after).filter((line) => line >= 0);
    expect(new Set(lines).size).toBe(lines.length);
    expect(lines.every((line) => line < before.split("\n").length)).toBe(true);
    expect(lines).toEqual(lines.toSorted((left, right) => left - right));
  }
});

test("places that were changed count from 1", () => {
  expect(places("a\nb\nc", "a\nx\nc")).toEqual([[2, 2]]);
  expect(places("a\nb\nc", "a\nb\nx\ny\nc")).toEqual([[3, 4]]);
  expect(places("a\nb\nc", "a\nc")).toEqual([[2, 2]]);
  expect(places("a\nb\nc", "a\nb\nc")).toEqual([]);
});

test("a version is called after what was changed", () => {
  const from = draft(null);
  const name = (text: string | null, change: Partial<Configuration> = {}): string => nameOf(from, draft(text, change), READ);
  expect(name("one\ntwo!\nthree\nfour\nfive")).toBe("line 2");
  expect(name("one\ntwo\nthree\n4\n5")).toBe("lines 4–5");
  expect(name("1\ntwo\n3\nfour\nfive")).toBe("lines 1, 3");
  expect(name(null, { device: "bmg", toolchain: "newest" })).toBe("bmg · newest");
  expect(name(null, { options: "-cl-mad-enable" })).toBe("-cl-mad-enable");
  expect(nameOf(draft(null, { options: "-w -cl-mad-enable" }), draft(null, { options: "-w" }), READ)).toBe("without -cl-mad-enable");
  expect(name(null)).toBe("again");
});

test("each compile is a version; figures are compared with the one before that compiled", async () => {
  const versions = await begun();
  const second = versions.take(draft("1"), await outcome(110), false);
  const failed = versions.take(draft("2"), await outcome(null), false);
  expect([second.number, failed.number, failed.errors, versions.current]).toEqual([2, 3, 2, failed]);
  expect(versions.compiled(failed)).toBe(second);
  expect(versions.before(second)).toBe(versions.first);
  versions.against = 2;
  expect(versions.before(versions.first)).toBe(second);
});

test("a version is compared with the one that it was made from, not with the one before it", async () => {
  const versions = await begun();
  const second = versions.take(draft("1"), await outcome(110), false);
  versions.choose(versions.first);
  const third = versions.take(draft(null, { options: "-w" }), await outcome(95), false);
  expect([third.from, versions.before(third), versions.before(second)]).toEqual([1, versions.first, versions.first]);
  expect(versions.before(versions.first)).toBeNull();
  // One of it that failed shows the figures of what it was made from.
  versions.choose(versions.first);
  const failed = versions.take(draft("2"), await outcome(null), false);
  expect([versions.compiled(failed), versions.before(failed)]).toEqual([versions.first, versions.first]);
  versions.against = 2;
  expect([versions.before(third), versions.before(second)]).toEqual([second, versions.first]);
});

test("Compare begins with the shown version and the one that it is compared with", async () => {
  const { program } = await sample();
  const built = [1, 2, 3].map((number) => ({ ...program, id: `v${number}` }));
  const versions = built.map((each, at) => ({ number: at + 1, from: [0, 1, 1][at], name: "", outcome: { program: each } }));
  const index = { programs: [...built.slice(1), built[0]] } as unknown as Index;
  const choices = choicesOf(index, { versions: () => versions });
  const side = (number: number): Choice => choices.find(({ version }) => version === number) as Choice;
  const numbersOf = (here: number, before: number | null): unknown => usual(choices, side(here), before === null ? null : side(before)).map((choice) => choice?.version);
  expect(numbersOf(3, 1)).toEqual([1, 3]);
  expect(numbersOf(3, 2)).toEqual([2, 3]);
  expect(numbersOf(2, 1)).toEqual([1, 2]);
  // What was read was made from none: the newest is compared with what it was made from.
  expect(numbersOf(1, null)).toEqual([1, 3]);
});

test("what failed, and what is typed on in, gives its place to what comes of it", async () => {
  const versions = await begun();
  versions.take(draft("1"), await outcome(null), false);
  const mended = versions.take(draft("2"), await outcome(90), false);
  expect([mended.number, versions.list.length]).toEqual([2, 2]);
  const typed = versions.take(draft("3"), await outcome(80), true);
  expect([typed.number, typed.from, versions.list.length]).toEqual([2, 1, 2]);
  expect(versions.take(draft("4"), await outcome(70), false).number).toBe(3);
  // From an older version it is another one.
  versions.choose(versions.first);
  expect(versions.take(draft("5"), await outcome(60), true)).toMatchObject({ number: 4, from: 1 });
});

test("the same text and build are the same version; what failed goes when its text does", async () => {
  const versions = await begun();
  const second = versions.take(draft("1"), await outcome(90), false);
  versions.take(draft("2"), await outcome(null), false);
  expect(versions.find(draft("1"))).toBe(second);
  expect(versions.find(draft("1", { options: "-w" }))).toBeNull();
  versions.choose(second);
  expect(versions.list).toHaveLength(2);
  expect(versions.take(draft(null), await outcome(95), false)).toBe(versions.first);
});

test("thirty are kept, the first and the newest", async () => {
  const versions = await begun();
  for (let number = 2; number < 50; number++) versions.take(draft(String(number)), await outcome(number), false);
  expect(versions.list).toHaveLength(MOST);
  expect(versions.list.map(({ number }) => number)).toEqual([1, ...Array.from({ length: MOST - 1 }, (_, at) => 21 + at)]);
});

test("versions come back after a reload, without what was compiled", async () => {
  const versions = await begun();
  versions.take(draft("1"), await outcome(90), false);
  const again = await begun();
  again.restore(versions.written());
  expect(again.list.map(({ number, name, outcome, texts }) => [number, name, outcome === null, texts])).toEqual([
    [1, "as read", false, {}],
    [2, "line 1", true, { "a.cl": "1" }],
  ]);
  expect([...again.list[1].instructions.values()]).toEqual([90]);
  expect(again.read).toEqual(READ);
});
