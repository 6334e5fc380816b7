import type { Choices, Configuration } from "../document/options";
import type { HttpSource } from "../document/http";
import type { ProgramInfo } from "../document/schema";
import { DocumentError, sentenceOf } from "../document/source";
import { compile, type Request, type Result, waitingWords } from "./compiles";
import type { LinkedVersion } from "./linked";
import { type Draft, firstOf, type Outcome, sameDraft, type Version, Versions } from "./versions";

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
  /** A version that is not the current one was compiled again, or could not be. */
  revived(edit: Edit): void;
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
  /** Ids of the program that was read, and of all that was compiled: also of versions that are no more. */
  private readonly programs: Set<string>;
  /** Versions by ids that their programs had elsewhere. */
  private readonly aliases = new Map<string, Version>();
  private readonly session = crypto.randomUUID();
  private serial = 0;
  private abort: AbortController | null = null;
  private timer = 0;
  /** Versions that are compiled again, or were without a result: by their numbers. */
  private readonly revived = new Map<number, boolean>();
  private answered = Number.NEGATIVE_INFINITY;
  private isTypedOn = false;

  constructor(
    readonly base: ProgramInfo,
    /** The file that is compiled, as it was read. */
    readonly main: { path: string; text: string },
    built: Configuration,
    outcome: Outcome,
    /** For what it is compiled: what the program was built with may not be here. */
    private readonly able: Configuration,
    private readonly source: HttpSource,
    private readonly host: Host,
  ) {
    this.versions = new Versions(firstOf({ texts: {}, configuration: built }, outcome));
    this.draft = { texts: {}, configuration: able };
    this.programs = new Set([base.id]);
  }

  /** Whether a program is the one that was read, or came of a compile of it. */
  has({ id }: Pick<ProgramInfo, "id">): boolean {
    return this.programs.has(id);
  }

  /** Whether the draft is what was read. */
  get isRead(): boolean {
    return sameDraft(this.draft, { texts: {}, configuration: this.able });
  }

  /** Whether what is shown was not made from the draft. */
  get isStale(): boolean {
    const { current, first } = this.versions;
    return this.doing !== null || this.timer !== 0 || (current !== first && current.errors > 0);
  }

  /** A file's text is another; `read` is what it was as it was read, if it was not edited before. */
  write(path: string, text: string, read: string): void {
    if (this.timer === 0 && this.doing === null) this.isTypedOn = performance.now() - this.answered < TYPED_ON;
    this.draft = this.with(path, text, read);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.compile(), REST);
    this.host.changed(this);
  }

  /** The draft with another text of a file. */
  private with(path: string, text: string, read: string): Draft {
    const { versions, draft } = this;
    if (!versions.read.has(path)) versions.read.set(path, read);
    const { [path]: _, ...others } = draft.texts;
    return { ...draft, texts: text === versions.read.get(path) ? others : { ...others, [path]: text } };
  }

  /** The text that a file has in a version or draft; `read` is what it is as long as it was not edited. */
  textOf({ texts }: Draft, path: string, read: string): string {
    return texts[path] ?? this.versions.read.get(path) ?? read;
  }

  configure(change: Partial<Configuration>): void {
    this.draft = { ...this.draft, configuration: { ...this.draft.configuration, ...change } };
    this.isTypedOn = false;
    this.compile();
  }

  /** Takes over a file's text and a configuration, and compiles them. */
  take(path: string, text: string, read: string, configuration: Configuration): void {
    this.draft = { ...this.with(path, text, read), configuration };
    this.isTypedOn = false;
    this.compile();
  }

  selectNumber(number: number): void {
    const version = this.versions.numbered(number);
    if (version !== null) this.select(version);
  }

  /** Goes to a version. */
  select(version: Version): void {
    this.stop();
    const { texts, configuration } = version;
    this.draft = { texts, configuration: version === this.versions.first ? this.able : configuration };
    this.answered = Number.NEGATIVE_INFINITY;
    this.versions.choose(version);
    if (version.outcome === null) this.compile();
    this.host.chosen(this);
  }

  /** Makes what a link holds the draft, and compiles it. */
  load(draft: Draft | null, isHere: (configuration: Configuration) => boolean): void {
    const configuration = draft !== null && isHere(draft.configuration) ? draft.configuration : this.able;
    this.draft = { texts: draft?.texts ?? {}, configuration };
    this.isTypedOn = false;
    this.compile();
  }

  /** Takes over versions of a link, and with which one others are compared; `id` is that of the program where the link was made. */
  adopt(id: string, linked: readonly LinkedVersion[], against: number | null): void {
    this.aliases.set(id, this.versions.first);
    this.versions.adopt(linked);
    // What comes of them may be called otherwise here.
    for (const each of linked) {
      const version = this.versions.find(each);
      if (each.id !== null && version !== null) this.aliases.set(each.id, version);
    }
    if (against !== null && this.versions.numbered(against) !== null) this.versions.against = against;
  }

  /** The versions that are seen: those that programs of these ids came of, and, of the edit that is shown, the current one and
   * the one that it is compared with. */
  seen(ids: readonly string[], isShown: boolean): Version[] {
    const { versions } = this;
    const shown = versions.compiled(versions.current);
    const current = isShown ? [versions.current, shown, shown === null ? null : versions.before(shown)] : [];
    const seen = new Set([...current, ...ids.map((id) => this.madeAs(id))]);
    return versions.list.filter((version) => seen.has(version));
  }

  /** Whether versions are compiled again beside what is shown. */
  get isReviving(): boolean {
    return [...this.revived.values()].includes(true);
  }

  /** Compiles a version again that is there without what it was compiled to; false if that was tried already. */
  revive(version: Version): boolean {
    if (version.outcome !== null || this.revived.has(version.number)) return this.revived.get(version.number) === true;
    this.revived.set(version.number, true);
    void this.again(version);
    return true;
  }

  /** Compiles the version again that the shown one is compared with, where it was not compiled here yet. */
  reviveBefore(): void {
    const shown = this.versions.compiled(this.versions.current);
    const before = shown === null || shown.outcome === null ? null : this.versions.before(shown);
    if (before !== null) this.revive(before);
  }

  private async again(version: Version): Promise<void> {
    const since = performance.now();
    try {
      const result = await this.answer(version, { session: crypto.randomUUID(), serial: 1 }, new AbortController().signal, () => true);
      if (result !== null && version.outcome === null) {
        const outcome = outcomeOf(result, version, (performance.now() - since) / 1000);
        if (outcome.program !== null) this.programs.add(outcome.program.id);
        for (const program of outcome.index?.programs ?? []) program.version = version.number;
        const { id } = version;
        this.versions.complete(version, outcome);
        if (id !== null && outcome.program !== null) this.aliases.set(id, version);
      }
    } catch (problem) {
      this.fault ??= `Version ${version.number} could not be compiled again: ${sentenceOf(problem)}`;
    }
    this.revived.set(version.number, false);
    this.host.revived(this);
  }

  /** The version that a program came of, by the id that it has here, or had where a link was made. */
  madeAs(id: string): Version | null {
    return this.aliases.get(id) ?? this.versions.madeAs(id);
  }

  /** Compiles the draft; a compile that runs is given up. What was compiled here already is not compiled again, unless `anew`. */
  compile(anew = false): void {
    this.stop();
    const known = this.isRead ? this.versions.first : this.versions.find(this.draft);
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
    const since = performance.now();
    let result: Result | null = null;
    try {
      result = await this.answer(draft, { session: this.session, serial }, signal, (words) => {
        if (serial !== this.serial) return false;
        if (words !== null) {
          this.doing = { words, since };
          this.host.changed(this);
        }
        return true;
      });
      if (result === null) return;
    } catch (problem) {
      if (signal.aborted || serial !== this.serial) return;
      this.doing = null;
      this.fault = sentenceOf(problem);
      return this.host.changed(this);
    }
    this.doing = null;
    this.answered = performance.now();
    const outcome = outcomeOf(result, draft, (this.answered - since) / 1000);
    if (outcome.program !== null) this.programs.add(outcome.program.id);
    const { number } = this.versions.take(draft, outcome, this.isTypedOn);
    for (const program of outcome.index?.programs ?? []) program.version = number;
    this.host.chosen(this);
  }

  /** A draft's texts as a request has them. */
  asSource({ texts }: Draft): Request["source"] {
    const [edited = this.main, ...others] = Object.entries(texts).map(([path, text]) => ({ path, text }));
    return { ...edited, program: this.base.id, others };
  }

  /** What came of a compile; null if nobody waits for it any more. */
  private async answer(draft: Draft, turn: { session: string; serial: number }, signal: AbortSignal, hears: Hears): Promise<Result | null> {
    const request = { ...turn, source: this.asSource(draft), configurations: [draft.configuration] };
    let result: Result | null = null;
    for await (const event of compile(this.source, request, signal)) {
      const isStep = event.event === "queued" || event.event === "started";
      if (!hears(!isStep ? null : event.event === "queued" ? waitingWords(event.place) : "compiling")) return null;
      if (event.event === "closing") throw new DocumentError("The server is ending.", "Start kernlens serve again.");
      if (event.event === "result") result = event;
    }
    if (result === null) throw new DocumentError("The server ended the compile before it had a result.", "Compile again: Ctrl+Enter.");
    return result;
  }
}

/** Hears what a compile does, null where there is nothing to say; false: nobody waits for it any more. */
type Hears = (words: string | null) => boolean;

function outcomeOf({ ok, index, diagnostics, log, reason }: Result, { configuration }: Draft, seconds: number): Outcome {
  const program = (ok ? index?.programs[0] : null) ?? null;
  for (const each of index?.programs ?? []) {
    each.edited = true;
    each.options = configuration.options;
  }
  return { program, index, diagnostics, log: program === null ? log || (reason ?? "") : "", seconds };
}

/** Version 1 of a program: what it was built with, which is `like` where that is here, and what became of it. */
export function asRead(program: ProgramInfo, like: Configuration, { toolchains }: Choices): { built: Configuration; outcome: Outcome } {
  const isHere = like.device === program.device && toolchains.some(({ name, versions }) => name === like.toolchain && (name === program.toolchain || versions === program.toolchain));
  return {
    built: isHere ? like : { ...like, device: program.device ?? "?", toolchain: program.toolchain ?? "?" },
    outcome: { program: program.ok ? program : null, index: null, diagnostics: program.diagnostics, log: program.ok ? "" : (program.reason ?? ""), seconds: 0 },
  };
}
