import { lastAtMost } from "../document/csr";
import { count, h, largest, plural, svg } from "../dom";
import { type Drawn, drawn, Flow, type Line } from "../machine/flow";
import type { Linked } from "./linked";

/** Heights of lines and widths of lanes, in pixels: style/blocks.css has them, too. */
const HEIGHT = 19;
const LANES = 7;
const LANE = 6.5;
const INDENT = 10;
/** Where a line's text begins at depth 0, behind the lanes. */
const TEXT = 4 + LANES * LANE;
/** Lines that are drawn beyond those in sight, and loops that are told apart by indent. */
const MARGIN = 10;
const DEEPEST = 6;
/** Outlines with more lines begin with their outermost loops folded. */
const MANY = 400;

/** The kernel's blocks as an outline in the order of addresses, indented by loops, with jumps as arrows: a tree that scrolls the code. */
export class Blocks {
  readonly element = h("section", { class: "blocks", "aria-label": "Blocks", hidden: true });
  private readonly heading = h("span", {});
  private readonly unit = h("span", { class: "unit" });
  private readonly scroller = h("div", { class: "outline", role: "tree", "aria-label": "Blocks in the order of their addresses" });
  private readonly sizer = h("div", { class: "sizer" });
  private readonly flow: Flow;
  /** First rows of the outline's blocks: of one of the code's or of several, where lanes pass a `join` between them. */
  private readonly firsts: Int32Array;
  private readonly folded = new Set<number>();
  private lines: Line[] = [];
  private jumps: Drawn[] = [];
  /** The line that keys move from. */
  private at = 0;
  private pinned: ReadonlySet<number> = new Set();
  private frame = 0;
  private typed = "";
  private typedAt = 0;

  constructor(
    private readonly code: Linked,
    private readonly goTo: (row: number) => void,
  ) {
    const { blocks, targets, ways } = code.kernel.code;
    // Where the ways of lanes are not known, the text's labels are what there is.
    const known = ways ?? { firsts: blocks, loopOf: blocks.map(() => -1), parent: new Int32Array(0), jumps: targets };
    this.firsts = known.firsts;
    this.flow = new Flow(known);
    if (this.firsts.length > MANY) known.parent.forEach((parent, loop) => parent < 0 && this.folded.add(loop));
    this.heading.textContent = ways === null ? plural(this.firsts.length, "block") : `${plural(this.firsts.length, "block")}, ${plural(this.flow.loops, "loop")}`;
    this.scroller.append(this.sizer);
    this.element.append(h("div", { class: "blocks-head" }, this.heading, this.unit), this.scroller);
    this.scroller.addEventListener("scroll", () => this.soon(), { passive: true });
    this.scroller.addEventListener("click", (event) => this.clicked(event));
    this.scroller.addEventListener("keydown", (event) => this.pressed(event));
    code.pane.view.scrollDOM.addEventListener("scroll", () => this.soon(), { passive: true });
    this.element.addEventListener("focusin", () => this.element.classList.add("focused"));
    this.element.addEventListener("focusout", () => this.element.classList.remove("focused"));
    new ResizeObserver(() => this.soon()).observe(this.scroller);
    code.pane.element.append(this.element);
    this.outline();
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  show(on: boolean): void {
    this.element.hidden = !on;
    if (on) this.bring();
  }

  focus(): void {
    this.draw();
    this.sizer.querySelector<HTMLElement>("[tabindex='0']")?.focus();
  }

  /** Lights the blocks of these rows, which are pinned. */
  mark(rows: Int32Array): void {
    this.pinned = new Set(Array.from(rows, (row) => this.flow.holding(row)));
    const first = this.lines.findIndex(({ blocks }) => blocks.some((block) => this.pinned.has(block)));
    if (first >= 0) this.at = first;
    if (this.isOpen) this.bring();
  }

  /** Other colours have other weights. */
  redraw(): void {
    if (this.isOpen) this.soon();
  }

  private outline(): void {
    const block = this.lines[this.at]?.block ?? 0;
    this.lines = this.flow.lines(this.folded);
    this.jumps = drawn(this.flow.jumps, this.lines, LANES);
    this.at = Math.max(0, this.lines.findIndex(({ blocks }) => blocks.includes(block)));
    this.sizer.style.height = `${this.lines.length * HEIGHT}px`;
    this.draw();
  }

  private soon(): void {
    if (!this.isOpen) return;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  /** Brings the line of the pinned block into sight. */
  private bring(): void {
    const top = this.at * HEIGHT;
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop || top + HEIGHT > scrollTop + clientHeight) this.scroller.scrollTop = top - clientHeight / 2;
    this.soon();
  }

  private draw(): void {
    if (!this.isOpen) return;
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / HEIGHT) - MARGIN);
    const end = Math.min(this.lines.length, Math.ceil((scrollTop + clientHeight) / HEIGHT) + MARGIN);
    const byWaits = this.code.kernel.code.waits !== null && this.element.closest(".app.waits") !== null;
    this.unit.textContent = byWaits ? "waits" : "instr";
    const most = largest(this.weights(byWaits), 1);
    const seen = this.seen();
    const drawnLines = Array.from({ length: end - first }, (_, index) => first + index);
    // Whoever has the focus stays, wherever it was scrolled to.
    if (this.at < first || this.at >= end) drawnLines.push(this.at);
    const focused = this.element.classList.contains("focused");
    const rows = drawnLines.filter((line) => line < this.lines.length).map((line) => this.row(line, seen, byWaits, most));
    this.sizer.replaceChildren(this.arrows(first, end), ...rows);
    if (focused) this.sizer.querySelector<HTMLElement>("[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** The weights of all lines, worked out once for each outline. */
  private weights(byWaits: boolean): number[] {
    const key = `${byWaits} ${[...this.folded].join()}`;
    if (this.weighed.key !== key) this.weighed = { key, weights: this.lines.map(({ blocks }) => this.weightOf(blocks, byWaits)) };
    return this.weighed.weights;
  }

  private weighed: { key: string; weights: number[] } = { key: "", weights: [] };

  private weightOf(blocks: number[], byWaits: boolean): number {
    const { code } = this.code.kernel;
    let sum = 0;
    for (const block of blocks) {
      const [first, end] = [this.firsts[block], this.endOf(block)];
      if (!byWaits) sum += end - first;
      else for (let row = first; row < end; row++) sum += code.waits?.cycles[row] ?? 0;
    }
    return sum;
  }

  private endOf(block: number): number {
    return block + 1 < this.firsts.length ? this.firsts[block + 1] : this.code.kernel.code.count;
  }

  /** The numbers that the code's headers have of a block: `7`, `7–8`. */
  private numbersOf(block: number): string {
    const { code } = this.code.kernel;
    const [first, last] = [code.blockOf(this.firsts[block]), code.blockOf(this.endOf(block) - 1)];
    return first === last ? `${first}` : `${first}–${last}`;
  }

  /** The first and last block in sight in the code. */
  private seen(): [number, number] {
    const { pane } = this.code;
    const { view } = pane;
    const { scrollTop, clientHeight } = view.scrollDOM;
    const rowNear = (height: number, by: number): number => {
      let line = view.state.doc.lineAt(view.lineBlockAtHeight(height).from).number - 1;
      while (line >= 0 && line < pane.lineCount && this.code.rowAt(line) < 0) line += by;
      return this.code.rowAt(line);
    };
    const top = rowNear(scrollTop, 1);
    const bottom = rowNear(scrollTop + clientHeight, -1);
    return [Math.max(0, this.flow.holding(top)), Math.max(0, this.flow.holding(bottom))];
  }

  private row(at: number, seen: [number, number], byWaits: boolean, most: number): HTMLElement {
    const { block, depth, loop, blocks } = this.lines[at];
    const weight = this.weights(byWaits)[at];
    const isFolded = loop >= 0 && this.folded.has(loop);
    const lines = this.sourceLines(isFolded || loop < 0 ? blocks : this.flow.blocksOf[loop]);
    const isPinned = blocks.some((each) => this.pinned.has(each));
    const isSeen = blocks.some((each) => each >= seen[0] && each <= seen[1]);
    const shown = isFolded ? `${lines} · ${plural(blocks.length, "block")}` : lines;
    const element = h(
      "div",
      {
        class: `block${isSeen ? " seen" : ""}${isPinned ? " on" : ""}`,
        role: "treeitem",
        "aria-level": loop >= 0 ? Math.max(1, depth) : depth + 1,
        "aria-expanded": loop >= 0 ? String(!isFolded) : null,
        "aria-selected": String(isPinned),
        "aria-setsize": this.lines.length,
        "aria-posinset": at + 1,
        tabindex: at === this.at ? "0" : "-1",
        "data-line": at,
      },
      h("span", { class: "name" }, isFolded ? "" : `B${this.numbersOf(block)}`),
      loop >= 0 ? h("span", { class: "turn", "aria-hidden": "true", title: isFolded ? "Unfold the loop" : "Fold the loop" }, isFolded ? "▸↻" : "↻") : null,
      h("span", { class: "heard" }, `${isFolded ? "loop" : loop >= 0 ? ", begins a loop" : ""}, ${lines === "" ? "no line" : lines.includes("–") ? "lines" : "line"} `),
      h("span", { class: "from-lines", title: shown }, shown),
      h("span", { class: "heard" }, ", "),
      h("span", { class: `weight ${byWaits ? "of-waits" : ""} z${Math.round((40 * weight) / most)}` }, count(weight)),
      h("span", { class: "heard" }, byWaits ? " wait cycles" : weight === 1 ? " instruction" : " instructions"),
    );
    element.style.top = `${at * HEIGHT}px`;
    element.style.paddingLeft = `${TEXT + INDENT * Math.min(depth, DEEPEST)}px`;
    return element;
  }

  /** The source lines of blocks, of the file that most of their code is of: `40–41`. */
  private sourceLines(blocks: number[]): string {
    const { code, places } = this.code.kernel;
    const files = new Map<number, { rows: number; low: number; high: number }>();
    for (const block of blocks) {
      for (let row = this.firsts[block]; row < this.endOf(block); row++) {
        if (code.key[row] < 0 || code.inherited?.[row]) continue;
        const line = places.keyLine[code.key[row]];
        const file = places.keyFile[code.key[row]];
        const known = files.get(file);
        if (known === undefined) files.set(file, { rows: 1, low: line, high: line });
        else files.set(file, { rows: known.rows + 1, low: Math.min(known.low, line), high: Math.max(known.high, line) });
      }
    }
    const [span] = Array.from(files.values()).sort((left, right) => right.rows - left.rows);
    if (span === undefined) return "";
    return span.low === span.high ? `${span.low}` : `${span.low}–${span.high}`;
  }

  /** Jumps that cross these lines: back to earlier ones in another colour. */
  private arrows(first: number, end: number): SVGElement {
    const element = svg("svg", { class: "jumps", width: TEXT + INDENT * DEEPEST, height: this.lines.length * HEIGHT, "aria-hidden": "true" });
    for (const { from, to, lane } of this.jumps) {
      if (Math.max(from, to) < first || Math.min(from, to) >= end) continue;
      const x = TEXT - 6 - LANE * lane;
      const start = from * HEIGHT + 13;
      const stop = to * HEIGHT + 6;
      const begin = this.edgeOf(from);
      const tip = this.edgeOf(to);
      const shape = svg("path", { class: "way", d: `M${begin} ${start}H${x}V${stop}H${tip - 4}` });
      const head = svg("path", { class: "head", d: `M${tip} ${stop}l-5 -3v6z` });
      element.append(svg("g", { class: to <= from ? "jump back" : "jump" }, shape, head));
    }
    return element;
  }

  private edgeOf(line: number): number {
    return TEXT - 2 + INDENT * Math.min(this.lines[line].depth, DEEPEST);
  }

  private clicked(event: MouseEvent): void {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const at = Number(target.closest<HTMLElement>(".block")?.dataset.line ?? -1);
    if (at < 0) return;
    this.at = at;
    if (target.closest(".turn") !== null) this.turn(at);
    else this.open(at);
  }

  /** Brings a block's first instruction into sight. */
  private open(at: number): void {
    const row = this.firsts[this.lines[at].block];
    const line = this.code.lineOf(row);
    this.code.reveal(line);
    this.code.pane.show(Math.max(0, line - 1), "start");
    this.draw();
  }

  private turn(at: number, fold?: boolean): void {
    const { loop } = this.lines[at];
    if (loop < 0 || fold === this.folded.has(loop)) return;
    if (!this.folded.delete(loop)) this.folded.add(loop);
    this.outline();
  }

  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = this.lines.length - 1;
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / HEIGHT) - 1);
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: last }[event.key];
    const line = this.lines[this.at];
    if (line === undefined) return;
    if (to !== undefined) this.move(Math.min(last, Math.max(0, to)));
    else if (event.key === "Enter" || event.key === " ") this.pin();
    else if (event.key === "ArrowRight") line.loop >= 0 && this.folded.has(line.loop) ? this.turn(this.at, false) : this.move(Math.min(last, this.at + 1));
    else if (event.key === "ArrowLeft") line.loop >= 0 && !this.folded.has(line.loop) ? this.turn(this.at, true) : this.move(this.parentOf(this.at));
    else if (/^\d$/.test(event.key)) this.jump(event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** The line of the loop around a line. */
  private parentOf(at: number): number {
    const { depth } = this.lines[at];
    const around = this.lines.slice(0, at).findLastIndex((line) => line.loop >= 0 && line.depth <= depth);
    return around < 0 ? at : around;
  }

  /** Typing a block's number goes there. */
  private jump(digit: string): void {
    this.typed = performance.now() - this.typedAt < 1000 ? this.typed + digit : digit;
    this.typedAt = performance.now();
    const { code } = this.code.kernel;
    const at = lastAtMost(this.lines.map(({ block }) => code.blockOf(this.firsts[block])), Number(this.typed));
    if (at >= 0) this.move(at);
  }

  private move(at: number): void {
    this.at = at;
    this.bring();
    this.open(at);
    this.sizer.querySelector<HTMLElement>("[tabindex='0']")?.focus({ preventScroll: true });
  }

  /** Pins the first instruction of the block. */
  private pin(): void {
    this.goTo(this.firsts[this.lines[this.at].block]);
  }
}
