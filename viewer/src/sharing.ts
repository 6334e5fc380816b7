import type { Kernel } from "./document/kernel";
import { readText } from "./document/read";
import type { Source } from "./document/source";
import { h } from "./dom";
import { sharedText } from "./editing/shared_text";
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

  get seen(): SeenProgram[] {
    const seen = new Map<string, Set<string>>();
    for (const { program, name } of this.entries()) seen.set(program.id, (seen.get(program.id) ?? new Set()).add(name));
    return [...seen].map(([id, names]) => ({ id, kernels: [...names] }));
  }

  /** The kernel that is shown, what it was compiled to here, what that was compiled from, and both sides of a comparison. */
  private entries(): Entry[] {
    const { index, kernel, state } = this.page;
    if (index === null || kernel === null) return [];
    const edited = sharedText(state.more.z ?? "").program;
    const isShown = ({ program, row }: Entry): boolean => program.id === kernel.program.id && row === kernel.row;
    const isVersion = ({ program, name }: Entry): boolean => name === kernel.name && (program.edited || program.id === edited);
    const entries = entriesOf(index);
    return [...entries.filter(isShown), ...entries.filter((entry) => !isShown(entry) && (isVersion(entry) || this.isSide(entry)))];
  }

  private isSide({ program, name }: Entry): boolean {
    const { a, b } = this.page.state.more;
    return [a, b].some((side) => side?.includes(program.id) && side.includes(name));
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

  /** From the old side of a comparison to the new, or from what was read to the version that is shown. */
  private change(): Sheet["change"] {
    const entries = this.entries();
    const { a, b } = this.page.state.more;
    const side = (word: string | undefined): Entry | undefined => entries.find(({ program, name }) => word?.includes(program.id) && word.includes(name));
    const [shown] = entries;
    const isCompared = a !== undefined && b !== undefined;
    const old = isCompared ? side(a) : shown?.program.edited ? entries.find(({ program }) => !program.edited) : undefined;
    const now = isCompared ? side(b) : shown;
    if (old === undefined || now === undefined || old === now) return null;
    return { words: `From ${wordsOf(old)} to ${wordsOf(now)}`, old: old.program, oldRow: old.row, now: now.program, nowRow: now.row };
  }
}

function wordsOf({ program, shown }: Entry): string {
  return [shown, program.device, program.toolchain, program.options, program.edited ? "as edited" : ""].filter(Boolean).join(" · ");
}
