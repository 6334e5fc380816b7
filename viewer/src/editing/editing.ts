import type { HttpSource } from "../document/http";
import type { Kernel } from "../document/kernel";
import type { Index, ProgramInfo } from "../document/schema";
import { DocumentError, sentenceOf } from "../document/source";
import { plural } from "../dom";
import { entriesOf } from "../frame/kernels";
import type { Compiler, Page } from "../page";
import { SourcePane } from "../panes/source";
import { EditBar, REST } from "./bar";
import { type Choices, type Configuration, type Diagnostic, type Result, compile, likeOf, waitingWords } from "./compiles";
import { problemList } from "./problems";
import { configurationsIn, configurationsOut, drawn, packed, type SharedText } from "./shared_text";
import { mainFile, Trials } from "./trials";

/** Configurations of one page. */
const MOST = 8;

/** A configuration and what came of it last. */
interface Attempt {
  configuration: Configuration;
  /** Of the last compile that succeeded: the program, and its document. */
  program: ProgramInfo | null;
  index: Index | null;
  result: Result | null;
  /** From the compile's beginning to this result. */
  seconds: number;
}

/** Editing a source and compiling it in place: one text, several configurations, the newest compile only. */
export class Editing implements Compiler {
  readonly bar: EditBar;
  attempts: Attempt[] = [];
  at = 0;
  private pane: SourcePane | null = null;
  private path = "";
  private program = "";
  /** The text as it is now, and the recorded one; null if editing began with another. */
  private text = "";
  private recorded: string | null = null;
  private base: Index | null = null;
  /** The texts that programs were made from, by their ids: of the one that is edited (null: of another text than the editor began
   * with), and of what compiles gave. */
  private readonly textOf = new Map<string, string | null>();
  /** The configurations of the running compile that have no result yet, and what each does. */
  private readonly pending = new Map<Attempt, string>();
  private readonly trialsOf = new Map<string, Trials>();
  private serial = 0;
  private readonly session = crypto.randomUUID();
  private abort: AbortController | null = null;
  private timer = 0;
  private since = 0;
  private clock = 0;

  constructor(
    private readonly page: Page,
    private readonly source: HttpSource,
  ) {
    this.bar = new EditBar(this);
  }

  get on(): boolean {
    return this.pane !== null;
  }

  /** Whether a program is the one that is edited, or came of a compile of it. */
  hasMade({ id }: ProgramInfo): boolean {
    return this.on && this.textOf.has(id);
  }

  /** The path of the text that is edited, in the programs that it is of. */
  pathOf(program: ProgramInfo): string | null {
    return this.hasMade(program) ? this.path : null;
  }

  /** The editor, where it is what this file of the program is shown in. */
  paneOf(program: ProgramInfo, path: string): SourcePane | null {
    return this.pathOf(program) === path ? this.pane : null;
  }

  canTry(program: ProgramInfo): boolean {
    return mainFile(program) !== null;
  }

  trials(kernel: Kernel): HTMLElement | null {
    const { program } = kernel;
    if (!this.canTry(program)) return null;
    const trials = this.trialsOf.get(program.id) ?? new Trials(this.source, program);
    this.trialsOf.set(program.id, trials);
    return trials.show(kernel);
  }

  /** Makes the source in sight editable; `shared` is what the address says of its text, beside its configurations. */
  async start(shared?: SharedText): Promise<void> {
    const { page } = this;
    if (this.on) return this.show();
    if (page.kernel === null) return page.tell("Only a source that compiled once can be edited here: mend it in its file, and start kernlens serve again.");
    let choices: Choices;
    try {
      choices = (await this.source.json("/api/choices")) as Choices;
    } catch (problem) {
      return page.tell(sentenceOf(problem));
    }
    // A link says which file it is that was edited.
    if (shared !== undefined && page.kernel?.files.includes(shared.path)) await page.file(shared.path);
    // Meanwhile another kernel may have been opened, or the key pressed again.
    const sources = page.layout.slots.filter(({ kind }) => kind === "source");
    const pane = (sources.find(({ element }) => element.contains(page.root.activeElement)) ?? sources[0])?.linked;
    if (this.on) return;
    if (!(pane instanceof SourcePane) || pane.bare) return page.tell("There is no source text here to edit.");
    const { program } = pane.kernel;
    const like = likeOf(program, choices);
    if (like === null) return page.tell("No compiler is installed: kernlens doctor says which package to install.");
    this.path = pane.title;
    this.program = program.id;
    this.base = page.index;
    this.text = pane.text;
    this.recorded = program.edited ? null : pane.text;
    this.textOf.clear();
    this.textOf.set(program.id, pane.fresh ? pane.text : null);
    const linked = shared === undefined ? [] : configurationsIn(page.state.more.e ?? "");
    const able = linked.filter(({ device, toolchain }) => choices.devices.find(({ name }) => name === device)?.toolchains.includes(toolchain)).slice(0, MOST);
    this.attempts = able.map((configuration) => ({ configuration, program: null, index: null, result: null, seconds: 0 }));
    if (able.length === 0) this.attempts = [{ configuration: like, program, index: null, result: null, seconds: 0 }];
    this.at = 0;
    this.pane = pane;
    pane.isHeld = true;
    pane.edit({ change: (text) => this.changed(text), compile: () => this.compile(), leave: () => page.layout.of("code")?.linked?.pane.focus() });
    page.element.classList.add("editing");
    this.bar.show(choices);
    page.showEditing();
    pane.pane.focus();
    page.tell("It compiles when you rest, or at Ctrl+Enter; Esc leaves the editor.");
    if (shared === undefined) return;
    const text = shared.word === "" ? this.text : await drawn(shared);
    if (this.pane !== pane) return;
    if (able.length < linked.length) page.tell("No compiler here is for every device and toolchain of the link.");
    if (shared.path !== "" && shared.path !== this.path) page.tell(`The link's edited text is of ${shared.path}, which this kernel has no code of.`);
    else if (text === null) page.tell("The edited text in the link is damaged: what is shown is the recorded one.");
    else if (text !== this.text) return pane.setText(text);
    if (able.length > 0) this.compile();
  }

  /** Brings the editor into sight. */
  private async show(): Promise<void> {
    const program = this.page.kernel?.program;
    if (program === undefined || !this.hasMade(program)) return this.select(this.at);
    await this.page.file(this.path);
    this.pane?.pane.focus();
  }

  /** Ends editing; what was compiled last stays in sight. */
  stop(): void {
    const { page, pane } = this;
    if (pane === null) return;
    this.cancel();
    this.showProblems([], "");
    pane.endEditing();
    pane.isHeld = false;
    this.pane = null;
    if (page.layout.slotOf(pane) === null) pane.pane.destroy();
    page.element.classList.remove("editing", "stale");
    page.showEditing();
  }

  private changed(text: string): void {
    this.text = text;
    this.freshen();
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.compile(), REST);
    this.share();
  }

  /** Puts the text and the configurations into the address. */
  private share(): void {
    const { text } = this;
    void packed({ program: this.program, path: this.path }, text === this.recorded ? null : text).then((word) => {
      if (text !== this.text || !this.on) return;
      const { z: _, e: __, ...more } = this.page.state.more;
      const { configuration } = this.attempts[this.at];
      const e = configurationsOut([configuration, ...this.attempts.filter((_, at) => at !== this.at).map((other) => other.configuration)]);
      this.page.go({ more: word === null ? more : { ...more, z: word, e } }, "replace");
      if (word === null) this.bar.tell("too long for a link: save it in a file", false);
    });
  }

  /** A change of the configuration that is shown. */
  configure(change: Partial<Configuration>): void {
    const attempt = this.attempts[this.at];
    attempt.configuration = { ...attempt.configuration, ...change };
    attempt.program = attempt.result = null;
    this.bar.draw();
    this.share();
    this.compile();
  }

  add(): void {
    if (this.attempts.length >= MOST) return this.page.tell("Eight configurations are enough for one page.");
    this.attempts.push({ configuration: { ...this.attempts[this.at].configuration }, program: null, index: null, result: null, seconds: 0 });
    this.at = this.attempts.length - 1;
    this.bar.draw();
    this.share();
    this.bar.focus();
    this.page.tell("Change the device, the toolchain or the options of the new configuration; Compare shows two of them.");
  }

  remove(): void {
    if (this.attempts.length < 2) return;
    this.attempts.splice(this.at, 1);
    this.at = 0;
    this.adopt();
    this.select(0);
  }

  select(at: number): void {
    this.at = at;
    this.bar.draw();
    this.share();
    this.say();
    const { program, result } = this.attempts[at];
    this.showProblems(result?.diagnostics ?? [], result?.ok === false ? result.log : "");
    this.freshen();
    if (program !== null) this.open(program);
    else if (result === null) this.compile();
  }

  again(): void {
    const begin = this.on ? Promise.resolve() : this.start();
    void begin.then(() => this.compile());
  }

  allPasses(): void {
    const begin = this.on ? Promise.resolve() : this.start();
    void begin.then(() => this.on && this.configure({ all_passes: true }));
  }

  /** Compiles all configurations with the text as it is; a compile that runs is given up. */
  compile(): void {
    if (!this.on) return;
    this.cancel();
    const serial = ++this.serial;
    this.abort = new AbortController();
    this.since = performance.now();
    this.pending.clear();
    for (const attempt of this.attempts) this.pending.set(attempt, "compiling");
    this.clock = window.setInterval(() => this.say(), 100);
    this.freshen();
    void this.run(serial, this.abort.signal, this.text);
  }

  private async run(serial: number, signal: AbortSignal, text: string): Promise<void> {
    // The server numbers them as they are now; while it compiles, one may be taken out.
    const attempts = [...this.attempts];
    const configurations = attempts.map(({ configuration }) => configuration);
    let results = 0;
    try {
      const source = { path: this.path, text, program: this.program };
      for await (const event of compile(this.source, { session: this.session, serial, source, configurations }, signal)) {
        if (serial !== this.serial) return;
        if (event.event === "queued") this.pending.set(attempts[event.configuration], waitingWords(event.place));
        else if (event.event === "started") this.pending.set(attempts[event.configuration], "compiling");
        else if (event.event === "closing") throw new DocumentError("The server is ending.", "Start kernlens serve again.");
        else if (event.event === "result") {
          results++;
          this.take(attempts[event.configuration], event, configurations[event.configuration], text);
        }
      }
      if (serial === this.serial && results < configurations.length) throw new DocumentError("The server ended the compile before it had a result.", "Compile again: Ctrl+Enter.");
    } catch (problem) {
      if (signal.aborted || serial !== this.serial) return;
      this.bar.tell(sentenceOf(problem), true);
    } finally {
      if (serial === this.serial) {
        this.rest();
        this.freshen();
      }
    }
  }

  private take(attempt: Attempt, result: Result, { options }: Configuration, text: string): void {
    if (!this.attempts.includes(attempt)) return;
    attempt.result = result;
    attempt.seconds = (performance.now() - this.since) / 1000;
    this.pending.delete(attempt);
    const isShown = attempt === this.attempts[this.at];
    if (result.ok && result.index !== null) {
      for (const program of result.index.programs) {
        program.edited = true;
        program.options = options;
        this.textOf.set(program.id, text);
      }
      attempt.index = result.index;
      attempt.program = result.index.programs[0] ?? null;
      this.adopt();
      this.forget();
      if (isShown && attempt.program !== null) this.open(attempt.program);
    }
    this.bar.draw();
    if (!isShown) return;
    this.freshen();
    this.say();
    this.showProblems(result.diagnostics, result.ok ? "" : result.log || (result.reason ?? ""));
    this.page.status.say(result.ok ? "compiled" : `failed, ${plural(result.diagnostics.length, "message")}`, 0);
  }

  /** How the compile of the configuration that is shown stands. */
  private say(): void {
    const attempt = this.attempts[this.at];
    const { program, result, seconds } = attempt;
    const doing = this.pending.get(attempt);
    if (doing !== undefined) this.bar.tell(`${doing} ${((performance.now() - this.since) / 1000).toFixed(1)} s`, false);
    else if (result?.ok) this.bar.tell(`compiled in ${seconds.toFixed(2)} s`, false);
    else if (result !== null) this.bar.tell(program === null ? "failed" : "failed; what is shown is from before the error", true);
  }

  /** The page's document is what was opened, with the results before it. */
  private adopt(): void {
    const { base } = this;
    if (base === null) return;
    const results = this.attempts.flatMap(({ index }) => index ?? []);
    this.page.adopt({
      ...base,
      opcodes: new Map([base, ...results].flatMap(({ opcodes }) => [...opcodes])),
      programs: [...results.flatMap(({ programs }) => programs), ...base.programs],
      chunks: new Map([base, ...results].flatMap(({ chunks }) => [...chunks])),
    });
  }

  /** Programs that are shown nowhere any more may take their texts with them. */
  private forget(): void {
    const shown = new Set([this.program, this.page.kernel?.program.id, ...this.attempts.map(({ program }) => program?.id)]);
    for (const id of this.textOf.keys()) if (!shown.has(id)) this.textOf.delete(id);
  }

  /** The kernel that was shown, or the first if it is no more. */
  private open(program: ProgramInfo): void {
    const { index, kernel } = this.page;
    if (index === null) return;
    const entries = entriesOf(index).filter((entry) => entry.program === program);
    const entry = entries.find(({ name }) => name === kernel?.name) ?? entries[0];
    if (entry !== undefined) void this.page.open(entry, "replace");
  }

  /**
   * Whether what is shown is of the text as it is now: while it is not, no line is tied to it, and it is greyed. Another program
   * that was opened meanwhile has its own text.
   */
  freshen(): void {
    const { page, pane } = this;
    if (pane === null) return;
    const program = page.kernel?.program;
    const attempt = this.attempts[this.at];
    const fresh = program !== undefined && this.textOf.get(program.id) === this.text;
    const wait = this.pending.has(attempt) || attempt.program === null;
    page.element.classList.toggle("stale", program !== undefined && this.textOf.has(program.id) && (!fresh || wait));
    if (pane.fresh === fresh) return;
    pane.fresh = fresh;
    pane.pane.refresh();
  }

  private rest(): void {
    clearInterval(this.clock);
    this.pending.clear();
    this.abort = null;
  }

  private cancel(): void {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.serial++;
    this.rest();
  }

  /** Marks in the editor what the compiler says, and lists it below. */
  private showProblems(diagnostics: readonly Diagnostic[], log: string): void {
    const { layout } = this.page;
    const here = diagnostics.filter((each) => this.isHere(each));
    this.pane?.mark(here);
    const list = problemList(diagnostics, log, (each) => (here.includes(each) ? () => void this.goTo(each) : null));
    (layout.of("source") ?? layout.slots[0]).below(list);
  }

  /** A message's place in the editor. */
  private async goTo({ line, column }: Diagnostic): Promise<void> {
    if (line < 1 || this.pane === null) return;
    await this.page.file(this.path);
    this.pane?.place(line, column);
    this.pane?.pane.focus();
  }

  private isHere({ path }: Diagnostic): boolean {
    return path === "" || path === this.path || path.slice(path.lastIndexOf("/") + 1) === this.path.slice(this.path.lastIndexOf("/") + 1);
  }
}
