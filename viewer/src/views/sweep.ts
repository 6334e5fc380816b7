import type { App } from "../app";
import { HttpSource } from "../document/http";
import type { Index } from "../document/schema";
import { count, fill, h, largest } from "../dom";
import { entriesOf } from "../frame/kernels";
import { nothing, type View } from "./view";

/** The answer of `kernlens sweep --json` (docs/json.md). */
interface SweepAnswer {
  rows: {
    source: string;
    device: string;
    toolchain: string;
    compiler: string | null;
    options: string;
    kernel: string | null;
    figures: Record<string, number | null> | null;
    reason: string | null;
  }[];
}

type Row = SweepAnswer["rows"][number];
/** Of this figure less is worse. */
const LESS_IS_WORSE = new Set(["simd"]);

/** Kernels by configurations, in colours by one figure; the worst of each row is outlined. The programs of the document are a
 * sweep too, where a server has no table of one. */
export class SweepView implements View {
  readonly name = "sweep";
  readonly title = "Sweep";
  readonly hint = "Kernels by devices, toolchains and options";
  readonly element = h("div", { class: "sweep" });
  private read: Promise<SweepAnswer | null> | null = null;

  constructor(private readonly app: App) {}

  show(): void {
    const { source } = this.app;
    // That a server has no table of a sweep is nothing wrong.
    this.read ??= source instanceof HttpSource ? (source.json("/api/sweep") as Promise<SweepAnswer>).catch(() => null) : Promise.resolve(null);
    void this.read.then((answer) => {
      const { index, state } = this.app;
      if (index !== null) this.draw(answer ?? sweepOf(index), state.more.figure ?? "spill_bytes");
    });
  }

  private draw({ rows }: SweepAnswer, wanted: string): void {
    const figures = [...new Set(rows.flatMap((row) => Object.keys(row.figures ?? {})))];
    if (figures.length === 0) return fill(this.element, nothing("No cell of this sweep has a kernel.", rows[0]?.reason ?? null));
    const figure = figures.includes(wanted) ? wanted : figures[0];
    const columns = [...new Map(rows.map((row) => [columnOf(row), row])).values()];
    if (columns.length < 2)
      return fill(this.element, nothing("All of this is one configuration, and a sweep needs several.", "kernlens sweep SOURCE --device all -o X.klens, and open X.klens"));
    const kernels = new Map<string, Map<string, Row>>();
    for (const row of rows) {
      const key = `${row.source} ${row.kernel ?? ""}`;
      kernels.set(key, (kernels.get(key) ?? new Map<string, Row>()).set(columnOf(row), row));
    }
    const select = h("select", { "aria-label": "Figure" }, ...figures.map((each) => h("option", { value: each, selected: each === figure }, this.headingOf(each))));
    select.addEventListener("change", () => {
      this.app.go({ more: { ...this.app.state.more, figure: select.value } }, "replace");
      this.draw({ rows }, select.value);
      this.element.querySelector("select")?.focus();
    });
    const most = largest(rows.map((row) => row.figures?.[figure] ?? 0), 1);
    const body = [...kernels.values()].map((cells) => this.line(cells, columns, figure, most));
    body.sort((one, other) => other.worst - one.worst);
    const head = h("tr", {}, h("th", { scope: "col" }, "kernel"), ...columns.map((row) => h("th", { scope: "col", title: row.compiler ?? "" }, row.device, h("br"), row.toolchain, h("br"), row.options || "no options")));
    const told_ = `${count(kernels.size)} kernels, ${count(columns.length)} configurations. The worst cell of each row is outlined; a cell opens its kernel.`;
    fill(
      this.element,
      h("div", { class: "choice" }, h("label", {}, "Figure ", select), h("span", { class: "dim" }, told_)),
      h("div", { class: "cells", tabindex: "0" }, h("table", {}, h("caption", { class: "spoken" }, "Sweep"), h("thead", {}, head), h("tbody", {}, ...body.map(({ element }) => element)))),
    );
  }

  private line(cells: Map<string, Row>, columns: Row[], figure: string, most: number): { element: HTMLElement; worst: number } {
    const values = [...cells.values()].map((row) => row.figures?.[figure] ?? null).filter((value) => value !== null);
    const less = LESS_IS_WORSE.has(figure);
    const worst = values.length === 0 ? null : less ? Math.min(...values) : Math.max(...values);
    const differs = values.some((value) => value !== worst);
    const [first] = cells.values();
    const element = h(
      "tr",
      {},
      h("th", { scope: "row", class: "mono", title: first.source }, first.kernel ?? first.source),
      ...columns.map((column) => {
        const row = cells.get(columnOf(column));
        if (row === undefined) return h("td", {}, "");
        const value = row.figures?.[figure] ?? null;
        if (value === null) return h("td", { class: row.figures === null ? "failed" : null, title: row.reason ?? "not known" }, row.figures === null ? "failed" : "–");
        const shade = less || value <= 0 ? 0 : Math.max(1, Math.round((8 * Math.log1p(value)) / Math.log1p(most)));
        const classes = `h${shade}${differs && value === worst ? " worst" : ""}`;
        return h("td", { class: classes }, h("button", { type: "button", class: "link", onclick: () => this.open(row) }, count(value)));
      }),
    );
    return { element, worst: worst === null ? -Infinity : less ? -worst : worst };
  }

  private headingOf(key: string): string {
    return this.app.index?.figures.find((figure) => figure.key === key)?.heading ?? key.replaceAll("_", " ");
  }

  private open(row: Row): void {
    const { index } = this.app;
    const entries = index === null ? [] : entriesOf(index).filter(({ name, program }) => name === row.kernel && program.device === row.device);
    const entry = entries.find(({ program }) => program.options === row.options && (program.toolchain ?? row.toolchain) === row.toolchain) ?? entries.find(({ program }) => program.options === row.options);
    if (entry === undefined) return this.app.tell(`The code of this cell was not kept: kernlens compile ${row.source} --device ${row.device} --toolchain ${row.toolchain}${row.options ? ` --options "${row.options}"` : ""}`);
    this.app.go({ view: "panes" }, "push");
    void this.app.open(entry);
  }
}

/** Each kernel of the document with the figures that its index has. */
function sweepOf({ programs, figures }: Index): SweepAnswer {
  const keys = [...figures.map(({ key }) => key), "memory", "peak"];
  const rows = programs.flatMap(({ name, device, toolchain, options, kernels, versions }) =>
    kernels.name.map((kernel, row) => ({
      source: name,
      device: device ?? "?",
      toolchain: toolchain ?? "?",
      compiler: versions.join(" · "),
      options,
      kernel,
      figures: Object.fromEntries(keys.flatMap((key) => (typeof kernels[key]?.[row] === "number" ? [[key, kernels[key][row] as number]] : []))),
      reason: null,
    })),
  );
  return { rows };
}

function columnOf({ device, toolchain, options }: Row): string {
  return JSON.stringify([device, toolchain, options]);
}
