import type { Kernel } from "../document/kernel";
import type { Index, ProgramInfo } from "../document/schema";
import { count, fill, h, visible } from "../dom";

/** The widest that any kernel of this document has on a device: what is below deserves a look. */
export function widest(index: Index, device: string | null): number {
  let most = 0;
  for (const program of index.programs)
    if (program.device === device) for (const simd of program.kernels.simd) most = Math.max(most, simd ?? 0);
  return most;
}

/** The figures beside the kernel's name; a figure that is not known is left out. */
export function figures(index: Index, program: ProgramInfo, row: number, kernel: Kernel | null): HTMLElement[] {
  const { kernels } = program;
  const simd = kernels.simd[row];
  const registers = kernels.registers[row];
  const spill = kernels.spill_bytes[row];
  const instructions = kernels.instructions[row] ?? kernel?.code.count ?? null;
  let peak = kernels.peak[row];
  if (peak === null && kernel?.code.live != null) peak = kernel.code.live.reduce((most, live) => Math.max(most, live), 0);
  const parts: HTMLElement[] = [];
  if (instructions !== null) parts.push(figure(count(instructions), "instructions"));
  if (simd !== null) {
    const most = widest(index, program.device);
    const narrow = simd < most;
    const title = narrow ? `Other kernels of this device are compiled for SIMD${most}` : "Work items in a hardware thread";
    parts.push(h("span", { class: narrow ? "warn" : null, title }, h("b", {}, `SIMD${simd}`)));
  }
  if (peak !== null && registers !== null)
    parts.push(h("span", { title: "Live registers at the peak, of the registers of a thread" }, h("b", {}, String(peak)), `/${registers} GRFs live at peak`));
  else if (registers !== null) parts.push(figure(count(registers), "GRFs available"));
  if (spill !== null)
    parts.push(h("span", { class: spill > 0 ? "warn" : null, title: "Bytes of values that did not fit into the registers" }, h("b", {}, count(spill)), " B spilled"));
  return parts;
}

function figure(value: string, words: string): HTMLElement {
  return h("span", {}, h("b", {}, value), ` ${words}`);
}

export interface HeaderActions {
  pickKernel(): void;
  help(): void;
  theme(): void;
}

/** The topmost bar: recording, kernel, figures, search, the other views. */
export class Header {
  readonly element = h("header", {});
  private readonly title = h("span", { class: "dim title" });
  private readonly name = h("button", { class: "pick", type: "button", "aria-haspopup": "true" }, "no kernel");
  private readonly facts = h("div", { class: "facts" });

  constructor(search: HTMLElement, views: HTMLElement, share: HTMLElement, actions: HeaderActions) {
    this.name.addEventListener("click", () => actions.pickKernel());
    this.element.append(
      h("strong", {}, "kernlens"),
      h("div", { class: "crumb" }, this.title, h("span", { class: "dim", "aria-hidden": "true" }, "/"), h("h1", {}, this.name)),
      this.facts,
      h(
        "div",
        { class: "right" },
        search,
        views,
        share,
        h("button", { class: "tool", type: "button", title: "Light or dark", "aria-label": "Light or dark", onclick: () => actions.theme() }, "◐"),
        h("button", { class: "tool", type: "button", title: "Keys and words (?)", "aria-label": "Help: keys and words", onclick: () => actions.help() }, "?"),
      ),
    );
  }

  show(index: Index, program: ProgramInfo | null, row: number, kernel: Kernel | null): void {
    this.title.textContent = this.title.title = visible(index.title);
    const shown = program?.kernels.shown[row] ?? program?.name ?? "no kernel";
    fill(this.name, h("span", { class: "name" }, shown), h("i", { "aria-hidden": "true" }, "▾"));
    this.name.title = visible(`${shown}: other kernels (K)`);
    fill(this.facts, ...(program === null || row < 0 ? [] : figures(index, program, row, kernel)));
  }
}
