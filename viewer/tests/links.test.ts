import { beforeEach, expect, test, vi } from "vitest";

import type { Kernel } from "../src/document/kernel";
import type { Rows } from "../src/document/rows";
import type { Layout } from "../src/frame/layout";
import { DARK, type Lighting, READ, SAME, WRITTEN } from "../src/lighting";
import { Links, type Target } from "../src/links";
import { Linked } from "../src/panes/linked";
import type { Pane } from "../src/panes/pane";
import { inlined } from "./sample";

/** A pane without a browser: a line for each row, and what its ruler was told to mark. */
class Text extends Linked {
  readonly marks = vi.fn();
  readonly pane: Pane;

  constructor(
    readonly kind: "source" | "stage" | "code",
    readonly title: string,
    kernel: Kernel,
    rows: Rows | null,
    lines: readonly string[],
  ) {
    super(kernel, rows);
    const doc = { line: (number: number) => ({ text: lines[number - 1] }) };
    this.pane = { ruler: { set: this.marks }, view: { state: { doc } } } as unknown as Pane;
  }
}

let kernel: Kernel;
let code: Text;
let llvm: Text;
let spirv: Text;
let links: Links;
const lighting = { hover: vi.fn(), pin: vi.fn(), clear: vi.fn() };
const told = [0, 1, 2].map(() => ({ textContent: "" }));

beforeEach(async () => {
  vi.clearAllMocks();
  kernel = await inlined();
  code = new Text("code", "Machine code", kernel, kernel.code, kernel.code.lines);
  llvm = new Text("stage", "LLVM IR", kernel, kernel.stages[0], kernel.stages[0].lines);
  spirv = new Text("stage", "SPIR-V", kernel, kernel.stages[1], kernel.stages[1].lines);
  const slots = [code, llvm, spirv].map((linked, number) => ({ number, linked, told: told[number] }));
  const layout = { slots, slotOf: (linked: Linked) => slots.find((slot) => slot.linked === linked) ?? null };
  links = new Links(lighting as unknown as Lighting, layout as unknown as Layout);
});

function target(linked: Linked, line: number): Target {
  return links.target(linked, line) as Target;
}

test("a line of a stage that is no instruction belongs to nothing; one without a source line does", () => {
  expect(links.target(llvm, 0)).toBeNull();
  expect(links.target(code, 4)).toEqual({ linked: code, line: 4, row: 4, key: -1 });
});

test("by line: what comes from the same source line, whatever only inherits it apart", () => {
  const row = target(code, 0);
  expect(row.key).toBe(0);
  expect([code, llvm, spirv].map((linked) => [...links.lines(row, linked)])).toEqual([[0], [1], [0]]);
  expect(links.light(row)).toEqual({ key: 0, exact: null });
});

test("exactly: what is of the same vISA instruction, where stages have numbers", () => {
  const row = target(code, 2);
  links.exact = true;
  expect(links.hasExact(row)).toBe(true);
  expect([code, llvm, spirv].map((linked) => [...links.lines(row, linked)])).toEqual([[2], [2, 3], []]);
  expect(links.light(row)).toEqual({ key: 2, exact: [".slot0 .R2", ".slot1 .R2", ".slot1 .R3"] });
  expect(links.hasExact(target(spirv, 0))).toBe(false);
});

test("a hover lights up its line, and marks it in each pane's ruler", () => {
  links.hits.set(llvm, Int32Array.of(3));
  links.hover(kernel, target(code, 1));
  expect(lighting.hover).toHaveBeenCalledWith(kernel, { key: 1, exact: null });
  expect(code.marks).toHaveBeenCalledWith([{ lines: Int32Array.of(1), colour: "lit" }]);
  expect(llvm.marks).toHaveBeenCalledWith([
    { lines: Int32Array.of(3), colour: "hit" },
    { lines: Int32Array.of(3), colour: "lit" },
  ]);
  expect(told.map(({ textContent }) => textContent)).toEqual(["1 lit", "1 found · 1 lit", "0 lit"]);
});

test("what is pinned stays marked, and is not lit again", () => {
  const row = target(code, 0);
  links.pin(kernel, row);
  links.hover(kernel, target(spirv, 0));
  expect(lighting.hover).toHaveBeenCalledWith(kernel, DARK);
  links.hover(kernel, target(code, 1));
  expect(lighting.hover).toHaveBeenCalledWith(kernel, { key: 1, exact: null });
  expect(code.marks).toHaveBeenLastCalledWith([{ lines: Int32Array.of(0), colour: "lit" }]);
});

test("a pinned instruction says who wrote what it reads, and who reads what it wrote", () => {
  const pinned = (row: number): unknown[] => {
    links.pin(kernel, target(code, row));
    return lighting.pin.mock.lastCall?.slice(2) ?? [];
  };
  expect(pinned(2)).toEqual([".slot0 .R2", '.slot0 .R1 .from::before{content:"w"}.slot0 .R4 .from::before{content:"r"}']);
  // A register that is clicked lights where its value is written and read.
  links.register = { register: 6, isWritten: true };
  expect(pinned(2)).toEqual([".slot0 .R2", `.slot0 .R4 .from::before{content:"r"}.slot0 .t-r.g6{${SAME}}.slot0 .R4 .t-r.g6{${READ}}.slot0 .R2 .t-r.g6{${WRITTEN}}`]);
  links.register = null;
  links.pin(kernel, target(llvm, 1));
  expect(lighting.pin).toHaveBeenLastCalledWith(kernel, { key: 0, exact: null }, ".slot1 .R1", "");
  links.clear();
  expect([links.pinned, lighting.clear.mock.calls.length]).toEqual([null, 1]);
});

test("what is advised on a line lights its instructions alone, and the line in the other panes", () => {
  const advised = { ...target(code, 1), key: 0, rows: Int32Array.of(0, 3) };
  expect(links.light(advised)).toEqual({ key: 0, exact: [".slot0 .R0", ".slot0 .R3", ".slot1 .L0", ".slot2 .L0"] });
  expect([code, llvm, spirv].map((linked) => [...links.lines(advised, linked)])).toEqual([[0, 3], [1], [0]]);
});

test("a row has arrows where it is pointed at; a line only where it is pinned", () => {
  const point = vi.spyOn(code, "point");
  links.hover(kernel, target(code, 1));
  expect(point).toHaveBeenLastCalledWith(Int32Array.of(1), false, false);
  links.hover(kernel, target(llvm, 1));
  expect(point).toHaveBeenLastCalledWith(new Int32Array(0), false, false);
  links.pin(kernel, target(llvm, 1));
  expect(point).toHaveBeenLastCalledWith(Int32Array.of(0), true, true);
});

test("what the detail and a screen reader are told", () => {
  const row = target(code, 2);
  expect(links.shown(row)).toEqual({
    key: 2,
    place: 2,
    row: 2,
    register: null,
    held: null,
    isAdvice: false,
    isExact: false,
    hasExact: true,
    lit: [
      { name: "machine code", lines: 1 },
      { name: "LLVM IR", lines: 1 },
      { name: "SPIR-V", lines: 1 },
    ],
  });
  expect(links.words(kernel, row)).toMatch(/^3: send\.dc0 .*, line 7, 1 instruction, 20 percent, 1 in LLVM IR, 1 in SPIR-V$/);
  expect(links.words(kernel, target(code, 4))).toMatch(/, no source line$/);
});
