import type { StartLine } from "../document/schema";
import { h } from "../dom";
import type { Entry } from "./kernels";

/** The lines to start at, of all kernels: a click goes there. Null where nothing was observed. */
export function startList(lines: readonly StartLine[], entries: readonly Entry[], go: (entry: Entry, line: StartLine) => void): HTMLElement | null {
  const items = lines.flatMap((line) => {
    const entry = entryOf(line, entries);
    if (entry === null) return [];
    const where = line.line === null ? entry.shown : `${entry.shown}:${line.line.line}`;
    const title = [line.sentence, line.action].filter(Boolean).join("\n");
    const button = h("button", { class: "link", type: "button", title, onclick: () => go(entry, line) }, where);
    return [h("li", {}, button, " ", h("span", {}, line.title))];
  });
  if (items.length === 0) return null;
  return h("section", { class: "start", "aria-label": "Start here" }, h("h3", { title: "What wastes most of all kernels, as an interpreter counted" }, "Start here"), h("ol", {}, ...items));
}

/** The kernel of such a line. */
export function entryOf(line: StartLine, entries: readonly Entry[]): Entry | null {
  return entries.find(({ program, row }) => program.id === line.program && row === line.row) ?? null;
}
