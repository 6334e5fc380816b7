import type { HttpSource } from "../document/http";
import type { Choices } from "../document/options";
import type { Kernel } from "../document/kernel";
import type { Diagnostic, ProgramInfo } from "../document/schema";
import { count, plural } from "../dom";
import type { BuildFields, Standing } from "../frame/build";
import type { Entry } from "../frame/kernels";
import { errorWords, type ShownVersion, VersionStrip } from "../frame/versions";
import type { Page } from "../page";
import { SourcePane } from "../panes/source";
import { likeOf } from "./compiles";
import type { Edit } from "./edit";
import { problemList } from "./problems";
import { Replays } from "./replays";
import type { Version } from "./versions";

/** Milliseconds between two drawings of the time that a compile takes. */
const TICK = 100;

/** What is seen of the edit of the kernel that is shown: fields, versions, messages, and whether all that is up to date. */
export class EditView {
  fields: BuildFields | null = null;
  private readonly strip: VersionStrip;
  private readonly marked = new WeakMap<SourcePane, readonly Diagnostic[]>();
  private readonly replays: Replays;
  private clock = 0;

  constructor(
    private readonly page: Page,
    source: HttpSource,
    choose: (number: number) => void,
    against: (number: number) => void,
    replayed: () => void,
  ) {
    this.strip = new VersionStrip(choose, against);
    this.replays = new Replays(source, replayed);
    this.strip.element.append(this.replays.element);
  }

  /** The panes with sources. */
  sources(): SourcePane[] {
    return this.page.layout.slots.flatMap(({ linked }) => (linked instanceof SourcePane ? [linked] : []));
  }

  /** Lets the time stand until it is drawn again: nothing is said to be compiled before it is shown. */
  rest(): void {
    clearTimeout(this.clock);
  }

  /** The fields are those of a kernel that is on its way, and locked until it is there (null). */
  expect(entry: Entry | null, edit: Edit | null, choices: Choices | null): void {
    if (entry === null || choices === null) return this.fields?.unlock();
    this.rest();
    this.fields?.lock(edit?.draft.configuration ?? likeOf(entry.program, choices));
  }

  tellLoading(entry: Entry | null): void {
    if (entry !== null) this.fields?.tell({ words: `loading ${entry.shown}…`, kind: "busy" });
  }

  draw(edit: Edit | null, choices: Choices): void {
    const { page } = this;
    const { kernel } = page;
    if (kernel === null || edit?.has(kernel.program) === false) return;
    const configuration = edit?.draft.configuration ?? likeOf(kernel.program, choices);
    if (configuration !== null) this.fields?.show(configuration);
    this.fields?.tell(standingOf(edit));
    page.element.classList.toggle("stale", edit?.isStale === true);
    clearTimeout(this.clock);
    if (edit !== null && edit.doing !== null) this.clock = window.setTimeout(() => this.draw(edit, choices), TICK);
    const slot = page.layout.of("source") ?? page.layout.slots[0];
    const { list, current, first } = edit?.versions ?? { list: [], current: null, first: null };
    const isShown = edit !== null && (list.length > 1 || first?.errors !== 0);
    slot.above(isShown ? this.strip.element : null, () => {
      if (edit === null) return;
      this.drawStrip(edit, kernel.name);
      this.replays.show(edit, kernel.name, choices);
    });
    const diagnostics = current?.outcome?.diagnostics ?? [];
    for (const pane of this.sources()) {
      if (this.marked.get(pane) === diagnostics || (edit === null && !this.marked.has(pane))) continue;
      this.marked.set(pane, diagnostics);
      this.mark(pane, current === null ? [] : this.messagesOf(current, pane.title));
    }
    const elsewhere = current === null ? [] : diagnostics.filter(({ path }) => fileOf(kernel.program, path) === null);
    slot.below(problemList(elsewhere, diagnostics.length === 0 ? (current?.outcome?.log ?? "") : "", () => null));
  }

  /** The compiler's messages in a pane; the first comes into view where nobody types. */
  private mark(pane: SourcePane, messages: readonly Diagnostic[]): void {
    pane.mark(messages);
    const error = messages.find(({ severity }) => severity === "error");
    if (error === undefined || pane.pane.isFocused || error.line < 1 || error.line > pane.pane.lineCount) return;
    if (!pane.pane.sees(error.line - 1)) pane.pane.show(error.line - 1);
  }

  private drawStrip({ versions, doing }: Edit, kernel: string): void {
    const { list, current } = versions;
    const shown = versions.compiled(current);
    const base = shown === null ? null : versions.before(shown);
    const items = list.map((version): ShownVersion => {
      const { number, name, errors } = version;
      const figure = errors > 0 ? null : (version.instructions.get(kernel) ?? null);
      // With which all are compared has nothing to be compared with.
      const from = number === versions.against ? null : versions.before(version);
      const former = from?.instructions.get(kernel) ?? null;
      const change = figure === null || from === null || former === null ? null : { by: figure - former, from: from.number, isApart: from.configuration.device !== version.configuration.device };
      return { number, name, errors, figure, change, isCurrent: version === current, isBase: version === base, badge: this.replays.badge(version, kernel) };
    });
    const isOlder = current.errors > 0 && doing === null;
    const told = !isOlder ? null : shown === null ? null : `Figures and machine code are those of version ${shown.number}, which it was made from.`;
    this.strip.show(items, told);
  }

  /** The messages of a version about a file. */
  messagesOf({ outcome }: Version, path: string): Diagnostic[] {
    const program = this.page.kernel?.program;
    return program === undefined ? [] : (outcome?.diagnostics ?? []).filter((each) => fileOf(program, each.path) === path);
  }

  /** What a screen reader hears of a compile that has ended. */
  spoken({ versions }: Edit): string {
    const { current } = versions;
    if (current.errors > 0) return `failed, ${errorWords(current.errors)}`;
    const name = this.page.kernel?.name ?? "";
    const [now, before] = [current, versions.before(current)].map((version) => version?.instructions.get(name) ?? null);
    if (now === null) return "compiled";
    return before === null ? `compiled, ${plural(now, "instruction")}` : `compiled, ${count(before)} to ${plural(now, "instruction")}`;
  }
}

/** Whether a kernel is another one than that which is shown, whose edit `edit` is: not a version of it. */
export function isOther(entry: Entry, kernel: Kernel | null, edit: Edit | null): boolean {
  if (kernel === null) return false;
  const isSameSource = entry.program === kernel.program || edit?.has(entry.program) === true;
  return !isSameSource || entry.name !== kernel.name;
}

/** What stands in the document for an edited program: what its current version was compiled to, or the last that was. */
export function shownOf({ base, versions }: Edit): ProgramInfo {
  return versions.compiled(versions.current)?.outcome?.program ?? base;
}

/** The program's file that the compiler means by a path; null if it is none. */
function fileOf({ files }: ProgramInfo, path: string): string | null {
  const name = (of: string): string => of.slice(of.lastIndexOf("/") + 1);
  const same = files.find((file) => file.path === path) ?? (path === "" ? undefined : files.find((file) => name(file.path) === name(path)));
  return same?.path ?? null;
}

function standingOf(edit: Edit | null): Standing {
  if (edit === null) return { words: "", kind: "" };
  const { doing, fault, versions } = edit;
  const { outcome, errors } = versions.current;
  if (doing !== null) return { words: `${doing.words}… ${((performance.now() - doing.since) / 1000).toFixed(1)} s`, kind: "busy" };
  if (fault !== null) return { words: fault, kind: "failed" };
  if (errors > 0) return { words: errorWords(errors), kind: "failed" };
  if (outcome === null || outcome.seconds === 0) return { words: "", kind: "" };
  const warnings = outcome.diagnostics.filter(({ severity }) => severity === "warning").length;
  return { words: `${outcome.seconds.toFixed(2)} s${warnings === 0 ? "" : `, ${plural(warnings, "warning")}`}`, kind: "done" };
}
