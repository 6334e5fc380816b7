import { type Tried, type TriedRow, tableOf } from "../document/tried";
import { h } from "../dom";

/** What became of a kernel with each of the options that were tried, as a table. */
export function triedTable(tried: Tried, kernel: string): HTMLElement {
  const { source, device, compiler } = tried;
  const title = `Tried on ${source} for ${device}, compiled by ${compiler}`;
  const table = tableOf(tried, kernel);
  if (table === null) return h("p", {}, `${source} alone has no kernel of this name: nothing was compared.`);
  const { headings, rows, same, legend } = table;
  return h(
    "div",
    {},
    h(
      "div",
      { class: "cells", tabindex: "0", role: "group", "aria-label": "Options tried" },
      h(
        "table",
        {},
        h("caption", {}, title),
        h("thead", {}, h("tr", {}, ...headings.map((heading) => h("th", { scope: "col" }, heading)))),
        h("tbody", {}, ...rows.map((row) => rowOf(row, headings.length))),
      ),
    ),
    ...same.map((words) => h("p", {}, words)),
    ...legend.map((words) => h("p", { class: "dim" }, words)),
  );
}

function rowOf({ title, cells, reason }: TriedRow, columns: number): HTMLElement {
  const head = h("th", { scope: "row" }, title);
  if (reason !== null) return h("tr", { class: "failed" }, head, h("td", { colspan: columns - 1 }, reason));
  return h("tr", {}, head, ...cells.slice(1).map((cell, at) => h("td", { class: at === columns - 2 ? null : "number" }, cell)));
}
