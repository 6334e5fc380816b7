import type { HttpSource } from "../document/http";
import type { Kernel } from "../document/kernel";
import type { Choices, Configuration } from "../document/options";
import { readText } from "../document/read";
import type { Index, ProgramInfo } from "../document/schema";
import { sentenceOf } from "../document/source";
import { BuildFields } from "../frame/build";
import { type Entry, entriesOf } from "../frame/kernels";
import type { Before, Built, Compiler, Offers, Page } from "../page";
import { matched, textOf } from "../panes/lines";
import type { SourcePane } from "../panes/source";
import { Address } from "./address";
import { Arrival } from "./arrival";
import { Beside } from "./beside";
import { buildsOf, isCompiledHere, offersOf } from "./builds";
import { likeOf } from "./compiles";
import { asRead, Edit } from "./edit";
import { EditView, isOther, shownOf } from "./edit_view";
import { HeldEditor } from "./held";
import { askedBy } from "./keys";
import { recall, remember } from "./storage";
import { mainFile, Trials } from "./trials";
import { whole } from "./whole";
import type { Version } from "./versions";

/** Editing a source and compiling it in place: the page's edits, one per program, and what shows them. */
export class Editing implements Compiler {
  choices: Choices | null = null;
  private readonly view: EditView;
  private readonly edits = new Map<string, Edit>();
  private readonly beginning = new Map<string, Promise<Edit | null>>();
  /** The document as it was read. */
  private base: Index | null = null;
  private readonly held: HeldEditor;
  private readonly beside: Beside;
  /** The kernel that was chosen and is on its way. */
  private coming: Entry | null = null;
  /** Its source is to be typed in as soon as it is there. */
  private isAwaited = false;
  private readonly address: Address;
  private readonly arrival: Arrival;

  constructor(
    private readonly page: Page,
    private readonly source: HttpSource,
  ) {
    this.beside = new Beside(page);
    this.address = new Address(page);
    this.arrival = new Arrival(page, this);
    this.held = new HeldEditor(page);
    this.view = new EditView(
      page,
      source,
      (number) => this.act((edit) => edit.selectNumber(number)),
      (number) => this.act((edit) => this.against(edit, number)),
      () => this.draw(this.active),
    );
    void this.ask();
    page.root.addEventListener("keydown", (event) => this.pressed(event as KeyboardEvent));
  }

  /** What can be compiled for; asked again where the server did not answer. */
  private async ask(): Promise<string | null> {
    if (this.choices !== null) return null;
    try {
      const choices = (await this.source.json("/api/choices")) as Choices;
      if (choices.devices.length === 0) return "No compiler is installed: kernlens doctor says which package to install.";
      this.choices = choices;
    } catch (problem) {
      return sentenceOf(problem);
    }
    this.view.fields ??= new BuildFields(
      this.choices,
      (change) => void this.configure(change),
      () => void this.compile(),
    );
    this.page.showEditing();
    this.freshen();
    return null;
  }

  private editOf(program: Pick<ProgramInfo, "id"> | undefined): Edit | null {
    return program === undefined ? null : ([...this.edits.values()].find((edit) => edit.has(program)) ?? null);
  }

  private get active(): Edit | null {
    return this.editOf(this.page.kernel?.program);
  }

  /** Whether another kernel than the shown one is on its way: what is shown is not to be changed any more. */
  private get isLeft(): boolean {
    return this.coming !== null && isOther(this.coming, this.page.kernel, this.active);
  }

  expect(entry: Entry | null): void {
    const wasLeft = this.isLeft;
    if (entry !== null) this.isAwaited = false;
    this.coming = entry;
    this.view.expect(this.isLeft ? entry : null, this.editOf(entry?.program), this.choices);
    if (wasLeft && !this.isLeft) this.draw(this.active);
  }

  tellLoading(): void {
    this.view.tellLoading(this.coming);
  }

  hasMade(program: ProgramInfo): boolean {
    return this.editOf(program) !== null;
  }

  pathOf(program: ProgramInfo): string | null {
    return this.held.of(program)?.title ?? null;
  }

  paneOf(program: ProgramInfo, path: string): SourcePane | null {
    return this.pathOf(program) === path ? this.held.of(program) : null;
  }

  standsFor(id: string): string {
    const edit = this.editOf({ id });
    return edit === null ? id : shownOf(edit).id;
  }

  fieldsOf(program: ProgramInfo | null): HTMLElement | null {
    return program === null || !this.canTry(program) ? null : (this.view.fields?.element ?? null);
  }

  errorsIn(program: ProgramInfo, path: string): number {
    const version = this.editOf(program)?.versions.current;
    return version === undefined || version.errors === 0 ? 0 : this.view.messagesOf(version, path).filter(({ severity }) => severity === "error").length;
  }

  before(program: ProgramInfo, row: number): Before | null {
    return this.beside.before(this.editOf(program), program, row);
  }

  versionOf(program: ProgramInfo): { number: number; of: number } | null {
    const versions = this.editOf(program)?.versions;
    return versions === undefined || versions.list.length < 2 ? null : { number: versions.current.number, of: versions.list.length };
  }

  versions(program: ProgramInfo): readonly Version[] {
    return this.editOf(program)?.versions.list ?? [];
  }

  documentOf(program: ProgramInfo): Index | null {
    return this.editOf(program)?.versions.documentOf(program) ?? null;
  }

  remade(id: string): ProgramInfo | "coming" | null {
    for (const edit of this.edits.values()) {
      const version = edit.madeAs(id);
      if (version !== null) return version.outcome?.program ?? (edit.revive(version) ? "coming" : null);
    }
    return this.arrival.isGoingOn ? "coming" : null;
  }

  get isComing(): boolean {
    return this.arrival.isGoingOn || [...this.edits.values()].some(({ isReviving }) => isReviving);
  }

  get leftOut(): string | null {
    return this.address.leftOut;
  }

  canTry(program: ProgramInfo): boolean {
    return mainFile(program) !== null && isCompiledHere(program, this.choices);
  }

  trials(kernel: Kernel): HTMLElement | null {
    return this.canTry(kernel.program) ? Trials.of(kernel.program, this.source).show(kernel) : null;
  }

  revert(): void {
    this.act((edit) => edit.selectNumber(1));
    this.held.unfold();
  }

  /** The edit of what is shown. */
  async begun(): Promise<Edit | null> {
    const told = await this.ask();
    if (told !== null) this.page.tell(told);
    return told !== null || this.page.kernel === null || this.isLeft ? null : this.begin(this.page.kernel.program);
  }

  begin(program: ProgramInfo): Promise<Edit | null> {
    const edit = this.editOf(program);
    if (edit !== null) return Promise.resolve(edit);
    const begun = this.beginning.get(program.id) ?? this.beginOf(program);
    this.beginning.set(program.id, begun);
    return begun;
  }

  private async beginOf(program: ProgramInfo): Promise<Edit | null> {
    const file = mainFile(program);
    const { choices } = this;
    const like = choices === null ? null : likeOf(program, choices);
    if (file === null || choices === null || like === null) return null;
    const text = await this.textIn(program, file.path);
    this.base ??= this.page.index;
    const { built, outcome } = asRead(program, like, choices);
    const edit = new Edit(program, { path: file.path, text: text ?? "" }, built, outcome, like, this.source, { changed: (changed) => this.changed(changed), chosen: (chosen) => void this.chosen(chosen), revived: () => this.revived() });
    const written = recall(program.id);
    if (written !== null) edit.versions.restore(written);
    this.edits.set(program.id, edit);
    return edit;
  }

  /** The text of a program's file, null where it is not at hand. */
  async textIn(program: ProgramInfo, path: string): Promise<string | null> {
    const chunk = program.files.find((file) => file.path === path)?.chunk ?? null;
    return chunk === null ? null : readText(await this.source.chunk(chunk));
  }

  async arrive(more: Record<string, string>): Promise<void> {
    const told = more.w === undefined && more.z === undefined ? null : await this.ask();
    if (told !== null) this.page.tell(told);
    if (told !== null) this.arrival.end();
    else await this.arrival.open(more);
  }

  /** Lets the source be typed in, with the cursor where an edit is likely, without a jump. */
  async start(): Promise<void> {
    const { page } = this;
    const told = this.choices === null ? await this.ask() : null;
    if (told !== null) return page.tell(told);
    this.isAwaited = this.isLeft;
    if (this.isAwaited) return page.tell(`Its source can be edited once ${this.coming?.shown} is here.`);
    const sources = this.view.sources().filter(({ pane }) => pane.isEditable);
    const pane = sources.find(({ pane }) => pane.isFocused) ?? sources[0];
    if (pane === undefined) return page.tell("There is no source text here to edit.");
    // At once: the next key may be a letter already.
    this.held.type(pane);
    const edit = await this.begin(pane.kernel.program);
    if (edit !== null && pane.pane.isTyping) this.held.hold(edit, pane);
  }

  /** Takes over a file's text, as an editor around the page has it, and compiles it; true if it is a file of what is shown. */
  async take(path: string, text: string): Promise<boolean> {
    return (await this.ask()) === null && this.arrival.takeFile(path, text);
  }

  private act(act: (edit: Edit) => void): void {
    if (this.active !== null && !this.isLeft) act(this.active);
  }

  private async typed(pane: SourcePane): Promise<void> {
    const edit = await this.begin(pane.kernel.program);
    if (edit === null) return;
    this.held.hold(edit, pane);
    for (const other of this.view.sources()) if (other !== pane && other.title === pane.title && edit.has(other.kernel.program)) other.setText(pane.text);
    edit.write(pane.title, pane.text, pane.read);
    this.share();
  }

  async configure(change: Partial<Configuration>): Promise<void> {
    (await this.begun())?.configure(change);
  }

  async offers(program: ProgramInfo): Promise<Offers | null> {
    return (await this.ask()) === null && mainFile(program) !== null ? offersOf(program, this.choices) : null;
  }

  builds(configurations: readonly Configuration[], signal: AbortSignal): AsyncGenerator<Built> {
    return buildsOf(this.source, this.begun(), configurations, signal);
  }

  async compile(isAgain = false): Promise<void> {
    (await this.begun())?.compile(isAgain);
  }

  private against(edit: Edit, number: number): void {
    edit.versions.against = number;
    edit.reviveBefore();
    this.share();
    void this.compare();
  }

  /** Another version is the current one: shows its text, and what it was compiled to. */
  private async chosen(edit: Edit): Promise<void> {
    const { page } = this;
    // Nothing is said to be compiled before it is shown.
    this.view.rest();
    this.adopt();
    remember(edit.base.id, edit.versions.written());
    // Whoever has chosen another kernel meanwhile stays there.
    const program = (this.coming ?? page.kernel)?.program;
    if (program === undefined || !edit.has(program)) return this.arrival.end();
    edit.reviveBefore();
    if (edit.doing === null) this.write(edit);
    const shown = shownOf(edit);
    if (shown !== program) await this.show(shown);
    if (edit.doing === null) this.arrival.end();
    this.share();
    this.freshen();
    void this.compare();
    if (edit.doing === null) page.status.say(this.view.spoken(edit), 0);
  }

  write(edit: Edit): void {
    const own = this.held.of(edit);
    const panes = new Set([...this.view.sources(), ...(own === null ? [] : [own])]);
    for (const pane of panes) if (!pane.bare && edit.has(pane.kernel.program)) pane.setText(edit.textOf(edit.draft, pane.title, pane.read));
  }

  /** Shows what a version was compiled to: the same kernel, with the pinned line where it is now. */
  private async show(program: ProgramInfo): Promise<void> {
    const { page } = this;
    const { kernel, index } = page;
    if (kernel === null || index === null) return;
    const { line } = page.state;
    if (line !== null) {
      const [before, after] = await Promise.all([this.textIn(kernel.program, line.path), this.textIn(program, line.path)]);
      if (page.kernel !== kernel) return;
      const now = before === null || after === null ? line.line - 1 : matched(textOf(before), textOf(after)).former.indexOf(line.line - 1);
      page.go({ line: now < 0 ? null : { ...line, line: now + 1 }, offset: null, exact: false }, "replace");
    } else page.go({ offset: null, exact: false }, "replace");
    const entries = entriesOf(index).filter((entry) => entry.program === program);
    const entry = entries.find(({ name }) => name === (this.coming ?? kernel).name) ?? entries[0];
    if (entry === undefined) page.openProgram(program);
    else await page.open(entry, "replace");
  }

  /** The page's document is what was read, behind all versions; only what programs are now is listed. */
  private adopt(): void {
    const { base } = this;
    if (base === null) return;
    const { index, listed } = whole(base, this.edits);
    this.page.adopt(index, listed);
  }

  share(): void {
    if (!this.isLeft && !this.isComing) void this.address.share(this.active, (id) => this.editOf({ id }));
  }

  hold(edit: Edit, pane: SourcePane): void {
    this.held.hold(edit, pane);
  }

  /** A version was compiled again that is compared, or stands before the one that is shown. */
  private revived(): void {
    this.adopt();
    this.freshen();
    this.page.showView();
    this.share();
  }

  /** Panes were made anew, or are of other programs: makes them editors, and shows the edit that they are of. */
  freshen(): void {
    const { page } = this;
    const program = page.kernel?.program;
    if (this.choices === null || program === undefined) return;
    // What is edited is another kernel's source.
    if (this.held.of(program) === null) this.held.unfold();
    for (const pane of this.view.sources()) {
      if (pane.bare || pane.pane.isEditable || !this.canTry(pane.kernel.program)) continue;
      pane.edit({
        change: () => void this.typed(pane),
        compile: () => void this.compile(),
        pin: () => page.pin(pane),
        turned: () => this.held.turned(pane, this.editOf(pane.kernel.program)),
      });
    }
    if (this.isAwaited) void this.start();
    const edit = this.active;
    if (edit === null && (!program.ok || recall(program.id) !== null)) void this.begin(program).then((begun) => begun !== null && this.freshen());
    page.element.classList.toggle("editing", edit !== null && edit.versions.list.length > 1);
    this.draw(edit);
    if (edit === null) return;
    this.share();
    void this.compare();
  }

  private changed(edit: Edit): void {
    if (edit.fault !== null) this.arrival.end();
    this.draw(edit);
  }

  private draw(edit: Edit | null): void {
    if (edit === this.active && this.choices !== null && !this.isLeft) this.view.draw(edit, this.choices);
  }

  /** Shows beside the lines what their figures were in the version before. */
  private compare(): Promise<void> {
    const { kernel } = this.page;
    return this.beside.show(kernel === null ? null : this.before(kernel.program, kernel.row), this.view.sources(), (program, path) => this.textIn(program, path));
  }

  private pressed(event: KeyboardEvent): void {
    const asked = askedBy(event);
    if (asked === null) return;
    event.preventDefault();
    if (asked === "compile") return void this.compile();
    this.act((edit) => {
      const { list, current } = edit.versions;
      const version = list[list.indexOf(current) + asked];
      if (version !== undefined) edit.select(version);
    });
  }
}
