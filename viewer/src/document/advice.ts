import { column, damaged, list, object, text, textOrNull } from "./checked";
import type { Rows } from "./rows";

/** Pieces of advice on one kernel: makers of documents stay far below. */
const MOST = 10_000;

/** One sentence on how the kernel could be cheaper, with the instructions that it is about. */
export interface Advice {
  rule: string;
  sentence: string;
  /** Where in the source, as a reader names it; null for the whole kernel. */
  place: string | null;
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
    const place = textOrNull(piece.place, "advice.place");
    // All of its instructions are of one place.
    return { rule: text(piece.rule, "advice.rule"), sentence: text(piece.sentence, "advice.sentence"), place, rows, key: place === null ? -1 : code.key[rows[0]] };
  });
}
