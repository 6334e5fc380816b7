import type { Figure, Index, ProgramInfo } from "../document/schema";
import { count, fill, h, largest } from "../dom";
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

type Order = "name" | "instructions" | "simd" | "spill";

/** All kernels of a document, worst first: what spills most, then what has most instructions. */
export function entriesOf(index: Index): Entry[] {
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
  readonly element = h("nav", { "aria-label": "Kernels" });
  private readonly heading = h("h2", {});
  private readonly filter = h("input", { type: "search", class: "filter", placeholder: "Filter", "aria-label": "Filter kernels by name, device or program" });
  private readonly columns = h("div", { class: "kh", role: "group", "aria-label": "Sort by" });
  private readonly list = h("ol", {});
  private entries: Entry[] = [];
  private items: { entry: Entry; element: HTMLElement }[] = [];
  private order: Order | null = null;
  private prefix = "";
  private tagged = false;
  private widths = new Map<string | null, number>();
  private most = 1;
  private current: { id: string; row: number } | null = null;

  constructor(private readonly open: (entry: Entry) => void) {
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
    this.filter.hidden = this.entries.length < 12;
    fill(this.heading, h("span", {}, this.entries.length === 1 ? "1 kernel" : `${count(this.entries.length)} kernels`));
    if (this.prefix !== "") this.heading.append(h("em", { title: "All names begin with this" }, `${this.prefix}*`));
    this.draw();
  }

  mark(program: ProgramInfo, row: number): void {
    this.current = { id: program.id, row };
    for (const { entry, element } of this.items) {
      const on = entry.program.id === program.id && entry.row === row;
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

  private sorted(): Entry[] {
    const words = this.filter.value.toLowerCase().split(/\s+/);
    const wanted = this.entries.filter(({ shown, program }) => {
      const text = `${shown} ${program.device} ${program.name} ${program.toolchain} ${program.options}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
    const by = (order: Exclude<Order, "name">) => (left: Entry, right: Entry) => (right[order] ?? -1) - (left[order] ?? -1);
    if (this.order === null) return wanted.sort((left, right) => by("spill")(left, right) || by("instructions")(left, right));
    if (this.order === "name") return wanted.sort((left, right) => left.shown.localeCompare(right.shown));
    if (this.order === "simd") return wanted.sort((left, right) => by("simd")(right, left));
    return wanted.sort(by(this.order));
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
    this.items = this.sorted().map((entry) => ({ entry, element: this.item(entry) }));
    fill(this.list, ...this.items.map(({ element }) => element));
    if (this.items.length === 0) this.list.append(h("li", { class: "none" }, this.entries.length === 0 ? "No kernels." : "No kernel is called so."));
    if (this.current !== null) {
      const program = this.entries.find((entry) => entry.program.id === this.current?.id)?.program;
      if (program !== undefined) this.mark(program, this.current.row);
    }
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
    const tag = this.tagged ? `${program.edited ? "edited · " : ""}${program.device ?? "?"} · ${program.toolchain ?? "?"}${program.options ? ` · ${program.options}` : ""}` : null;
    const words = `${shown}${tag === null ? "" : `, ${tag}`}: ${figure(instructions)} instructions, SIMD ${figure(simd)}, ${figure(spill)} bytes spilled`;
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", title: words, onclick: () => this.open(entry) },
        nameOf(short),
        h("em", {}, figure(instructions)),
        h("em", { class: narrow ? "warn" : null }, figure(simd)),
        h("em", { class: spill !== null && spill > 0 ? "warn" : null }, figure(spill)),
        tag === null ? null : h("span", { class: "tag" }, tag),
        h("q", { class: `z${bar}` }),
      ),
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

/** A name whose end stays in sight where it is too long: names of one file differ there. */
function nameOf(name: string): HTMLElement {
  const cut = name.length > 12 ? name.length - 6 : name.length;
  return h("span", { class: "name" }, h("span", {}, name.slice(0, cut)), h("span", {}, name.slice(cut)));
}

function figure(value: Figure): string {
  return value === null ? "–" : count(value);
}
