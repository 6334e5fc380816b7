import { NO_ROWS } from "../document/csr";
import { hex, svg } from "../dom";
import type { Held } from "../document/registers";
import { LONG, operation, SHORT } from "../document/waits";
import type { Linked } from "./linked";

/** More of one line are not drawn, nor more of all lines, nor ranges of one value: nobody could tell them apart. */
const MOST = 60;
const MOST_OF_ALL = 400;
const MOST_RANGES = 200;
/** The lane that they are drawn in, and its left and right ends: style/lane.css has its width. */
const LEFT = 3;
const RIGHT = 22;
/** Live ranges stand side by side, from the text outwards. */
const BARS = [18, 13, 8, 3];
export const MOST_BARS = BARS.length;

/** The lane before the text: who waits for whom, as arrows from the instruction that waits to the other, and live ranges as bars. */
export class Lane {
  private readonly all = svg("g");
  private readonly own = svg("g");
  private readonly element = svg("svg", { class: "arrows" }, this.all, this.own);
  /** Says where the producer is that is out of sight, and goes there. */
  private readonly edge = document.createElement("button");
  private rows: Int32Array = new Int32Array(0);
  private bars: readonly Held[] = [];
  private target = -1;
  private frame = 0;

  constructor(
    private readonly code: Linked,
    private readonly goTo: (row: number) => void,
  ) {
    this.edge.type = "button";
    this.edge.className = "edge";
    this.edge.hidden = true;
    this.edge.addEventListener("click", () => this.target >= 0 && goTo(this.target));
    const { view, element } = code.pane;
    // What stands there scrolls with the text, and stays where lines are longer than the pane.
    view.dom.querySelector(".cm-gutters-before")?.append(this.element);
    element.append(this.edge);
    view.scrollDOM.addEventListener("scroll", () => this.soon(), { passive: true });
  }

  /** Draws the arrows of an instruction, and of those that wait for it; or those of a line's instructions, the long ones. */
  show(rows: Int32Array, isLine: boolean, isPinned: boolean): void {
    const { waits } = this.code.kernel.code;
    this.strong = isLine || rows.length === 0 ? -1 : rows[0];
    this.isPinned = isPinned;
    if (waits !== null) {
      const least = isLine ? LONG : SHORT;
      const shown = isLine ? rows : Int32Array.of(...rows, ...Array.from(rows).flatMap((row) => Array.from(waits.waiters(row))));
      this.rows = shown.filter((row) => waits.cycles[row] >= least).slice(0, MOST);
    }
    this.draw();
  }

  /** Draws the live ranges of what is pinned, with its writers and readers. */
  hold(bars: readonly Held[]): void {
    if (bars.length === 0 && this.bars.length === 0) return;
    this.bars = bars.slice(0, MOST_BARS);
    this.draw();
  }

  /** The instruction whose own arrow stands out; -1 for none. */
  private strong = -1;
  private isPinned = false;

  /** Draws all of it where its rows are now. */
  redraw(): void {
    const { waits } = this.code.kernel.code;
    // Coloured by waits, all long ones have a thin arrow.
    const rows = waits !== null && this.element.closest(".app.waits") !== null ? waits.long.subarray(0, MOST_OF_ALL) : NO_ROWS;
    if (rows.length > 0 || this.all.childElementCount > 0) this.all.replaceChildren(...Array.from(rows, (row) => this.arrow(row, "arrow thin")));
    this.draw();
  }

  /** Draws what is pointed at or pinned: a hover may take a few milliseconds only. */
  private draw(): void {
    if (this.rows.length + this.bars.length === 0 && this.own.childElementCount === 0) return;
    const bars = this.bars.map((held, index) => this.bar(held, BARS[index]));
    this.own.replaceChildren(...bars, ...Array.from(this.rows, (row) => this.arrow(row, row === this.strong ? "arrow strong" : "arrow")));
    this.tell();
  }

  private arrow(row: number, name: string): SVGElement {
    const { waits, offset } = this.code.kernel.code;
    const producer = waits?.producer[row] ?? row;
    const [from, to] = [this.middle(row), this.middle(producer)];
    const title = svg("title");
    title.textContent = `${hex(offset[row])} waits ${waits?.cycles[row]} cycles for ${hex(offset[producer])}: click goes there`;
    const turn = from < to ? 3 : -3;
    const shape = from === to ? `M${RIGHT} ${from}H${LEFT}` : `M${RIGHT} ${from}H${LEFT + 3}Q${LEFT} ${from} ${LEFT} ${from + turn}V${to - turn}Q${LEFT} ${to} ${LEFT + 3} ${to}H${RIGHT - 4}`;
    const arrow = svg("g", { class: name });
    arrow.append(title, svg("path", { class: "near", d: shape }), svg("path", { class: "line", d: shape }), svg("path", { class: "point", d: `M${RIGHT} ${to}l-6 -4v8z` }));
    arrow.addEventListener("click", (event) => {
      event.stopPropagation();
      this.goTo(producer);
    });
    return arrow;
  }

  /** The rows over which a register holds its value: a dot at each writer, an arrow to each reader. */
  private bar(held: Held, x: number): SVGElement {
    const title = svg("title");
    title.textContent = `r${held.register} holds this value here`;
    const shapes = (held.ranges ?? []).slice(0, MOST_RANGES).map(([first, last]) => {
      const [top, bottom] = [this.middle(first), this.middle(last)];
      return svg("path", { class: "span", d: `M${x} ${top}V${Math.max(bottom, top + 1)}` });
    });
    for (const row of held.readers.slice(0, MOST_RANGES)) {
      const y = this.middle(row);
      shapes.push(svg("path", { class: "reader", d: `M${x} ${y}H${RIGHT}` }), svg("path", { class: "head", d: `M${RIGHT + 1} ${y}l-4 -3v6z` }));
    }
    for (const { row } of held.writers.slice(0, MOST_RANGES)) shapes.push(svg("circle", { class: "writer", cx: x, cy: this.middle(row), r: 3.2 }));
    return svg("g", { class: "held" }, title, ...shapes);
  }

  private middle(row: number): number {
    const { view } = this.code.pane;
    const { top, height } = view.lineBlockAt(view.state.doc.line(this.code.lineOf(row) + 1).from);
    return Math.round(top + height / 2);
  }

  private soon(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.tell();
    });
  }

  /** The producer of the instruction that is pinned, where it is out of sight: to ask would have a hover lay out the page. */
  private tell(): void {
    const { kernel, pane } = this.code;
    const { waits, offset } = kernel.code;
    const row = this.isPinned && this.rows.includes(this.strong) ? this.strong : -1;
    this.target = waits === null || row < 0 ? -1 : waits.producer[row];
    const line = this.target < 0 ? -1 : this.code.lineOf(this.target);
    const isHidden = waits === null || line < 0 || pane.sees(line);
    this.edge.hidden = isHidden;
    if (isHidden) return;
    const { scrollTop } = pane.view.scrollDOM;
    const isAbove = this.middle(this.target) < scrollTop + 1;
    const from = kernel.code.own.rows.length > 0 && kernel.code.key[this.target] >= 0 ? `, line ${kernel.places.keyLine[kernel.code.key[this.target]]}` : "";
    this.edge.className = isAbove ? "edge above" : "edge";
    this.edge.textContent = `${isAbove ? "↑" : "↓"} ${hex(offset[this.target])}${from}, ${operation(kernel.code.messages.get(this.target), kernel.code.opcode(this.target))}: waits ${waits.cycles[row]} cycles for it`;
  }
}
