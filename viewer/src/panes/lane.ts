import { hex, svg } from "../dom";
import { LONG, operation, SHORT } from "../document/waits";
import type { Linked } from "./linked";

/** More of one line are not drawn: nobody could tell them apart. */
const MOST = 60;
/** The lane that they are drawn in, and its left and right ends: style/code.css has its width. */
const LEFT = 3;
const RIGHT = 14;

/** Who waits for whom, as arrows from the instruction that waits to the other, in the lane before the text. */
export class Arrows {
  private readonly element = svg("svg", { class: "arrows" });
  /** Says where the producer is that is out of sight, and goes there. */
  private readonly edge = document.createElement("button");
  private rows: Int32Array = new Int32Array(0);
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
    if (waits === null) return;
    const least = isLine ? LONG : SHORT;
    const shown = isLine ? rows : Int32Array.of(...rows, ...Array.from(rows).flatMap((row) => Array.from(waits.waiters(row))));
    this.rows = shown.filter((row) => waits.cycles[row] >= least).slice(0, MOST);
    this.strong = isLine || rows.length === 0 ? -1 : rows[0];
    this.isPinned = isPinned;
    this.draw();
  }

  /** The instruction whose own arrow stands out; -1 for none. */
  private strong = -1;
  private isPinned = false;

  /** Draws them where their rows are now. */
  draw(): void {
    const { waits } = this.code.kernel.code;
    if (waits === null || (this.rows.length === 0 && this.element.childElementCount === 0)) return;
    const { offset } = this.code.kernel.code;
    const paths = Array.from(this.rows, (row) => {
      const producer = waits.producer[row];
      const [from, to] = [this.middle(row), this.middle(producer)];
      const title = svg("title");
      title.textContent = `${hex(offset[row])} waits ${waits.cycles[row]} cycles for ${hex(offset[producer])}: click goes there`;
      const turn = from < to ? 3 : -3;
      const shape = from === to ? `M${RIGHT} ${from}H${LEFT}` : `M${RIGHT} ${from}H${LEFT + 3}Q${LEFT} ${from} ${LEFT} ${from + turn}V${to - turn}Q${LEFT} ${to} ${LEFT + 3} ${to}H${RIGHT - 4}`;
      const arrow = svg("g", { class: row === this.strong ? "arrow strong" : "arrow" });
      arrow.append(title, svg("path", { class: "near", d: shape }), svg("path", { class: "line", d: shape }), svg("path", { class: "point", d: `M${RIGHT} ${to}l-6 -4v8z` }));
      arrow.addEventListener("click", (event) => {
        event.stopPropagation();
        this.goTo(producer);
      });
      return arrow;
    });
    this.element.replaceChildren(...paths);
    this.tell();
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
