import { isListed, isOfRun, NANOSECONDS } from "../document/family";
import type { Kernel } from "../document/kernel";
import type { FigureInfo, Index, ProgramInfo } from "../document/schema";
import { ORIGIN } from "../document/waits";
import { count, duration, fill, h, visible } from "../dom";
import { type AnswerActions, answerRow } from "./answer";
import { spillWords } from "./kernels";

/** The widest that any kernel of this document has on a device: what is below deserves a look. */
export function widest(index: Index, device: string | null): number {
  let most = 0;
  for (const program of index.programs)
    if (program.device === device) for (const simd of program.kernels.simd) most = Math.max(most, simd ?? 0);
  return most;
}

/** A kernel of a program, and its code where that is read. */
interface Shown {
  program: ProgramInfo;
  row: number;
  kernel: Kernel | null;
}

function figuresOf({ program: { kernels }, row, kernel }: Shown): Record<"instructions" | "simd" | "registers" | "peak" | "spill" | "messages" | "waits", number | null> {
  const peak = kernels.peak[row] ?? kernel?.code.peak?.registers ?? null;
  const isUnread = kernel !== null && kernel.code.count === 0 && kernel.missing.code !== null;
  const instructions = kernels.instructions[row] ?? (isUnread ? null : (kernel?.code.count ?? null));
  return { instructions, simd: kernels.simd[row], registers: kernels.registers[row], peak, spill: kernels.spill_bytes[row], messages: kernels.spill_messages[row], waits: kernel?.code.waits?.sum ?? null };
}

/** The figures beside the kernel's name, each with what it was in the version that it is compared with; a figure that is not known
 * is left out. */
export function figures(index: Index, shown: Shown, before: Shown | null, showPeak: () => void): HTMLElement[] {
  const { instructions, simd, registers, peak, spill, messages, waits } = figuresOf(shown);
  const old = before === null ? null : figuresOf(before);
  const parts: HTMLElement[] = [];
  if (instructions !== null) parts.push(h("span", {}, ...changed(old?.instructions, instructions), " instructions"));
  if (simd !== null) {
    const most = widest(index, shown.program.device);
    const narrow = simd < most;
    const title = narrow ? `Other kernels of this device are compiled for SIMD${most}` : "Work items in a hardware thread";
    const words = old != null && old.simd !== null && old.simd !== simd ? [h("s", {}, `SIMD${old.simd}`), " → "] : [];
    parts.push(h("span", { class: narrow ? "warn" : null, title }, ...words, h("b", {}, `SIMD${simd}`)));
  }
  if (peak !== null && registers !== null) {
    const title = "Live registers at the peak, of a thread's: shows where, and who wrote them ";
    const words = [...changed(old?.peak, peak), optional(`/${registers}`), " GRFs", optional(" live at peak")];
    parts.push(shown.kernel?.code.peak == null ? h("span", { title }, ...words) : h("button", { class: "fact-link", type: "button", title, onclick: showPeak }, ...words));
  }
  else if (registers !== null) parts.push(h("span", {}, h("b", {}, count(registers)), " GRFs available"));
  if (spill !== null)
    parts.push(h("span", { class: spill > 0 ? "warn" : null, title: "Bytes of scratch memory for values that did not fit into the registers. More is moved, as values are stored and filled several times: the spills' colour counts that." }, ...changed(old?.spill, spill), " B", optional(" of scratch"), " for spills"));
  else if (messages !== null && (messages > 0 || old?.messages != null))
    parts.push(h("span", { class: messages > 0 ? "warn" : null, title: spillWords(shown.program.kernels, shown.row) }, ...changed(old?.messages, messages), " spills and fills"));
  parts.push(...stated(index, shown, isListed(shown.program) ? () => true : isOfRun));
  if (waits !== null && old?.waits != null && waits !== old.waits) parts.push(h("span", { title: ORIGIN }, ...changed(old.waits, waits), " wait cycles"));
  return parts;
}

/** What is beside the name as other words, or in no bar. */
const ELSEWHERE = new Set(["instructions", "code_size", "simd", "grf_count", "spill_bytes"]);

/** The figures that the compiler of another vendor states, under its own names; what there is none of is left out. */
function stated(index: Index, { program: { kernels }, row }: Shown, isShown: (figure: FigureInfo) => boolean): HTMLElement[] {
  return index.figures.flatMap((figure) => {
    const { key, heading, unit } = figure;
    const value = kernels.figures.get(key)?.[row] ?? null;
    if (value === null || value === 0 || ELSEWHERE.has(key) || !isShown(figure)) return [];
    return [h("span", { class: key.endsWith("_spills") ? "warn" : null }, `${heading} `, h("b", {}, unit === NANOSECONDS ? duration(value) : count(value)))];
  });
}

/** Words that go where there is little room: the title has them. */
function optional(words: string): HTMLElement {
  return h("span", { class: "optional" }, words);
}

/** Old to new, better or worse where it changed by half a percent or more: less is better. */
function changed(old: number | null | undefined, now: number): Node[] {
  if (old === null || old === undefined || old === now) return [h("b", {}, count(now))];
  const isSmall = Math.abs(now - old) < old / 200;
  return [h("s", {}, count(old)), document.createTextNode(" → "), h("b", { class: isSmall ? null : now > old ? "up" : "down" }, count(now))];
}

export interface HeaderActions {
  pickKernel(): void;
  peak(): void;
  help(): void;
  theme(): void;
}

/** The topmost bar: recording, kernel, figures, search. */
export class Header {
  readonly element = h("header", {});
  /** Below the bars: where to look first. */
  readonly answer = h("div", { class: "answer", role: "region", "aria-label": "Where to look first", hidden: true });
  private readonly title = h("span", { class: "dim title" });
  private readonly name = h("button", { class: "pick", type: "button", "aria-haspopup": "true" }, "no kernel");
  private readonly version = h("span", { class: "version-chip", hidden: true });
  private readonly facts = h("div", { class: "facts", role: "group", "aria-label": "Figures", tabindex: "0" });

  constructor(
    search: HTMLElement,
    share: HTMLElement,
    private readonly answers: AnswerActions,
    private readonly actions: HeaderActions,
  ) {
    this.name.addEventListener("click", () => actions.pickKernel());
    // Where it scrolls, keys scroll it.
    new ResizeObserver(() => this.fit()).observe(this.facts);
    this.element.append(
      h("strong", {}, "kernlens"),
      h("div", { class: "crumb" }, this.title, h("span", { class: "dim", "aria-hidden": "true" }, "/"), h("h1", {}, this.name), this.version),
      this.facts,
      h(
        "div",
        { class: "right" },
        search,
        share,
        h("button", { class: "tool", type: "button", title: "Light or dark", "aria-label": "Light or dark", onclick: () => actions.theme() }, "◐"),
        h("button", { class: "tool", type: "button", title: "Keys and words (?)", "aria-label": "Help: keys and words", onclick: () => actions.help() }, "?"),
      ),
    );
  }

  /** Leaves words out that the titles have, where the figures would be cut. */
  private fit(): void {
    const { facts } = this;
    const isCut = (): boolean => facts.scrollWidth > facts.clientWidth;
    facts.classList.remove("tight");
    facts.classList.toggle("tight", isCut());
    facts.tabIndex = isCut() ? 0 : -1;
  }

  /** `before` is the kernel in the version that it is compared with, `version` the number of that which is shown. */
  show(index: Index, program: ProgramInfo | null, row: number, kernel: Kernel | null, before: (Shown & { name: string }) | null, version: number | null): void {
    this.title.textContent = this.title.title = visible(index.title);
    const shown = program?.kernels.shown[row] ?? program?.name ?? "no kernel";
    fill(this.name, h("span", { class: "name" }, shown), h("i", { "aria-hidden": "true" }, "▾"));
    this.name.title = visible(`${shown}: other kernels (K)`);
    this.version.hidden = version === null;
    this.version.textContent = `v${version}`;
    this.version.title = `Version ${version} of this kernel`;
    const rows = kernel === null ? [] : answerRow(kernel, this.answers);
    this.answer.hidden = rows.length === 0;
    fill(this.answer, ...rows);
    this.facts.title = before === null ? "" : `Before (${before.name}) and now`;
    fill(this.facts, ...(program === null || row < 0 ? [] : figures(index, { program, row, kernel }, before, () => this.actions.peak())));
    this.fit();
  }
}
