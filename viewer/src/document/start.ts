import { integer, list, MOST, object, text, textOrNull } from "./checked";
import type { StartLine } from "./schema";

/** The lines to start at, as the index has them. */
export function startOf(written: unknown): StartLine[] {
  return list(written, "start").map((each) => {
    const entry = object(each, "start");
    const path = textOrNull(entry.path, "start.path");
    const line = integer(entry.line, 0, MOST, "start.line");
    return {
      program: text(entry.program, "start.program"),
      row: integer(entry.row, 0, MOST, "start.row"),
      line: path === null ? null : { path, line },
      title: text(entry.title, "start.title"),
      sentence: text(entry.sentence, "start.sentence"),
      action: textOrNull(entry.action, "start.action"),
      text: textOrNull(entry.text, "start.text"),
    };
  });
}
