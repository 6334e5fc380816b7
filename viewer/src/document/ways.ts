import { column, damaged, integer, integers, list, object } from "./checked";

/** The ways of lanes through a kernel: straight code between branches, and loops, each before those inside it. */
export interface Ways {
  /** First rows of straight code, ascending: of blocks, but that lanes pass a `join` and come back from a call. */
  firsts: Int32Array;
  /** The innermost loop of each, -1 outside of loops. */
  loopOf: Int32Array;
  /** The loop around each loop, -1 for none. */
  parent: Int32Array;
  /** Where lanes go from rows, besides on to the next. */
  jumps: ReadonlyMap<number, readonly number[]>;
}

/** Null where the ways are not known. */
export function waysOf(written: unknown, last: number): Ways | null {
  if (written === null) return null;
  const chunk = object(written, "code.flow");
  const firsts = column(chunk.block, list(chunk.block, "code.flow.block").length, 0, last, "code.flow.block");
  if (firsts.some((row, block) => (block === 0 ? row !== 0 : row <= firsts[block - 1]))) damaged("straight code does not ascend");
  const parent = Int32Array.from(list(chunk.parent, "code.flow.parent"), (each, loop) => integer(each, -1, loop - 1, "code.flow.parent"));
  const loopOf = integers(chunk.loop, firsts.length, -1, parent.length - 1, "code.flow.loop");
  const jumps = new Map(
    list(chunk.jump, "code.flow.jump").map((each) => {
      const [row, ...targets] = list(each, "code.flow.jump").map((target) => integer(target, 0, last, "code.flow.jump"));
      return [integer(row, 0, last, "code.flow.jump"), targets];
    }),
  );
  return { firsts, loopOf, parent, jumps };
}
