import { integer, integers, list, object } from "./checked";

/** The loops of a kernel, each before those inside it. */
export interface Loops {
  /** The innermost loop of each block, -1 outside of loops. */
  of: Int32Array;
  /** The loop around each loop, -1 for none. */
  parent: Int32Array;
  /** The first row of the block that each round of a loop begins with. */
  header: Int32Array;
}

export function loopsOf(written: unknown, blocks: number, last: number): Loops {
  if (written === null) return { of: new Int32Array(blocks).fill(-1), parent: new Int32Array(0), header: new Int32Array(0) };
  const chunk = object(written, "code.loop");
  const { length } = list(chunk.parent, "code.loop.parent");
  const of = integers(chunk.of, blocks, -1, length - 1, "code.loop.of");
  const header = integers(chunk.header, length, 0, last, "code.loop.header");
  const parent = Int32Array.from(list(chunk.parent, "code.loop.parent"), (each, loop) => integer(each, -1, loop - 1, "code.loop.parent"));
  return { of, parent, header };
}
