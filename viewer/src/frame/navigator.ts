import type { Group, Index, ProgramInfo, StartLine } from "../document/schema";
import { count, fill, h, keepingFocus, largest, plural, visible } from "../dom";
import { arranged, type Head, id, type Item, itemsOf, keyOf, type Order, type Row } from "./arrange";
import { widest } from "./header";
import { type Entry, entriesOf } from "./kernels";
import { type Line, linesOf, Measured, pieces, type Widths } from "./names";
import { badgeOf, counted, drawHead, drawItem, type Shown, wordsOf } from "./nav_rows";
import { splitter } from "./nav_splitter";
import { startList } from "./start";

/** Heights of a kernel's row and of a head of one line, and of each further line, in pixels; navigator.css draws them so. */
const ROW = 22;
const HEAD = 27;
const LINE = 18;
/** Rows that are drawn beyond those in sight, above and below. */
const BEYOND = 10;
/** More kernels than these begin with all groups closed but the current kernel's. */
const MANY = 400;
/** The room beside a name: margins and the figure; a badge's margins and frame in its place; of a head the arrow. */
const BESIDE = 84;
const BADGE = -28;
const ARROW = 38;
const INDENT = 10;
/** Columns of their own, with the gap before each; navigator.css has them, too. */
const SPILLS = 38;
const SIMD = 36;
/** Below this width names have their room. */
const NARROW = 220;

const ORDERS: [Order, string][] = [
  ["time", "device time"],
  ["worst", "worst first"],
  ["instructions", "instructions"],
  ["simd", "narrowest"],
  ["name", "name"],
  ["file", "as in file"],
];

interface Placed {
  row: Row;
  top: number;
  height: number;
  lines: Line[];
}

/** The list at the left: a tree of builds, groups and kernels. A click or Enter opens a kernel. */
export class Navigator {
  // Takes the focus where a click is on none of its controls, and in browsers whose buttons take none: it would close as a drawer.
  readonly element = h("nav", { "aria-label": "Kernels", tabindex: "-1" });
  private readonly heading = h("h2", {}, "Kernels");
  private readonly chosen = h("select", { class: "order", "aria-label": "Order", title: "Groups come in the order of their first kernel: what spills most, then what has most instructions. What is compiled here keeps its place until the order is chosen again.", onchange: () => this.turn(this.chosen.value as Order) }, ...ORDERS.map(([value, words]) => h("option", { value }, words)));
  private readonly columns = h("div", { class: "nc", role: "group", "aria-label": "Sort by" });
  private readonly all = h("div", { class: "all", role: "none" });
  private readonly above = h("div", { class: "above", "aria-hidden": "true" });
  private readonly list = h("div", { class: "nl", role: "tree", "aria-label": "Kernels", tabindex: "-1" }, this.above, this.all);
  /** The programs as they were read. */
  private base: ProgramInfo[] | null = null;
  /** The programs as they are now, and as they were when the order was asked for. */
  programs: ProgramInfo[] = [];
  private ranking: ProgramInfo[] = [];
  private groups = new Map<Group, Item[]>();
  private kernels = 0;
  private failed = 0;
  private order: Order = "worst";
  /** The order of the list until another is chosen: by the device's time where it is known. */
  private usual: Order = "worst";
  private placed: Placed[] = [];
  private readonly drawn = new Map<string, HTMLElement>();
  /** What was opened and closed by hand. */
  private readonly turned = new Map<string, boolean>();
  private current = "";
  private active = "";
  private readonly shown: Shown = { hits: null, sought: "", most: 1, mostHits: 1, hasTime: false, hasSimd: false, hasSpills: false, simd: new Map() };
  private widths: Widths | null = null;
  private width = 0;
  private height = 0;
  private typed = "";
  private typedAt = 0;
  /** The kernel is brought into sight when the list is first drawn with it. */
  private isNew = true;

  constructor(
    private readonly open: (entry: Entry) => void,
    private readonly openEmpty: (program: ProgramInfo) => void,
    private readonly begin: (entry: Entry, line: StartLine) => void,
  ) {
    this.element.append(h("div", { class: "nh" }, this.heading, this.chosen), this.columns, this.list, splitter(this.element));
    this.list.addEventListener("scroll", () => this.render(), { passive: true });
    this.list.addEventListener("keydown", (event) => this.pressed(event));
    this.list.addEventListener("focusin", (event) => this.focused(event));
    // A pointer opens a kernel and leaves the focus where it was: letters are commands there, and jump in the list.
    this.list.addEventListener("mousedown", (event) => (event.target as HTMLElement).closest(".k") !== null && event.preventDefault());
    this.list.addEventListener("click", (event) => this.clicked(event));
    new ResizeObserver(() => this.resized()).observe(this.list);
  }

  show(index: Index): void {
    const entries = entriesOf(index);
    if (this.base === null) {
      this.base = this.ranking = index.programs;
      const hasTime = entries.some(({ time }) => time !== null);
      if (hasTime) this.order = this.usual = "time";
      else this.chosen.options[0].remove();
      this.columns.before(...[startList(index.start, entries, this.begin)].filter((each) => each !== null));
    }
    this.programs = index.programs;
    this.groups = itemsOf(entries, index.programs, this.base, this.ranking);
    this.kernels = entries.length;
    this.failed = index.programs.filter(({ ok, kernels }) => !ok && kernels.name.length === 0).length;
    for (const { device } of index.programs) this.shown.simd.set(device, widest(index, device));
    this.arrange();
  }

  /** `row` -1 is a program without kernels. */
  mark(program: ProgramInfo | null, row: number): void {
    if (program === null) return;
    const key = keyOf(program, row);
    if (key !== this.current) {
      this.current = this.active = key;
      this.arrange();
    }
    this.reveal(key, this.isNew);
    this.isNew = false;
  }

  /** Shows only these kernels, with how often each has what is looked for; null: all of them. */
  filter(hits: ReadonlyMap<string, number> | null, sought = ""): void {
    Object.assign(this.shown, { hits, sought: sought.toLowerCase(), mostHits: largest(hits?.values() ?? [], 1) });
    this.arrange();
    if (hits === null) this.reveal(this.current, false);
    else this.list.scrollTop = 0;
  }

  /** The kernel so many places after the one that is shown. */
  after(by: number): Entry | null {
    const entries = this.placed.flatMap(({ row }) => (row.item?.entry == null ? [] : [row.item]));
    if (entries.length === 0) return null;
    const at = entries.findIndex(({ key }) => key === this.current);
    return entries[at < 0 ? (by > 0 ? 0 : entries.length - 1) : (at + by + entries.length) % entries.length].entry;
  }

  focus(): void {
    if (!this.placed.some((each) => id(each.row) === this.active)) this.active = this.current;
    this.reveal(this.active, false);
    this.drawn.get(this.active)?.focus({ preventScroll: true });
  }

  private turn(order: Order): void {
    this.order = this.order === order ? this.usual : order;
    this.ranking = this.programs;
    this.groups = itemsOf(entriesOf(this), this.programs, this.base ?? this.programs, this.ranking);
    this.arrange();
  }

  /** The kernel that was in sight stays so. */
  private resized(): void {
    const { height } = this;
    const at = this.placed.find(({ row }) => id(row) === this.current);
    const wasInSight = at !== undefined && at.top + at.height > this.list.scrollTop && at.top < this.list.scrollTop + height;
    if (this.list.clientWidth !== this.width) this.place();
    this.height = this.list.clientHeight;
    if (wasInSight) this.reveal(this.current, false);
    else this.render();
  }

  /** Sorts and filters: what the rows are. */
  private arrange(): void {
    const { order } = this;
    const { hits } = this.shown;
    this.chosen.value = order;
    const hasTime = order === "time";
    const entries = entriesOf(this);
    const most = largest(entries.map(({ time, instructions }) => (hasTime ? time : instructions) ?? 0), 1);
    Object.assign(this.shown, { hasTime, most, hasSimd: entries.some(({ simd }) => simd !== null), hasSpills: entries.some(({ spills }) => spills !== "") });
    const isLarge = this.kernels > MANY;
    const isOpen = (key: string, items: Item[]): boolean => this.turned.get(key) ?? (!isLarge || hits !== null || items.some((item) => item.key === this.current));
    const rows = arranged(this.groups, order, hits, isOpen);
    const seen = hits === null ? this.kernels : Array.from(this.groups.values(), (items) => items.filter(({ entry, key }) => entry !== null && hits.has(key)).length).reduce((sum, each) => sum + each, 0);
    const words = hits === null ? plural(this.kernels, "kernel") : `${count(seen)} of ${plural(this.kernels, "kernel")}`;
    fill(this.heading, h("span", {}, words), this.failed === 0 || hits !== null ? null : h("button", { class: "warn", type: "button", title: `${plural(this.failed, "build failed", "builds failed")}: shows the first`, onclick: () => this.move(this.placed.find(({ row: { item } }) => item?.entry === null && !item.program.ok)?.row) }, `${count(this.failed)} failed`));
    const sort = (by: Order, text: string, title: string): HTMLElement => h("button", { type: "button", title, "aria-pressed": String(order === by), onclick: () => this.turn(by) }, text + (order === by ? " ▾" : ""));
    const figure = hits === null ? (hasTime ? sort("time", "time", "Sorted by the device's time for all launches") : sort("instructions", "instr", "Sort by instructions")) : h("span", {}, "hits");
    const { hasSpills, hasSimd } = this.shown;
    this.element.classList.toggle("has-spills", hasSpills);
    this.element.classList.toggle("has-simd", hasSimd);
    const spills = hasSpills ? sort("worst", "spill", "Sort by bytes of spills, then by instructions") : null;
    const simd = hasSimd ? sort("simd", "SIMD", "Sort by SIMD width, narrowest first; what is below the device's widest is coloured") : null;
    fill(this.columns, sort("name", "name", "Sort by name"), spills, simd, figure);
    this.placed = rows.map((row) => ({ row, top: 0, height: 0, lines: [] }));
    this.place();
  }

  /** Breaks names into lines: where the rows are. */
  private place(): void {
    this.width = this.list.clientWidth;
    this.element.classList.toggle("narrow", this.width < NARROW);
    this.widths ??= this.measured();
    if (this.widths === null) return;
    let top = 0;
    for (const each of this.placed) {
      each.top = top;
      each.lines = this.linesOf(each.row, this.widths);
      each.height = (each.row.item === null ? HEAD : ROW) + LINE * (each.lines.length - 1);
      top += each.height;
    }
    this.all.style.height = `${top + 10}px`;
    if (!this.placed.some(({ row }) => id(row) === this.active)) this.active = id(this.placed.find(({ row }) => row.item !== null)?.row ?? this.placed[0]?.row);
    keepingFocus(this.all, () => {
      this.all.replaceChildren();
      this.drawn.clear();
      if (this.placed.length === 0) this.all.append(h("div", { class: "none", role: "treeitem", tabindex: "0" }, this.shown.hits === null ? "No kernels." : "No kernel has this."));
      this.render();
    });
  }

  /** Widths in the fonts of the list; null until it is on the page. */
  private measured(): Widths | null {
    if (!this.element.isConnected) return null;
    const style = getComputedStyle(this.element);
    const mono = style.getPropertyValue("--mono") || "monospace";
    const { fontFamily } = style;
    return new Measured({ name: `12.5px ${fontFamily}`, of: `11px ${fontFamily}`, title: `600 11.5px ${fontFamily}`, words: `11px ${mono}` });
  }

  private linesOf({ item, head, level }: Row, widths: Widths): Line[] {
    const margin = INDENT * (level - 1);
    if (item === null) {
      const figure = widths.of(counted(head, this.shown), "title");
      const text = [...pieces(head.title, "title"), ...(head.words === "" ? [] : [{ text: " ", style: "words" as const }, ...pieces(head.words, "words")])];
      return linesOf(text, Math.max(60, this.width - ARROW - margin - figure), 0, widths);
    }
    const badge = badgeOf(item);
    const { hasSpills, hasSimd } = this.shown;
    const isNarrow = this.width < NARROW;
    const beside = badge === null ? isNarrow ? 0 : (hasSpills ? SPILLS : 0) + (hasSimd ? SIMD : 0) : Math.max(0, widths.of(badge.text, "of") + BADGE);
    // Of few hits the head that says what all names share may be out of sight, or seem to be of another kernel.
    const text = [...pieces(this.shown.hits === null ? item.shown : item.name, "name"), ...(item.beside === "" ? [] : [{ text: "  ", style: "of" as const }, ...pieces(item.beside, "of")])];
    return linesOf(text, Math.max(24, this.width - BESIDE - beside - margin), INDENT, widths);
  }

  /** Draws the rows in sight and some more; rows that were drawn stay, and so does whoever has the focus. */
  private render(): void {
    const { scrollTop, clientHeight } = this.list;
    const first = this.rowAt(scrollTop);
    const low = Math.max(0, first - BEYOND);
    const high = Math.min(this.placed.length, this.rowAt(scrollTop + clientHeight) + 1 + BEYOND);
    const shown = this.placed.slice(low, high);
    // The single Tab stop is there wherever the list is scrolled to.
    const active = this.placed.findIndex(({ row }) => id(row) === this.active);
    if (active >= 0 && active < low) shown.unshift(this.placed[active]);
    else if (active >= high) shown.push(this.placed[active]);
    const stay = new Set(shown.map(({ row }) => id(row)));
    for (const [key, element] of this.drawn) {
      if (stay.has(key)) continue;
      element.remove();
      this.drawn.delete(key);
    }
    let before: Element | null = null;
    for (const placed of shown.reverse()) {
      const key = id(placed.row);
      let element = this.drawn.get(key);
      if (element === undefined) {
        element = this.draw(placed);
        this.drawn.set(key, element);
        this.all.insertBefore(element, before);
      }
      before = element;
    }
    this.renderAbove(this.placed[first], scrollTop);
  }

  /** The head of what is at the top, where its own is out of sight. */
  private renderAbove(top: Placed | undefined, scrollTop: number): void {
    const head = top?.row.head;
    const own = head == null ? undefined : this.placed.find(({ row }) => row.item === null && row.head === head);
    const isAway = own !== undefined && own.top < scrollTop;
    this.above.hidden = !isAway;
    if (!isAway || this.above.dataset.key === id(own.row) + this.width) return;
    this.above.dataset.key = id(own.row) + this.width;
    fill(this.above, drawHead(own.row.head as Head, own.lines, own.height, this.shown));
  }

  private rowAt(y: number): number {
    let low = 0;
    let high = this.placed.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.placed[middle].top <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private draw({ row, lines, top, height }: Placed): HTMLElement {
    const element = row.item === null ? drawHead(row.head, lines, height, this.shown) : drawItem(row.item, row.level, lines, this.shown);
    const key = id(row);
    const label = row.item === null ? `${[row.head.title, row.head.words].filter((words) => words !== "").join(" ")}, ${plural(row.head.items.length, "kernel")}` : wordsOf(row.item, this.shown);
    for (const [name, value] of Object.entries({ role: "treeitem", "data-key": key, "aria-level": row.level })) element.setAttribute(name, String(value));
    if (row.item === null) element.setAttribute("aria-expanded", String(row.head.isOpen));
    else if (key === this.current) element.setAttribute("aria-current", "true");
    // Who hears it gets the whole name, and what the figures are.
    for (const child of element.children) child.setAttribute("aria-hidden", "true");
    element.querySelector(".name")?.setAttribute("title", visible(label));
    element.prepend(h("span", { class: "heard" }, label));
    element.tabIndex = key === this.active ? 0 : -1;
    element.style.top = `${top}px`;
    element.style.height = `${height}px`;
    element.style.paddingLeft = `${(row.item === null ? 6 : 12) + INDENT * (row.level - 1)}px`;
    return element;
  }

  /** `isFirst`: it may have rows above it in sight, but the top of the list, where the worst are, stays as long as it is in sight, too. */
  private reveal(key: string, isFirst: boolean): void {
    const at = this.placed.find(({ row }) => id(row) === key);
    if (at === undefined) return;
    const { scrollTop, clientHeight } = this.list;
    this.height = clientHeight;
    if (isFirst && at.top + at.height > clientHeight) this.list.scrollTop = at.top - clientHeight / 3;
    else if (at.top < scrollTop + HEAD) this.list.scrollTop = at.top - HEAD;
    else if (at.top + at.height > scrollTop + clientHeight) this.list.scrollTop = at.top + at.height - clientHeight;
    this.render();
  }

  private clicked(event: MouseEvent): void {
    const target = event.target as HTMLElement;
    const key = target.closest<HTMLElement>("[data-key]")?.dataset.key;
    const isAbove = this.above.contains(target);
    const placed = this.placed.find(({ row }) => (isAbove ? `${id(row)}${this.width}` : id(row)) === key);
    if (placed === undefined) return;
    if (placed.row.item === null) this.move(placed.row);
    this.act(placed.row);
  }

  private act(row: Row): void {
    if (row.item === null) this.turnHead(row.head, !row.head.isOpen);
    else if (row.item.entry === null) this.openEmpty(row.item.program);
    else this.open(row.item.entry);
  }

  private turnHead(head: Head, isOpen: boolean): void {
    this.turned.set(head.key, isOpen);
    this.arrange();
    this.reveal(head.key, false);
    this.drawn.get(head.key)?.focus({ preventScroll: true });
  }

  private move(row: Row | undefined): void {
    if (row === undefined) return;
    const key = id(row);
    this.reveal(key, false);
    this.drawn.get(key)?.focus({ preventScroll: true });
  }

  /** The row that has the focus is the one that Tab comes back to. */
  private focused(event: FocusEvent): void {
    const element = event.target as HTMLElement;
    const { key } = element.dataset;
    if (key === undefined || !this.drawn.has(key)) return;
    const before = this.drawn.get(this.active);
    if (before !== undefined) before.tabIndex = -1;
    this.active = key;
    element.tabIndex = 0;
  }

  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { placed } = this;
    const at = placed.findIndex(({ row }) => id(row) === this.active);
    if (at < 0) return;
    const { row } = placed[at];
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const to = (index: number): void => this.move(placed[Math.min(placed.length - 1, Math.max(0, index))].row);
    const isTyping = event.key.length === 1 && event.key !== "/" && event.key !== "?" && (event.key !== " " || this.typed !== "");
    if (event.key === "ArrowDown") to(at + 1);
    else if (event.key === "ArrowUp") to(at - 1);
    else if (event.key === "Home") to(0);
    else if (event.key === "End") to(placed.length - 1);
    else if (event.key === "PageDown") to(at + page);
    else if (event.key === "PageUp") to(at - page);
    else if (event.key === "ArrowRight" && row.item === null) row.head.isOpen ? to(at + 1) : this.turnHead(row.head, true);
    else if (event.key === "ArrowLeft" && row.item === null && row.head.isOpen) this.turnHead(row.head, false);
    else if (event.key === "ArrowLeft") to(placed.findLastIndex((each, index) => index < at && each.row.item === null && each.row.level < row.level));
    else if (event.key === "Enter" || (event.key === " " && !isTyping)) this.act(row);
    else if (isTyping) this.jump(event.key, at);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Typing jumps to what begins so: a row as it is shown, or a whole name. */
  private jump(letter: string, at: number): void {
    const now = performance.now();
    this.typed = now - this.typedAt < 700 ? this.typed + letter.toLowerCase() : letter.toLowerCase();
    this.typedAt = now;
    const from = this.typed.length > 1 ? at : at + 1;
    const begins = ({ row: { item, head } }: Placed): boolean => (item === null ? [head.title] : [item.shown, item.name]).some((text) => text.toLowerCase().startsWith(this.typed));
    const to = this.placed.slice(from).find(begins) ?? this.placed.slice(0, from).find(begins);
    if (to !== undefined) this.move(to.row);
  }
}
