import { expect, test } from "vitest";

import { overlap, Registers } from "../src/document/registers";
import { byLine } from "../src/frame/peak";
import { namedFor, namedIn } from "../src/machine/named";
import { parse } from "../src/machine/parse";

/**
 * Rows: 0 and 1 write the low and the high bytes of r4 (1 by a predicate), 2 reads all of them, 3 reads the low ones and r9, which
 * was there before; 5 writes r4 again, which nobody reads.
 */
const USE = {
  row: [2, 0, 1],
  back: [2, 1, 3],
  register: [4, 4, 4],
  value: [0, 1, 0],
  part: [0, 1, 0],
  parts: [[0, 15], [16, 23, 28, 31]],
  before: { row: [3], register: [9], value: [3] },
  partial: [1],
};
const RANGE = { register: [4, 0, 0, 5], row: [0, 1, 4, -5], rows: [4, 2, 1, 4], value: [0, 1, 1, 1] };

const registers = new Registers(USE, RANGE, 6);

test("of a source, who wrote which bytes, and who else reads them", () => {
  const held = registers.held(2, 4, false);
  expect(held?.writers).toEqual([
    { row: 0, bytes: [0, 15], isPartial: false },
    { row: 1, bytes: [16, 23, 28, 31], isPartial: true },
  ]);
  expect([held?.readers, held?.isBefore, held?.ranges]).toEqual([[2, 3], false, [[0, 3], [1, 2]]]);
});

test("of a destination, who reads it", () => {
  expect(registers.held(1, 4, true)).toMatchObject({ writers: [{ row: 1 }], readers: [2], ranges: [[1, 2]] });
  expect(registers.held(5, 4, true)).toMatchObject({ writers: [{ row: 5, bytes: [] }], readers: [], ranges: [[5, 5]] });
});

test("what was there before the code", () => {
  expect(registers.held(3, 9, false)).toMatchObject({ writers: [], readers: [3], isBefore: true, ranges: [[0, 3]] });
});

test("the registers that are live at a row, and who wrote them", () => {
  // r4 holds two values there, r9 what was there before.
  expect(registers.liveAt(1)).toEqual([{ register: 4, writers: [0, 1] }, { register: 9, writers: [] }]);
  expect(registers.liveAt(3)).toEqual([{ register: 4, writers: [0] }, { register: 9, writers: [] }]);
  // Nobody reads it: it was written where its range begins.
  expect(registers.liveAt(5)).toEqual([{ register: 4, writers: [5] }]);
  expect(new Registers({ ...USE, value: [-1, -1, -1] }, null, 6).liveAt(1)).toBeNull();
});

test("registers at the peak by the line whose values they hold, each with its writers of that line", () => {
  const live = [{ register: 1, writers: [] }, { register: 2, writers: [0] }, { register: 3, writers: [0, 4] }, { register: 5, writers: [4] }];
  const held = [
    { line: [0, 20] as const, origin: null, registers: Int32Array.of(3, 5) },
    { line: [0, 10] as const, origin: null, registers: Int32Array.of(2, 3) },
    { line: null, origin: "the thread's start", registers: Int32Array.of(1) },
    // Of a library: its code is laid on line 10.
    { line: [1, 7] as const, origin: null, registers: Int32Array.of(2) },
  ];
  const keyOf = (file: number, line: number): number => (file === 0 ? line : -1);
  const parts = byLine(held, live, keyOf, (row) => (row === 4 ? 20 : 10));
  expect(parts.map(({ key, origin, live: of }) => [key, origin, of.map(({ register, writers }) => [register, ...writers])])).toEqual([
    [10, "no line", [[2, 0], [3, 0], [2, 0]]],
    [20, "no line", [[3, 4], [5, 4]]],
    [null, "the thread's start", [[1]]],
  ]);
});

test("a register that a row does not read", () => {
  expect(registers.held(2, 7, false)).toBeNull();
});

test("without live ranges the writers are known still", () => {
  expect(new Registers({ ...USE, value: [-1, -1, -1] }, null, 6).held(3, 4, false)).toMatchObject({ writers: [{ row: 0 }], ranges: null });
});

test("runs of bytes that have some in common", () => {
  expect([overlap([0, 3], [4, 7]), overlap([0, 4], [4, 7]), overlap([0, 1, 8, 9], [4, 8]), overlap([], [0, 3])]).toEqual([false, true, true, false]);
});

test.each([
  ["mad (16|M0) r4.0<1>:f r2.0<1;0>:f -r3.1<0;0>:f r2.0<1>:f", [[4, true], [2, false], [3, false], [2, false]]],
  ["cmp (16|M0) (gt)f0.0 null:d r12.0<8;8,1>:d r14.0<8;8,1>:d", [[12, false], [14, false]]],
  ["(W) send.dc0 (16|M0) null r8 r20:2 0x0 0x02106E00 {$3}", [[8, false], [20, false]]],
  ["mov (8|M0) r[a0.0,32]<1>:ud cr0.0<0;1,0>:ud", []],
])("the registers that %s names", (text, expected) => {
  expect(namedIn(parse(text)).map(({ register, isWritten }) => [register, isWritten])).toEqual(expected);
});

test("the operand that reaches a register", () => {
  const named = namedIn(parse("send.ugm (16|M0) r40 r8 r20:2 0x0 0x02106E00"));
  expect([8, 9, 21, 40, 41, 7, 100].map((register) => namedFor(named, register))).toEqual([8, 8, 20, 40, 40, -1, -1]);
});
