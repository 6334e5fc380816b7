import { column, damaged, integers, list, MOST as MOST_NUMBER, object, text } from "./checked";
import type { Rows } from "./rows";

/** Pieces of advice on one kernel: makers of documents stay far below. */
const MOST = 10_000;

/** One sentence on how the kernel could be cheaper, with the instructions that it is about. */
export interface Advice {
  rule: string;
  sentence: string;
  /** Ascending, never empty. */
  rows: Int32Array;
  /** The line that it is of, -1 for the whole kernel. */
  key: number;
}

/** What is advised on a kernel, in the document's order. */
export function adviceOf(written: unknown, code: Rows): Advice[] {
  const pieces = list(written, "advice");
  if (pieces.length > MOST) damaged(`it has ${pieces.length} pieces of advice`);
  return pieces.map((each) => {
    const piece = object(each, "advice");
    const { length } = list(piece.rows, "advice.rows");
    if (length === 0) damaged("advice names no instruction");
    const rows = column(piece.rows, length, 0, code.count - 1, "advice.rows");
    const key = piece.line === null ? -1 : keyOf(integers(piece.line, 2, 0, MOST_NUMBER, "advice.line"), rows[0], code);
    return { rule: text(piece.rule, "advice.rule"), sentence: text(piece.sentence, "advice.sentence"), rows, key };
  });
}

/** The line's key; with own lines, where code of a library is on another line, the key of the instructions. */
function keyOf([file, line]: Int32Array, row: number, code: Rows): number {
  const key = code.places.keyOf(file, line);
  return key < 0 ? code.key[row] : key;
}
