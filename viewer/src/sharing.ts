import type { Kernel } from "./document/kernel";
import { readText } from "./document/read";
import type { ProgramInfo } from "./document/schema";
import type { Source } from "./document/source";
import { h } from "./dom";
import { type Entry, entriesOf } from "./frame/kernels";
import type { SeenProgram, Shared } from "./frame/share";
import { costliest, lay, type Sheet } from "./frame/summary";
import type { Page } from "./page";
import { SourcePane } from "./panes/source";
import type { State } from "./state";

/** What is shared of a page: the kernels that are seen, and its summary on paper. */
export class Sharing implements Shared {
  /** What is printed, in place of the page. */
  private readonly paper = h("div", { class: "printed" });
  /** Texts of source files that were read for the summary. */
  private readonly texts = new Map<string, string[]>();

  constructor(private readonly page: Page) {
    page.root.append(this.paper);
    // However it is printed, it is the summary; the texts that it quotes are then those that were read by then.
    window.addEventListener("beforeprint", () => lay(this.paper, page.kernel, this.sheet()));
    window.addEventListener("afterprint", () => this.paper.replaceChildren());
  }

  get source(): Source {
    return this.page.source;
  }

  get state(): State {
    return this.page.state;
  }

  get kernel(): Kernel | null {
    return this.page.kernel;
  }

  tell(sentence: string): void {
    this.page.tell(sentence);
  }

  /** Kernels that are seen, older versions first: the one that is shown with its versions, and both sides of a comparison. */
  get seen(): SeenProgram[] {
    const { index, kernel, state } = this.page;
    // A build without a kernel has its log.
    if (kernel === null || kernel.row < 0 || kernel.program.kernels.name.length === 0) return [{ id: kernel?.program.id ?? (state.program || (index?.programs[0]?.id ?? "")), kernels: [] }];
    const seen = new Map<string, SeenProgram>();
    const add = (id: string, name: string, version?: string): void => {
      const known = seen.get(id) ?? { id, kernels: [], ...(version === undefined ? {} : { version }) };
      if (!known.kernels.includes(name)) known.kernels.push(name);
      seen.set(id, known);
    };
    for (const { number, name, outcome } of this.page.compiler?.versions(kernel.program) ?? [])
      if (outcome?.program?.kernels.name.includes(kernel.name)) add(outcome.program.id, kernel.name, `${number} ${name}`.slice(0, 200));
    add(kernel.program.id, kernel.name);
    for (const { program, name } of index === null ? [] : entriesOf(index).filter((entry) => this.isSide(entry))) add(program.id, name);
    return [...seen.values()];
  }

  /** Where a report begins: where the page is. A comparison that was not chosen is that of the version before. */
  get begin(): State {
    const { kernel, state, compiler } = this.page;
    // A report compiles nothing: what was edited is in it as programs.
    const { w: _, z: __, e: ___, ...more } = state.more;
    if (kernel === null) return { ...state, more };
    const before = compiler?.before(kernel.program, kernel.row) ?? null;
    const [a, b] = this.sides;
    const usual: Record<string, string> = before === null ? {} : { a: `${before.program.id}:${kernel.name}`, b: `${kernel.program.id}:${kernel.name}` };
    const sides = a === undefined && b === undefined ? usual : { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
    return { ...state, program: kernel.program.id, more: { ...more, ...sides } };
  }

  private isSide({ program, name }: { program: ProgramInfo; name: string }): boolean {
    return this.sides.includes(`${program.id}:${name}`);
  }

  /** Both sides of the comparison that is seen, or else of the one that was chosen. */
  private get sides(): (string | undefined)[] {
    const { a, b } = this.page.state.more;
    return [...(this.page.compared ?? [a, b])];
  }

  get leftOut(): string | null {
    return this.page.compiler?.leftOut ?? null;
  }

  /** Prints the summary, with the texts of its lines. */
  async print(): Promise<void> {
    const { kernel, source } = this.page;
    if (kernel !== null) {
      const paths = new Set([this.sheet().key, ...costliest(kernel)].map((key) => kernel.files[kernel.places.keyFile[key]]));
      for (const { path, chunk } of kernel.program.files)
        if (chunk !== null && paths.has(path)) this.texts.set(path, readText(await source.chunk(chunk)).split("\n"));
    }
    window.print();
  }

  private sheet(): Sheet {
    const { kernel, state, index, layout } = this.page;
    const file = state.line === null || kernel === null ? -1 : kernel.files.indexOf(state.line.path);
    const key = kernel === null || state.line === null ? -1 : kernel.places.keyOf(file, state.line.line);
    const texts = new Map(this.texts);
    for (const { linked } of layout.slots) if (linked instanceof SourcePane && !linked.bare) texts.set(linked.title, linked.text.split("\n"));
    return { key, title: index?.title ?? "", texts, change: this.change() };
  }

  /** From the old side of a comparison to the new, or from the version before to the one that is shown. */
  private change(): Sheet["change"] {
    const { kernel, index, compiler } = this.page;
    if (kernel === null || index === null) return null;
    const [a, b] = this.sides;
    const side = (word: string | undefined): Entry | undefined => entriesOf(index).find(({ program, name }) => word === `${program.id}:${name}`);
    const [old, now] = [side(a), side(b)];
    if (old !== undefined && now !== undefined) return { words: `From ${wordsOf(old)} to ${wordsOf(now)}`, old: old.program, oldRow: old.row, now: now.program, nowRow: now.row };
    const before = compiler?.before(kernel.program, kernel.row) ?? null;
    if (before === null) return null;
    return { words: `From version “${before.name}”${differing(before.program, kernel.program)}`, old: before.program, oldRow: before.row, now: kernel.program, nowRow: kernel.row };
  }
}

/** How the builds of two versions differ, beside their sources. */
function differing(old: ProgramInfo, now: ProgramInfo): string {
  const parts = (["device", "toolchain", "options"] as const).filter((part) => old[part] !== now[part]);
  return parts.map((part) => `, ${part} ${old[part] || "none"} → ${now[part] || "none"}`).join("");
}

function wordsOf({ program, shown }: Entry): string {
  return [shown, program.device, program.toolchain, program.options].filter(Boolean).join(" · ");
}
