import { afterEach, expect, test, vi } from "vitest";

import { configurationsIn, configurationsOut, drawn, packed, sharedText } from "../src/editing/shared_text";
import { COLOURS, fromFragment, START, type State, toFragment, writeAddress } from "../src/state";
import { numbers } from "./numbers";

const WORDS = ["", "add", "a b", "50%", "x+y", "k=v&p=1", "#", "Müller/größe.cl", "C:\\a.cl", "void f<int, float>(int*)", "%2F", "\u202e"];

afterEach(() => vi.unstubAllGlobals());

test("a state comes back from its address", () => {
  const next = numbers(2);
  const word = (): string => WORDS[next(WORDS.length)];
  for (let round = 0; round < 300; round++) {
    const state: State = {
      program: word(),
      kernel: word(),
      stage: word(),
      line: next(2) === 0 ? null : { path: word(), line: next(100_000) },
      offset: next(2) === 0 ? null : next(2 ** 32),
      exact: next(2) === 0,
      own: [null, false, true][next(3)],
      colour: COLOURS[next(COLOURS.length)],
      view: ["panes", "compare"][next(2)],
      more: next(2) === 0 ? {} : { a: `${word()}:add`, z: word() },
    };
    expect(fromFragment(toFragment(state))).toEqual(state);
  }
});

test("an address says only what was chosen, and can be read", () => {
  expect(toFragment(START)).toBe("#");
  const line = { path: "src/blur.cl", line: 18 };
  expect(toFragment({ ...START, kernel: "blur", line, offset: 0x7b8 })).toBe("#k=blur&l=src/blur.cl:18&i=0x7b8");
});

test("a plus in an address that somebody typed is one", () => {
  expect(fromFragment("#k=a+b&s=llvm%20ir")).toMatchObject({ kernel: "a+b", stage: "llvm ir" });
});

test.each(["#c=red&x=2&l=blur.cl&i=7b8", "#l=:&i=0xfffffffff", "#l=a.cl:12345678901&i=0xZ", "#&&=&x", "#%", "#o=2", "#o="])("what an address says wrongly is not chosen: %s", (fragment) => {
  const { more: _, ...state } = fromFragment(fragment);
  expect(state).toEqual({ program: "", kernel: "", stage: "", line: null, offset: null, exact: false, own: null, colour: "instr", view: "panes" });
});

test("an address is written where there is a history, and where there is none", () => {
  const [pushState, replaceState] = [vi.fn(), vi.fn()];
  vi.stubGlobal("location", { hash: "#k=add" });
  vi.stubGlobal("history", { pushState, replaceState });
  writeAddress({ ...START, kernel: "add" }, "push");
  expect(pushState).not.toHaveBeenCalled();
  writeAddress({ ...START, kernel: "blur" }, "push");
  expect(pushState).toHaveBeenCalledWith(null, "", "#k=blur");
  writeAddress(START, "replace");
  expect(replaceState).toHaveBeenCalledWith(null, "", "#");
  replaceState.mockImplementation(() => {
    throw new DOMException("sandboxed");
  });
  expect(() => writeAddress(START, "replace")).not.toThrow();
  replaceState.mockImplementation(() => {
    throw new TypeError("another failure");
  });
  expect(() => writeAddress(START, "replace")).toThrow("another failure");
});

const PLACE = { program: "0123456789abcdef", path: "dir:with/größe.cl" };

test.each(["", "kernel void add() {}\n", "// größe \u{1f600}\n".repeat(100)])("an edited text comes back from its address", async (text) => {
  const word = (await packed(PLACE, text)) as string;
  const shared = sharedText(word);
  expect(shared).toEqual({ ...PLACE, word: expect.stringMatching(/^[\w-]+$/) });
  expect(await drawn(shared)).toBe(text);
});

test("of a text as it was recorded the address has the place alone", async () => {
  expect(await packed(PLACE, null)).toBe(`${PLACE.program}:${PLACE.path}:`);
  expect(sharedText(`${PLACE.program}:${PLACE.path}:`)).toEqual({ ...PLACE, word: "" });
});

test("a word alone is of the file that is shown first", () => {
  expect(sharedText("abc")).toEqual({ program: "", path: "", word: "abc" });
});

test("a text that is too long for an address is not put there", async () => {
  const next = numbers(3);
  const noise = Array.from({ length: 20_000 }, () => String.fromCharCode(32 + next(95))).join("");
  expect(await packed(PLACE, noise)).toBeNull();
});

test("a damaged text in an address is none", async () => {
  const word = sharedText((await packed(PLACE, "kernel void add() {}\n")) as string).word;
  for (const wrong of [word.slice(0, -4), "!", "AAAA", "A".repeat(8193)]) expect(await drawn({ ...PLACE, word: wrong })).toBeNull();
});

test("a text that unpacks to more than a megabyte is none", async () => {
  const word = sharedText((await packed(PLACE, "a".repeat(2 ** 20 + 1))) as string).word;
  expect(word.length).toBeLessThan(8192);
  expect(await drawn({ ...PLACE, word })).toBeNull();
});

test("configurations come back from the address", () => {
  const all = [
    { device: "dg2", toolchain: "system", options: "-DA=1:2 -O0", all_passes: false },
    { device: "bmg", toolchain: "newest", options: "", all_passes: false },
  ];
  expect(configurationsIn(configurationsOut(all))).toEqual(all);
  expect(configurationsIn("dg2\n:system:\n\n")).toEqual([]);
});
