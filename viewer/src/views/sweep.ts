import { HttpSource } from "../document/http";
import { withoutLines } from "../document/options";
import { sentenceOf } from "../document/source";
import { count, fill, h, largest, plural } from "../dom";
import { entriesOf } from "../frame/kernels";
import { nothing } from "../frame/message";
import type { Page } from "../page";
import { Builds } from "./builds";
import { columnOf, type Row, rowsOf, sweepOf } from "./sweep_rows";
import type { View } from "./view";

/** Kernels that are drawn. */
const MOST_ROWS = 2000;
/** Of this figure less is worse. */
const LESS_IS_WORSE = new Set(["simd"]);

/** Kernels by configurations, in colours by one figure; the worst of each row is marked. The programs of the document are a
 * sweep too, where a server has no table of one. */
export class SweepView implements View {
  readonly name = "sweep";
  readonly title = "Sweep";
  readonly hint = "Kernels by devices, toolchains and options";
  readonly element = h("div", { class: "sweep" });
  private read: Promise<Row[] | null> | null = null;

  /** What was compiled here, of the kernel that was shown; its rows stand in place of those of one configuration. */
  private readonly builds: Builds;

  constructor(private readonly page: Page) {
    this.builds = new Builds(page, () => this.show());
  }

  show(): void {
    const { source } = this.page;
    this.read ??= source instanceof HttpSource ? source.json("/api/sweep").then((table) => (table === null ? null : rowsOf(table))) : Promise.resolve(null);
    this.read.then(
      (rows) => {
        const { index, state } = this.page;
        if (index !== null) this.draw(this.builds.rows ?? rows ?? sweepOf({ figures: index.figures, programs: [...this.page.listed] }), state.more.figure ?? null);
      },
      (problem: unknown) => {
        // It is asked for again the next time that the view is shown.
        this.read = null;
        fill(this.element, nothing(sentenceOf(problem)));
      },
    );
  }

  private draw(rows: Row[], asked: string | null): void {
    const figures = [...new Set(rows.flatMap((row) => [...(row.figures ?? [])].flatMap(([key, value]) => (value === null ? [] : [key]))))];
    const isBuilt = this.builds.rows !== null;
    if (figures.length === 0) return fill(this.element, isBuilt ? this.builds.element : null, isBuilt && rows.length === 0 ? null : nothing("No cell of this sweep has a kernel.", rows[0]?.reason ?? null));
    // Spills are the first thing to look at, where there are any.
    const spills = rows.some((row) => (row.figures?.get("spill_bytes") ?? 0) > 0);
    const figure = [asked, spills ? "spill_bytes" : null, "instructions"].find((each) => each !== null && figures.includes(each)) ?? figures[0];
    const columns = [...new Map(rows.map((row) => [columnOf(row), row])).values()];
    if (columns.length < 2 && !isBuilt) return this.single();
    const kernels = new Map<string, Map<string, Row>>();
    for (const row of rows) {
      let key = `${row.source} ${row.kernel ?? ""}`;
      // Of two programs alike, each has a row.
      while (kernels.get(key)?.has(columnOf(row))) key += " ";
      kernels.set(key, (kernels.get(key) ?? new Map<string, Row>()).set(columnOf(row), row));
    }
    const select = h("select", { "aria-label": "Figure" }, ...figures.map((each) => h("option", { value: each, selected: each === figure }, this.headingOf(each))));
    select.addEventListener("change", () => {
      this.page.go({ more: { ...this.page.state.more, figure: select.value } }, "replace");
      this.draw(rows, select.value);
    });
    const most = largest(rows.map((row) => row.figures?.get(figure) ?? 0), 1);
    const body = [...kernels.values()].map((cells) => this.line(cells, columns, figure, most));
    body.sort((left, right) => (right.worst === left.worst ? 0 : right.worst - left.worst));
    const head = h("tr", {}, h("th", { scope: "col" }, "kernel"), ...columns.map((row) => h("th", { scope: "col", title: row.compiler ?? "" }, row.device, h("br"), row.toolchain, h("br"), withoutLines(row.options) || "no options")));
    const words = `${plural(kernels.size, "kernel")}, ${plural(columns.length, "configuration")}. ▲ is the worst of its row among builds for one device; a cell opens its kernel.`;
    const more = body.length > MOST_ROWS ? ` The worst ${count(MOST_ROWS)} are drawn.` : "";
    fill(
      this.element,
      isBuilt ? this.builds.element : null,
      h("div", { class: "choice" }, h("label", {}, "Figure ", select), h("span", { class: "dim" }, words + more)),
      h("div", { class: "cells", tabindex: "0" }, h("table", {}, h("caption", { class: "spoken" }, "Sweep"), h("thead", {}, head), h("tbody", {}, ...body.slice(0, MOST_ROWS).map(({ element }) => element)))),
    );
  }

  private line(cells: Map<string, Row>, columns: Row[], figure: string, most: number): { element: HTMLElement; worst: number } {
    const values = [...cells.values()].map((row) => row.figures?.get(figure) ?? null).filter((value) => value !== null);
    const less = LESS_IS_WORSE.has(figure);
    const worstOf = (numbers: readonly number[]): number | null => (numbers.length === 0 ? null : less ? Math.min(...numbers) : Math.max(...numbers));
    const worst = worstOf(values);
    // Figures of two devices are no measure of one another: the worst is that of a device's builds.
    const own = new Map(columns.map(({ device }) => [device, columns.flatMap((column) => (column.device === device ? [cells.get(columnOf(column))?.figures?.get(figure) ?? null] : [])).filter((value) => value !== null)]));
    const [first] = cells.values();
    const element = h(
      "tr",
      {},
      h("th", { scope: "row", class: "mono", title: first.source }, first.kernel ?? first.source),
      ...columns.map((column) => {
        const row = cells.get(columnOf(column));
        if (row === undefined) return h("td", {}, "");
        const value = row.figures?.get(figure) ?? null;
        if (value === null) return h("td", { class: row.figures === null ? "failed" : null, title: row.reason ?? "not known" }, row.figures === null ? "failed" : "–");
        const shade = less || value <= 0 ? 0 : Math.max(1, Math.round((8 * Math.log1p(value)) / Math.log1p(most)));
        const alike = own.get(column.device) ?? [];
        const isWorst = value === worstOf(alike) && alike.some((other) => other !== value);
        const mark = isWorst ? h("span", { class: "mark", "aria-hidden": "true" }, "▲") : null;
        const words = `${first.kernel ?? first.source}, ${column.device} ${column.toolchain}: ${count(value)}${isWorst ? ", the worst for this device" : ""}`;
        return h("td", { class: `h${shade}${isWorst ? " worst" : ""}` }, h("button", { type: "button", class: "link", "aria-label": words, onclick: () => this.open(row) }, mark, count(value)));
      }),
    );
    return { element, worst: worst === null ? -Infinity : less ? -worst : worst };
  }

  /** All is one configuration: what else it can be compiled for, or what does that. */
  private single(): void {
    const { kernel, compiler } = this.page;
    const words = nothing("All of this is one configuration, and a sweep needs several.", compiler === null ? "A report compiles nothing: kernlens serve FILE does, or kernlens sweep SOURCE --device all -o X.klens, and open X.klens." : null);
    fill(this.element, words);
    if (kernel !== null && compiler !== null) void this.builds.offer(kernel).then((isOffered) => isOffered && words.isConnected && this.element.append(this.builds.element));
  }

  private headingOf(key: string): string {
    return this.page.index?.figures.find((figure) => figure.key === key)?.heading ?? key.replaceAll("_", " ");
  }

  private open(row: Row): void {
    const { index, compiler } = this.page;
    if (this.builds.rows !== null) {
      this.page.go({ view: "panes" }, "push");
      this.page.showView();
      const { device, toolchain, options } = row;
      return void compiler?.configure({ device, toolchain, options });
    }
    const entries = index === null ? [] : entriesOf(index).filter(({ name, program }) => name === row.kernel && program.device === row.device);
    const alike = entries.filter(({ program }) => withoutLines(program.options ?? "") === withoutLines(row.options));
    const entry = alike.find(({ program }) => (program.toolchain ?? row.toolchain) === row.toolchain) ?? alike[0];
    if (entry === undefined) return this.page.tell(`The code of this cell was not kept: kernlens compile ${row.source} --device ${row.device} --toolchain ${row.toolchain}${row.options ? ` --build-options "${row.options}"` : ""}`);
    this.page.go({ view: "panes" }, "push");
    void this.page.open(entry);
  }
}
