import type { Configuration } from "../document/options";
import type { HttpSource } from "../document/http";
import type { ProgramInfo } from "../document/schema";
import { DocumentError, sentenceOf } from "../document/source";
import { compile, type Result, waitingWords } from "./compiles";
import { type Draft, firstOf, type Outcome, type Version, Versions } from "./versions";

/** After the last key, before a compile begins; in milliseconds. */
export const REST = 400;
/** After an answer: who types on before is not done with the version; in milliseconds. */
const TYPED_ON = 2000;

/** Who shows an edit. */
export interface Host {
  /** The draft, or what its compile does, has changed. */
  changed(edit: Edit): void;
  /** The current version is another, or has been compiled. */
  chosen(edit: Edit): void;
}

/** One program's versions, what is being made of them, and the compile of that: the newest draft only. */
export class Edit {
  readonly versions: Versions;
  /** The text and the configuration as they are now. */
  draft: Draft;
  /** What a compile that runs does, and since when; null while none runs. */
  doing: { words: string; since: number } | null = null;
  /** Why the last compile had no answer. */
  fault: string | null = null;
  private readonly session = crypto.randomUUID();
  private serial = 0;
  private abort: AbortController | null = null;
  private timer = 0;
  private answered = Number.NEGATIVE_INFINITY;
  private isTypedOn = false;

  constructor(
    readonly base: ProgramInfo,
    first: Draft,
    outcome: Outcome,
    /** For what it is compiled from now on: what the program was built with may not be here. */
    configuration: Configuration,
    private readonly source: HttpSource,
    private readonly host: Host,
  ) {
    this.versions = new Versions(firstOf(first, outcome));
    this.draft = { ...first, configuration };
  }

  /** Whether a program is the one that was read, or came of a compile of it. */
  has({ id }: ProgramInfo): boolean {
    return this.base.id === id || this.versions.list.some(({ outcome }) => outcome?.program?.id === id);
  }

  /** Whether what is shown was not made from the draft. */
  get isStale(): boolean {
    const { current, first } = this.versions;
    return this.doing !== null || this.timer !== 0 || (current !== first && current.errors > 0);
  }

  /** The draft's text is another. */
  write(path: string, text: string): void {
    if (this.timer === 0 && this.doing === null) this.isTypedOn = performance.now() - this.answered < TYPED_ON;
    this.draft = { ...this.draft, basis: this.basisOf(path), path, text };
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.compile(), REST);
    this.host.changed(this);
  }

  /** The program whose other files are meant with this one: whoever goes on in another file keeps what was compiled. */
  private basisOf(path: string): string {
    const { draft, versions } = this;
    if (path === draft.path) return draft.basis;
    return versions.compiled(versions.current)?.outcome?.program?.id ?? this.base.id;
  }

  configure(change: Partial<Configuration>): void {
    this.draft = { ...this.draft, configuration: { ...this.draft.configuration, ...change } };
    this.isTypedOn = false;
    this.compile();
  }

  /** Takes over a text and a configuration, and compiles them. */
  take(draft: Draft): void {
    this.draft = draft;
    this.isTypedOn = false;
    this.compile();
  }

  /** Goes to a version. */
  select(version: Version): void {
    this.stop();
    const { basis, path, text, configuration } = version;
    this.draft = { basis, path, text, configuration };
    this.answered = Number.NEGATIVE_INFINITY;
    this.versions.choose(version);
    if (version.outcome === null) this.compile();
    this.host.chosen(this);
  }

  /** Compiles the draft; a compile that runs is given up. What was compiled here already is not compiled again, unless `anew`. */
  compile(anew = false): void {
    this.stop();
    const known = this.versions.find(this.draft);
    if (!anew && known !== null && known.outcome !== null) {
      this.versions.choose(known);
      return this.host.chosen(this);
    }
    this.abort = new AbortController();
    this.doing = { words: "compiling", since: performance.now() };
    this.host.changed(this);
    void this.run(++this.serial, this.abort.signal, this.draft);
  }

  /** Gives up the compile that runs or is about to. */
  private stop(): void {
    clearTimeout(this.timer);
    this.timer = 0;
    this.abort?.abort();
    this.abort = null;
    this.serial++;
    this.doing = null;
    this.fault = null;
  }

  private async run(serial: number, signal: AbortSignal, draft: Draft): Promise<void> {
    const { basis, path, text, configuration } = draft;
    const since = performance.now();
    const request = { session: this.session, serial, source: { path, text, program: basis }, configurations: [configuration] };
    let result: Result | null = null;
    try {
      for await (const event of compile(this.source, request, signal)) {
        if (serial !== this.serial) return;
        if (event.event === "queued" || event.event === "started") {
          this.doing = { words: event.event === "queued" ? waitingWords(event.place) : "compiling", since };
          this.host.changed(this);
        } else if (event.event === "closing") throw new DocumentError("The server is ending.", "Start kernlens serve again.");
        else if (event.event === "result") result = event;
      }
      if (result === null) throw new DocumentError("The server ended the compile before it had a result.", "Compile again: Ctrl+Enter.");
    } catch (problem) {
      if (signal.aborted || serial !== this.serial) return;
      this.doing = null;
      this.fault = sentenceOf(problem);
      return this.host.changed(this);
    }
    this.doing = null;
    this.answered = performance.now();
    this.versions.take(draft, outcomeOf(result, draft, (this.answered - since) / 1000), this.isTypedOn);
    this.host.chosen(this);
  }
}

function outcomeOf({ ok, index, diagnostics, log, reason }: Result, { configuration }: Draft, seconds: number): Outcome {
  const program = (ok ? index?.programs[0] : null) ?? null;
  for (const each of index?.programs ?? []) {
    each.edited = true;
    each.options = configuration.options;
  }
  return { program, index, diagnostics, log: program === null ? log || (reason ?? "") : "", seconds };
}
