import { expect, test } from "vitest";

import { drawnEdits, type LinkedEdit, packedEdits } from "../src/editing/linked";
import { linkedProgram } from "../src/editing/shared_text";
import { firstOf, Versions } from "../src/editing/versions";
import { numbers } from "./numbers";

const BUILT = { device: "dg2", toolchain: "system", options: "-DA=1:2", all_passes: false };
const TEXTS = { "dir:with/größe.cl": "kernel void add() {}\n", "half.h": "// \u{1f600}\n" };
const EDIT: LinkedEdit = {
  program: "0123456789abcdef",
  path: "dir:with/größe.cl",
  built: BUILT,
  draft: { texts: TEXTS, configuration: { ...BUILT, device: "pvc" } },
  against: 3,
  versions: [
    { id: "fedcba9876543210", number: 3, from: 1, name: "line 2", texts: TEXTS, configuration: BUILT },
    { id: null, number: 5, from: 3, name: "pvc", texts: TEXTS, configuration: { ...BUILT, device: "pvc" } },
  ],
};

test("edits of several files, and their versions, come back from a link", async () => {
  const word = (await packedEdits(EDIT.program, [EDIT, { ...EDIT, program: "b", draft: null, against: null, versions: [] }])) as string;
  expect(word).toMatch(/^0123456789abcdef:[\w-]+$/);
  expect(linkedProgram(word)).toBe(EDIT.program);
  expect(await drawnEdits(word)).toEqual([EDIT, { ...EDIT, program: "b", draft: null, against: null, versions: [] }]);
});

test("versions of one text take little more than one of them", async () => {
  const next = numbers(5);
  const text = Array.from({ length: 5000 }, () => String.fromCharCode(32 + next(95))).join("");
  const version = { ...EDIT.versions[0], texts: { "a.cl": text } };
  const [one, three] = [[version], [version, { ...version, number: 4, texts: { "a.cl": `${text}.` } }, { ...version, number: 5 }]];
  const lengths = await Promise.all([one, three].map(async (versions) => (await packedEdits("a", [{ ...EDIT, draft: null, versions }]))?.length ?? 0));
  expect(lengths[0]).toBeGreaterThan(5000);
  expect(lengths[1]).toBeLessThan(lengths[0] * 1.1);
});

test("what is too long for a link is not put there", async () => {
  const next = numbers(3);
  const noise = Array.from({ length: 20_000 }, () => String.fromCharCode(32 + next(95))).join("");
  expect(await packedEdits("a", [{ ...EDIT, draft: { texts: { "a.cl": noise }, configuration: BUILT } }])).toBeNull();
  const zeros = (await packedEdits("a", [{ ...EDIT, draft: { texts: { "a.cl": "0".repeat(5 << 20) }, configuration: BUILT } }])) as string | null;
  expect(zeros).toBeNull();
});

test("damaged edits in a link are none", async () => {
  const word = (await packedEdits("a", [EDIT])) as string;
  for (const wrong of [word.slice(0, -4), "a:!", "", "a:", `a:${"A".repeat(8193)}`]) expect(await drawnEdits(wrong)).toBeNull();
});

test.each([
  [null],
  [{}],
  [[null]],
  [[{ ...EDIT, program: 1 }]],
  [[{ ...EDIT, against: -1 }]],
  [[{ ...EDIT, against: 1.5 }]],
  [[{ ...EDIT, draft: { texts: { a: 1 }, configuration: BUILT } }]],
  [[{ ...EDIT, draft: { texts: {}, configuration: [] } }]],
  [[{ ...EDIT, versions: [{ ...EDIT.versions[0], number: "3" }] }]],
  [[{ ...EDIT, versions: Array.from({ length: 31 }, () => EDIT.versions[0]) }]],
  [Array.from({ length: 9 }, () => EDIT)],
])("JSON that is no edits is none: %j", async (value) => {
  expect(await drawnEdits((await packedEdits("a", value as unknown as LinkedEdit[])) as string)).toBeNull();
});

function begun(): Versions {
  return new Versions(firstOf({ texts: {}, configuration: BUILT }, { program: null, index: null, diagnostics: [], log: "", seconds: 0 }));
}

test("versions of a link keep their numbers where these are free, and are found by the ids that they had", () => {
  const versions = begun();
  versions.adopt(EDIT.versions);
  expect(versions.list.map(({ number, from, name, outcome }) => [number, from, name, outcome])).toEqual([[1, 0, "as read", versions.first.outcome], [3, 1, "line 2", null], [5, 3, "pvc", null]]);
  expect(versions.madeAs("fedcba9876543210")?.number).toBe(3);
  // Opened once more, they are the same ones.
  versions.adopt(EDIT.versions);
  expect(versions.list).toHaveLength(3);
});

test("where other versions have their numbers, versions of a link get new ones", () => {
  const versions = begun();
  const own = { ...EDIT.versions[0], id: "own", texts: { "a.cl": "other" } };
  versions.adopt([{ ...own, number: 4 }]);
  versions.adopt(EDIT.versions);
  expect(versions.list.map(({ number, from, name }) => [number, from, name])).toEqual([[1, 0, "as read"], [4, 1, "line 2"], [5, 1, "line 2"], [6, 5, "pvc"]]);
});
