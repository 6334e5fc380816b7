import { DIFFERING_HEADINGS, differingRows, notesOf, type Replayed } from "../document/replayed";
import { h, sentence } from "../dom";

/** What a replay answered: the answer, what differs as a table, and what was not compared. */
export function replayedAnswer(replayed: Replayed): HTMLElement {
  const rows = differingRows(replayed);
  return h(
    "div",
    {},
    h("p", {}, `${replayed.title}: `, h("b", {}, replayed.answer)),
    rows.length === 0 ? null : h(
      "div",
      { class: "cells", tabindex: "0", role: "group", "aria-label": "Differences" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...DIFFERING_HEADINGS.map((heading) => h("th", { scope: "col" }, heading)))),
        h("tbody", {}, ...rows.map(({ build, memory, cells }) => h("tr", {}, h("td", {}, build), h("th", { scope: "row" }, memory), ...cells.map((cell) => h("td", {}, cell))))),
      ),
    ),
    h("p", { class: "dim" }, notesOf(replayed).map(sentence).join(" ")),
  );
}
