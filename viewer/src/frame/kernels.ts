import { withoutLines } from "../document/options";
import type { Figure, Index, ProgramInfo } from "../document/schema";
import { count, fill, h, largest, plural } from "../dom";
import { widest } from "./header";

export interface Entry {
  program: ProgramInfo;
  row: number;
  name: string;
  shown: string;
  instructions: Figure;
  simd: Figure;
  spill: Figure;
}

/** Kernels that are listed; a document of more is looked through by the filter. */
const MOST = 2000;

type Order = "name" | "instructions" | "simd" | "spill";

/** All kernels of a document. */
export function entriesOf(index: Pick<Index, "programs">): Entry[] {
  return index.programs.flatMap((program) =>
    program.kernels.name.map((name, row) => ({
      program,
      row,
      name,
      shown: program.kernels.shown[row] ?? name,
      instructions: program.kernels.instructions[row],
      simd: program.kernels.simd[row],
      spill: program.kernels.spill_bytes[row],
    })),
  );
}

/** Worst first: what spills most, then what has most instructions. A figure that is not known is no reason to look there. */
export function worse(left: Entry, right: Entry): number {
  return (right.spill ?? 0) - (left.spill ?? 0) || (right.instructions ?? 0) - (left.instructions ?? 0);
}

/** The beginning that all names share, up to an underscore; "" with few names or a short one. */
export function commonPrefix(names: string[]): string {
  if (names.length < 3) return "";
  let prefix = names[0];
  for (const name of names) while (!name.startsWith(prefix)) prefix = prefix.slice(0, -1);
  const end = prefix.lastIndexOf("_") + 1;
  return end >= 4 && names.every((name) => name.length > end) ? prefix.slice(0, end) : "";
}

/** The list at the left: a click or Enter opens a kernel; any column sorts; a field filters. */
export class KernelList {
  // Takes the focus where a click is on none of its controls, and in browsers whose buttons take none: it would close as a drawer.
  readonly element = h("nav", { "aria-label": "Kernels", tabindex: "-1" });
  private readonly heading = h("h2", {});
  private readonly filter = h("input", { type: "search", class: "filter", placeholder: "Filter", "aria-label": "Filter kernels by name, device or program" });
  private readonly columns = h("div", { class: "kh", role: "group", "aria-label": "Sort by" });
  private readonly list = h("ol", {});
  private entries: Entry[] = [];
  /** Programs without a kernel: builds that failed, above all. */
  private empty: ProgramInfo[] = [];
  private items: { id: string; row: number; element: HTMLElement }[] = [];
  private order: Order | null = null;
  private prefix = "";
  private tagged = false;
  private widths = new Map<string | null, number>();
  private most = 1;
  private current: { id: string; row: number } | null = null;

  constructor(
    private readonly open: (entry: Entry) => void,
    private readonly openEmpty: (program: ProgramInfo) => void,
  ) {
    this.element.append(this.heading, this.filter, this.columns, this.list);
    this.filter.addEventListener("input", () => this.draw());
    this.element.addEventListener("keydown", (event) => this.pressed(event));
  }

  show(index: Index): void {
    this.entries = entriesOf(index);
    this.prefix = commonPrefix(this.entries.map(({ shown }) => shown));
    const builds = new Set(index.programs.map(({ device, toolchain, options }) => `${device} ${toolchain} ${options}`));
    this.tagged = builds.size > 1 || index.programs.length > 1;
    for (const { device } of index.programs) this.widths.set(device, widest(index, device));
    this.most = largest(this.entries.map(({ instructions }) => instructions ?? 0), 1);
    this.empty = index.programs.filter(({ kernels }) => kernels.name.length === 0);
    this.filter.hidden = this.entries.length + this.empty.length < 12;
    const failed = this.empty.filter(({ ok }) => !ok).length;
    fill(this.heading, h("span", {}, plural(this.entries.length, "kernel")), failed === 0 ? null : h("span", { class: "warn", title: plural(failed, "build failed", "builds failed") }, `${count(failed)} failed`));
    if (this.prefix !== "") this.heading.append(h("em", { title: "All names begin with this" }, `${this.prefix}*`));
    this.draw();
  }

  /** `row` -1 is a program without kernels. */
  mark(program: ProgramInfo | null, row: number): void {
    if (program === null) return;
    this.current = { id: program.id, row };
    for (const { id, row: at, element } of this.items) {
      const on = id === program.id && at === row;
      element.classList.toggle("on", on);
      element.firstElementChild?.setAttribute("aria-current", String(on));
      if (on) this.reveal(element);
    }
  }

  /** By hand: scrollIntoView would have Tab begin here. */
  private reveal(item: HTMLElement): void {
    const { offsetTop, offsetHeight } = item;
    const top = offsetTop - this.list.offsetTop;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top + offsetHeight > this.list.scrollTop + this.list.clientHeight) this.list.scrollTop = top + offsetHeight - this.list.clientHeight;
  }

  focus(): void {
    const on = this.items.find(({ element }) => element.classList.contains("on")) ?? this.items[0];
    (on?.element.firstElementChild as HTMLElement | null)?.focus();
  }

  private isWanted(name: string, { device, name: program, toolchain, options }: ProgramInfo): boolean {
    const text = `${name} ${device} ${program} ${toolchain} ${options}`.toLowerCase();
    return this.filter.value.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }

  private sorted(): Entry[] {
    const rows = this.entries.filter(({ shown, program }) => this.isWanted(shown, program));
    const by = (order: Exclude<Order, "name">) => (left: Entry, right: Entry) => (right[order] ?? -1) - (left[order] ?? -1);
    if (this.order === null) return rows.sort(worse);
    if (this.order === "name") return rows.sort((left, right) => left.shown.localeCompare(right.shown));
    if (this.order === "simd") return rows.sort((left, right) => by("simd")(right, left));
    return rows.sort(by(this.order));
  }

  private draw(): void {
    const sort = (order: Order | null, text: string, title: string): HTMLElement =>
      h("button", { type: "button", title, "aria-pressed": this.order === order, onclick: () => this.sort(order) }, text + (this.order === order ? " ▾" : ""));
    fill(
      this.columns,
      this.order === "name" ? sort("name", "name", "Sorted by name") : sort(null, "worst first", "Most spilled bytes first, then most instructions"),
      sort("instructions", "instr", "Sort by instructions"),
      sort("simd", "simd", "Sort by SIMD width, narrowest first"),
      sort("spill", "spill", "Sort by spilled bytes"),
    );
    const empty = this.empty.filter((program) => this.isWanted(program.name, program));
    const sorted = this.sorted();
    this.items = [
      ...empty.map((program) => ({ id: program.id, row: -1, element: this.emptyItem(program) })),
      ...sorted.slice(0, MOST).map((entry) => ({ id: entry.program.id, row: entry.row, element: this.item(entry) })),
    ];
    const more = sorted.length - MOST;
    const nobody = this.items.length > 0 ? null : this.entries.length + this.empty.length === 0 ? "No kernels." : "No kernel is called so.";
    fill(this.list, ...this.items.map(({ element }) => element), ...[nobody, more > 0 ? `${count(more)} more: the field above finds them.` : null].map((words) => words !== null && h("li", { class: "none" }, words)));
    const { current } = this;
    const program = [...this.entries.map((entry) => entry.program), ...this.empty].find(({ id }) => id === current?.id);
    if (program !== undefined && current !== null) this.mark(program, current.row);
  }

  private sort(order: Order | null): void {
    this.order = order === null && this.order === null ? "name" : order === "name" ? null : order;
    this.draw();
  }

  private item(entry: Entry): HTMLElement {
    const { program, shown, instructions, simd, spill } = entry;
    const short = shown.startsWith(this.prefix) ? shown.slice(this.prefix.length) : shown;
    const bar = Math.round((40 * (instructions ?? 0)) / this.most);
    const narrow = simd !== null && simd < (this.widths.get(program.device) ?? 0);
    const tag = this.tagged ? tagOf(program) : null;
    const words = `${shown}${tag === null ? "" : `, ${tag}`}: ${figure(instructions)} instructions, SIMD ${figure(simd)}, ${figure(spill)} bytes spilled`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", "data-key": `${program.id} ${entry.row}`, title: words, onclick: () => this.open(entry) },
        nameOf(short),
        h("em", {}, brief(instructions)),
        h("em", { class: narrow ? "warn" : null }, figure(simd)),
        h("em", { class: spill !== null && spill > 0 ? "warn" : null }, brief(spill)),
        tag === null ? null : h("span", { class: "tag" }, tag),
        h("q", { class: `z${bar}` }),
      ),
    );
  }

  /** A program without a kernel, with the reason in a word. */
  private emptyItem(program: ProgramInfo): HTMLElement {
    const word = program.ok ? "no kernel" : "failed";
    const title = `${program.name}, ${tagOf(program)}: ${program.reason ?? word}`;
    return h(
      "li",
      { class: "empty" },
      h("button", { type: "button", "data-key": `${program.id} -1`, title, onclick: () => this.openEmpty(program) }, nameOf(program.name), h("em", { class: program.ok ? null : "warn" }, word), h("span", { class: "tag" }, tagOf(program))),
    );
  }

  private pressed(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" || event.key === "j" ? 1 : event.key === "ArrowUp" || event.key === "k" ? -1 : 0;
    if (step === 0 || (event.target === this.filter && event.key.length === 1)) return;
    const buttons = this.items.map(({ element }) => element.firstElementChild as HTMLElement);
    const at = buttons.indexOf((this.element.getRootNode() as ShadowRoot).activeElement as HTMLElement);
    buttons[Math.min(buttons.length - 1, Math.max(0, at + step))]?.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}

/** What a program was built for, by what, and how. */
function tagOf({ edited, device, toolchain, options }: ProgramInfo): string {
  return [edited ? "edited" : "", device ?? "?", toolchain ?? "?", withoutLines(options ?? "")].filter((word) => word !== "").join(" · ");
}

/** A name whose end stays in sight where it is too long: names of one file differ there. */
function nameOf(name: string): HTMLElement {
  const cut = name.length > 12 ? name.length - 6 : name.length;
  return h("span", { class: "name" }, h("span", {}, name.slice(0, cut)), h("span", {}, name.slice(cut)));
}

/** As wide as its column: the title has all of it. */
function brief(value: Figure): string {
  return value !== null && value >= 99_500 ? `${count(Math.round(value / 1000))}k` : figure(value);
}

function figure(value: Figure): string {
  return value === null ? "–" : count(value);
}
