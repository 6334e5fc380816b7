import { expect, test } from "vitest";
import { Variables } from "../src/document/variables";

const WRITTEN = {
  words: ["r5.0:d", "r5.0:d  overwritten by 0x01d8"],
  list: [
    { name: "width", type: "const int", function: "k", is_argument: true, scope: [], ranges: [2, 5, 0, 5, 9, 1] },
    { name: "i", type: null, function: "k", is_argument: false, scope: [4, 6, 8, 9], ranges: [4, 5, 0] },
  ],
};

const names = (row: number): string[] => new Variables(WRITTEN, 10).at(row).placed.map(({ name, words }) => `${name} ${words}`);

test("a row sees the variables of its scope, each with its place", () => {
  expect(names(1)).toEqual([]);
  expect(names(4)).toEqual(["width r5.0:d", "i r5.0:d"]);
  expect(names(5)).toEqual(["width r5.0:d  overwritten by 0x01d8"]);
  expect(new Variables(WRITTEN, 10).at(5).others).toBe(1);
  expect(new Variables(WRITTEN, 10).at(6).others).toBe(0);
  expect(new Variables(WRITTEN, 10).at(9)).toEqual({ placed: [], others: 1 });
});

test("what names no row or no words is damaged", () => {
  const [width] = WRITTEN.list;
  for (const wrong of [{ ranges: [0, 11, 0] }, { ranges: [0, 1, 2] }, { ranges: [0, 1] }, { scope: [1] }, { name: 3 }]) {
    expect(() => new Variables({ ...WRITTEN, list: [{ ...width, ...wrong }] }, 10)).toThrow();
  }
});
