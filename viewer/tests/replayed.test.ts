import { expect, test } from "vitest";

import type { Choices } from "../src/document/options";
import { badgeOf, differingRows, notesOf, replayedOf } from "../src/document/replayed";
import { DocumentError } from "../src/document/source";
import { obstacle } from "../src/editing/replays";
import { firstOf, Versions } from "../src/editing/versions";
import { sample } from "./sample";

const DIFFERENCE = { count: 1, first: 12, recorded: "36", result: "39", ulp: 786432, relative: 0.0769230769 };
const EQUAL = { memory: "the buffer of argument 0 (x)", type: "float", elements: 4096, difference: null };
const DIFFERING = { ...EQUAL, difference: DIFFERENCE };
const RATIO = { pairs: 20, median: 1.3137, low: 1.28, high: 1.33, different: true };

/** A launch as kernlens writes it, with the results of the recorded build and of the edited one. */
function written(edited: object[], change: object = {}, recorded: object[] = [EQUAL]): Record<string, unknown> {
  const build = (title: string, results: object[]): object => ({ title, options: "", results, times: null });
  return {
    kernel: "scale", number: 1, process: 7, program: "program-1", platform: "Portable", device: "cpu", recorded_on: "", global_size: [4096], local_size: null,
    answer: "the answer", equal: true, simulated: false, cpu: true, builds: [build("recorded", recorded), build("edited", edited)], ratio: null, not_compared: [], notes: [],
    ...change,
  };
}

test.each([
  ["equal", "equal", [EQUAL], {}],
  ["equal, 1.31x", "equal", [EQUAL], { ratio: RATIO }],
  // An interval that holds 1 tells no difference.
  ["equal, ≈1.31x", "equal", [EQUAL], { ratio: { ...RATIO, different: false } }],
  ["differs at x[12]", "differs", [EQUAL, DIFFERING], { ratio: RATIO }],
  ["differs at memory 3 (shared memory)[12]", "differs", [{ ...DIFFERING, memory: "memory 3 (shared memory)" }], {}],
  // Nothing is equal that was not compared.
  ["not compared", "unknown", [], { ratio: RATIO }],
  ["not run", "unknown", [EQUAL], { simulated: true }],
])("a badge says %s", (words, kind, edited, change) => {
  expect(badgeOf(replayedOf(written(edited, change)))).toEqual({ words, kind });
});

test("where the recorded build differs here too, equal is no proof", () => {
  const replayed = replayedOf(written([EQUAL], { ratio: RATIO }, [DIFFERING]));
  expect(badgeOf(replayed)).toEqual({ words: "equal, the recorded build is not", kind: "unknown" });
  expect(differingRows(replayed).map(({ build }) => build)).toEqual(["recorded"]);
});

test("what differs is a table, and what was not compared is said", () => {
  const words = { memory: "memory 1 (buffer)", type: null, elements: 8, difference: { ...DIFFERENCE, ulp: null, relative: null } };
  const replayed = replayedOf(written([EQUAL, DIFFERING, words], { not_compared: ["the image of argument 2"], notes: ["a note"], ratio: RATIO }));
  expect(differingRows(replayed)).toEqual([
    { build: "edited", memory: EQUAL.memory, cells: ["1 of 4096 floats", "[12]", "36", "39", "786432 ulp, 0.0769 relative"] },
    { build: "edited", memory: "memory 1 (buffer)", cells: ["1 of 8 words of 32 bits", "[12]", "36", "39", "-"] },
  ]);
  expect(replayed.title).toBe("Launch 1 of scale on cpu (Portable)");
  expect(notesOf(replayed)).toEqual(["a note", "the times are those of this CPU, and say nothing about a GPU", "not compared: the image of argument 2"]);
  expect(notesOf(replayedOf(written([EQUAL])))).toEqual(["all memory that was kept was compared"]);
  expect(notesOf(replayedOf(written([], { simulated: true }))).at(-1)).toMatch(/simulated: nothing was computed/);
});

test.each([
  ["builds is no list", { builds: null }],
  ["answer is no text", { answer: 3 }],
  ["ratio is no object", { ratio: [] }],
])("an answer that is damaged: %s", (words, change) => {
  expect(() => replayedOf(written([EQUAL], change))).toThrow(new DocumentError(`This part of the document is damaged: ${words}.`));
});

test("what cannot be replayed says why", async () => {
  const { program } = await sample();
  const replay = { device: "cpu", reason: null, kernels: { [program.id]: ["add"] } };
  const configuration = { device: "dg2", toolchain: "system", options: "", all_passes: false };
  const versions = (errors: number): Versions => new Versions({ ...firstOf({ texts: {}, configuration }, { program, index: null, diagnostics: [], log: "", seconds: 1 }), errors });
  const why = (change: Partial<NonNullable<Choices["replay"]>> | null, kernel = "add", errors = 0, isStale = false): string | null =>
    obstacle({ edit: { base: program, versions: versions(errors), isStale }, kernel, choices: { devices: [], toolchains: [], options: [], replay: change === null ? null : { ...replay, ...change } } });
  expect(why({})).toBeNull();
  expect(why(null)).toBe("The recording keeps no launches.");
  expect(why({}, "other")).toBe("No launch of other was kept: kernlens capture --launch other keeps one.");
  // A program is named by the document: its id is no property that each object has.
  expect(why({ kernels: {} })).toMatch(/^No launch of add/);
  expect(why({ device: null, reason: "no platform" })).toBe("No device here runs it: no platform.");
  expect(why({}, "add", 1, true)).toBe("Version 1 does not compile.");
  expect(why({}, "add", 0, true)).toBe("What was typed is not compiled yet.");
});
