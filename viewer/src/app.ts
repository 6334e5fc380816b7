import { HttpSource } from "./document/http";
import { Kernel } from "./document/kernel";
import type { Index, ProgramInfo, StartLine } from "./document/schema";
import { Kept, sentenceOf, ServerGone, type Source } from "./document/source";
import { fill, h, visible } from "./dom";
import { Editing } from "./editing/editing";
import { linkedProgram, sharedText } from "./editing/shared_text";
import { Filler } from "./filler";
import { BuildBar } from "./frame/build";
import { changedFiles } from "./frame/changed";
import { Dialog } from "./frame/dialog";
import { Header } from "./frame/header";
import { helpSheet } from "./frame/help";
import { type Entry, entriesOf, firstOf } from "./frame/kernels";
import { Layout } from "./frame/layout";
import { failure } from "./frame/message";
import { Navigator } from "./frame/navigator";
import { Share } from "./frame/share";
import { entryOf } from "./frame/start";
import { Status } from "./frame/status";
import type { Links } from "./links";
import type { Page } from "./page";
import type { SourcePane } from "./panes/source";
import { Pinning } from "./pinning";
import { recall, remember } from "./remember";
import { Searching } from "./searching";
import { Shades, weightsOf } from "./shades";
import { Sharing } from "./sharing";
import { Views } from "./views/views";
import { type Colour, fromFragment, type How, START, type State, writeAddress } from "./state";

/** The page: its zones, what is chosen, and how they hear of one another. */
export class App implements Page {
  readonly element = h("div", { class: "app" });
  readonly layout = new Layout();
  readonly pinning: Pinning;
  readonly status: Status;
  readonly search: Searching;
  readonly dialog = new Dialog();
  state: State = { ...START };
  index: Index | null = null;
  listed: ProgramInfo[] = [];
  kernel: Kernel | null = null;
  private shades: Shades | null = null;
  private readonly header: Header;
  private readonly build: BuildBar;
  private readonly list: Navigator;
  readonly views: Views;
  readonly share: Share;
  /** Edits and compiles in place, where a server does it. */
  readonly compiler: Editing | null;
  readonly filler: Filler;
  private readonly kernels = new Kept<Kernel>(6);
  private readonly banner = h("div", { class: "banner", role: "alert", hidden: true });
  private opening = 0;

  constructor(
    readonly root: ShadowRoot,
    readonly source: Source,
  ) {
    this.pinning = new Pinning(this);
    this.filler = new Filler(this, this.pinning);
    this.status = new Status(() => this.help());
    this.compiler = source instanceof HttpSource ? new Editing(this, source) : null;
    this.views = new Views(this);
    this.list = new Navigator((entry) => void this.open(entry), (program) => this.openFailed(program, "push"), (entry, line) => void this.begin(entry, line));
    this.search = new Searching(this, this.list, () => this.showKernels());
    this.share = new Share(new Sharing(this));
    this.header = new Header(this.search.field.element, this.share.button, this.pinning, {
      pickKernel: () => this.showKernels(),
      peak: () => this.pinning.peak(),
      help: () => this.help(),
      theme: () => this.turnTheme(),
    });
    this.build = new BuildBar(
      this.views.buttons,
      (sentence) => this.tell(sentence),
      (colour) => this.colour(colour),
      () => this.turnOwnLines(),
      () => this.pinning.advice(),
    );
    const { header, build, banner, list, layout, views, pinning, status, dialog } = this;
    this.element.append(header.element, build.element, h("div", { class: "banners" }, banner, source instanceof HttpSource ? changedFiles(source) : null, header.answer), list.element, layout.switcher, layout.element, views.element);
    this.element.append(pinning.element, status.element, dialog.element, this.share.element);
    this.element.classList.add(...[recall("theme") ?? "auto"].filter((theme) => theme === "light" || theme === "dark"));
    this.layout.onChange = () => this.refill();
    this.list.element.addEventListener("focusout", (event) => {
      if (this.list.element.contains(event.relatedTarget as Node | null)) return;
      // A list that is drawn again loses its focus for a moment only.
      queueMicrotask(() => this.list.element.contains(root.activeElement) || this.element.classList.remove("drawer"));
    });
    window.addEventListener("popstate", () => void this.apply(fromFragment(location.hash)));
  }

  async start(): Promise<void> {
    try {
      this.index = await this.source.index();
    } catch (problem) {
      this.status.tell("The document could not be read.");
      // Once is enough: the other panes stay empty.
      return this.layout.slots.forEach((slot, at) => slot.message(...(at === 0 ? failure(problem, () => void this.start()) : [])));
    }
    this.pinning.explain(this.index.opcodes);
    this.listed = this.index.programs;
    this.list.show(this.index);
    await this.apply(fromFragment(location.hash));
    await this.compiler?.arrive(this.state.more);
  }

  // --- what is chosen

  /** Takes a state over from the address: another kernel, another pin, other colours. */
  private async apply(state: State): Promise<void> {
    const { index } = this;
    if (index === null) return;
    const { entries } = this;
    const named = entries.filter(({ name, shown }) => name === state.kernel || shown === state.kernel);
    // What came of an edit is not in the document that a link is opened in: the program that was edited is.
    const of = (id: string): Entry | undefined => named.find(({ program }) => program.id === (this.compiler?.standsFor(id) ?? id));
    const entry = of(state.program) ?? of(linkedProgram(state.more.w ?? "")) ?? of(sharedText(state.more.z ?? "").program) ?? named[0];
    const [first] = state.kernel === "" && state.program === "" ? index.start : [];
    const begun = entry === undefined && first !== undefined && entryOf(first, entries);
    if (begun) return this.begin(begun, first, "replace");
    if (state.kernel !== "" && named.length === 0) this.tell(`This document has no kernel ${state.kernel}.`);
    this.state = state;
    const failed = state.kernel === "" ? index.programs.find(({ id, kernels }) => id === state.program && kernels.name.length === 0) : undefined;
    const chosen = entry ?? firstOf(entries);
    if (failed !== undefined || chosen === undefined) return this.openFailed(failed ?? index.programs[0] ?? null, "replace");
    await this.open(chosen, "replace");
  }

  private async begin(entry: Entry, { line }: StartLine, how: How = "push"): Promise<void> {
    await this.open(entry, how);
    this.go({ line, offset: null }, "replace");
    this.colour(this.kernel?.code.count === 0 ? "moved" : this.state.colour);
    this.pinning.restorePin();
  }

  /** Changes what is chosen, and the address with it. */
  go(change: Partial<State>, how: How): void {
    this.state = { ...this.state, ...change };
    writeAddress(this.state, how);
  }

  async open(entry: Entry, how: How = "push"): Promise<void> {
    const { program, row, name } = entry;
    const turn = ++this.opening;
    const isSame = this.kernel?.program === program && this.kernel.row === row && this.kernel.onOwnLines === this.onOwnLines && this.kernel.problem === null;
    const { w: _, z: __, e: ___, ...more } = this.state.more;
    // What was pinned, and the text that was edited, are another kernel's.
    const own = how === "replace" ? {} : { line: null, offset: null, exact: false, more: this.compiler?.hasMade(program) ? this.state.more : more };
    this.go({ kernel: name, program: this.isNamedTwice(name) ? program.id : "", ...own }, how);
    this.element.classList.remove("drawer");
    if (!isSame) {
      this.expect(entry);
      const slow = window.setTimeout(() => this.busy(entry), 150);
      const kernel = await this.load(entry).catch((problem) => Kernel.unread(program, row, problem, this.onOwnLines));
      clearTimeout(slow);
      if (turn !== this.opening) return;
      this.expect(null);
      if (kernel.problem instanceof ServerGone && this.kernel !== null) return this.gone(kernel.problem, () => void this.open(entry, how));
      if (kernel.problem !== null) this.pinning.clear();
      this.kernel = kernel;
    }
    const { kernel } = this;
    if (kernel === null) return;
    this.banner.hidden = true;
    this.links.exact = this.state.exact;
    this.links.pinned = null;
    if (!isSame) {
      this.links.register = null;
      this.shades = new Shades(kernel, this.state.colour);
      this.show(program, row, kernel);
      await this.filler.fill(false);
      if (turn !== this.opening) return;
      this.search.again();
      if (kernel.problem !== null) this.tell(`${program.kernels.shown[row]} could not be read: ${sentenceOf(kernel.problem)}`);
      else this.status.say(`${program.kernels.shown[row]}, ${kernel.code.count} instructions`);
    } else if (this.shades?.colour !== this.state.colour) {
      this.colour(this.state.colour);
    }
    this.pinning.restorePin();
    this.views.show();
    performance.mark("kernlens: shown");
  }

  /** Another kernel was chosen and is on its way, or is there (null): bars, fields and list are of it already. */
  private expect(entry: Entry | null): void {
    this.compiler?.expect(entry);
    this.element.classList.remove("loading");
    if (entry === null) return;
    this.show(entry.program, entry.row, null);
    // What kept another kernel from being read is none of this one's.
    if (this.kernel?.problem != null) for (const slot of this.layout.slots) if (slot.linked === null) slot.message(h("p", { class: "dim" }, `Loading ${entry.shown}…`));
  }

  /** What is on its way takes its time: what is shown is another kernel's. */
  private busy({ shown }: Entry): void {
    this.element.classList.add("loading");
    for (const slot of this.layout.slots) slot.busy();
    this.compiler?.tellLoading();
    this.status.say(`loading ${shown}`);
  }

  /** A kernel of the document, read once. */
  load({ program, row }: Entry): Promise<Kernel> {
    const { onOwnLines } = this;
    const make = async (): Promise<Kernel> => new Kernel(program, row, await this.source.chunk(program.kernels.chunk[row]), onOwnLines);
    return this.kernels.get(`${program.id} ${row} ${onOwnLines}`, make);
  }

  adopt(index: Index, listed: ProgramInfo[]): void {
    this.index = index;
    this.listed = listed;
    this.list.show({ ...index, programs: listed });
  }

  /** Kernels of the list: of one that was edited, the version that is shown. */
  private get entries(): Entry[] {
    return entriesOf({ programs: this.listed });
  }

  file(path: string): Promise<SourcePane | null> {
    return this.filler.file(path);
  }

  get compared(): Page["compared"] {
    return this.views.compared;
  }

  showView(): void {
    this.views.show();
  }

  showEditing(): void {
    const { kernel } = this;
    this.showBuild(kernel?.program ?? null);
    if (kernel !== null) this.showHeader(kernel.program, kernel.row, kernel);
    this.filler.heads();
  }

  pin(pane: SourcePane): void {
    this.pinning.pin(pane, pane.pane.cursor);
  }

  openProgram(program: ProgramInfo): void {
    this.openFailed(program, "replace");
  }

  weightsOf(kernel: Kernel): ArrayLike<number> {
    return weightsOf(kernel, this.state.colour);
  }

  /** The build bar: what was built, and fields where it can be compiled for something else. */
  private showBuild(program: ProgramInfo | null): void {
    this.build.show(program, this.compiler?.fieldsOf(program) ?? null);
  }

  private showHeader(program: ProgramInfo, row: number, kernel: Kernel | null): void {
    if (this.index !== null) this.header.show(this.index, program, row, kernel?.problem == null ? kernel : null, this.compiler?.before(program, row) ?? null, this.compiler?.versionOf(program)?.number ?? null);
  }

  private show(program: ProgramInfo, row: number, kernel: Kernel | null): void {
    if (this.index === null) return;
    this.showHeader(program, row, kernel);
    this.showBuild(program);
    this.showColour(this.state.colour);
    this.build.advise(kernel?.advice.length ?? 0, kernel !== null && this.compiler?.canTry(program) === true);
    this.build.has(kernel?.code.samples != null, kernel?.observed != null);
    if (kernel !== null) this.build.ownLines(kernel.own === null ? null : kernel.onOwnLines);
    this.list.mark(program, row);
    this.status.cover(kernel);
    document.title = visible(`${program.kernels.shown[row]} · ${program.device ?? "?"} · kernlens`);
  }

  /** The server does not answer: says so above what is still shown. */
  private gone(problem: ServerGone, again: () => void): void {
    for (const slot of this.layout.slots) slot.rest();
    if (this.kernel !== null) this.show(this.kernel.program, this.kernel.row, this.kernel);
    fill(this.banner, `${sentenceOf(problem)} `, h("button", { class: "tool", type: "button", onclick: again }, "Try again"));
    this.banner.hidden = false;
  }

  /** A program without a kernel: the build's log, if there is one. */
  private openFailed(program: ProgramInfo | null, how: How): void {
    if (this.index === null) return;
    this.opening++;
    this.expect(null);
    // What can be edited is opened in the editor, without a kernel as long as there is none.
    const kernel = program !== null && this.compiler?.canTry(program) ? Kernel.none(program) : null;
    this.kernel = kernel;
    if (program !== null) this.go({ kernel: "", program: program.id, line: null, offset: null, exact: false }, how);
    this.element.classList.remove("drawer");
    this.header.show(this.index, program, -1, null, null, null);
    this.showBuild(program);
    this.build.advise(0, false);
    this.list.mark(program, -1);
    this.pinning.clear();
    document.title = visible(`${program?.name ?? this.index.title} · kernlens`);
    if (kernel === null) return void this.filler.failed(program);
    this.shades = new Shades(kernel, this.state.colour);
    void this.filler.fill(false);
  }

  private isNamedTwice(name: string): boolean {
    return this.entries.filter((entry) => entry.name === name).length > 1;
  }

  /** Fills slots that were added or emptied. */
  refill(): void {
    if (this.kernel !== null) void this.filler.fill(true).then(() => this.links.mark(null));
  }

  // --- colours, search, sheets
  get links(): Links {
    return this.pinning.links;
  }

  shade(key: number): number {
    return this.shades?.of(key) ?? 0;
  }

  figure(key: number): { value: string; share: string } {
    return this.shades?.figure(key) ?? { value: "", share: "" };
  }

  get ranking(): number[] {
    return this.shades?.ranking() ?? [];
  }

  get heading(): [string, string] {
    return this.shades?.heading ?? ["instr", "%"];
  }

  colour(colour: Colour): void {
    if (this.kernel === null) return;
    this.go({ colour }, "replace");
    this.shades = new Shades(this.kernel, colour);
    this.showColour(colour);
    this.filler.heads();
    for (const linked of this.links.linkedPanes()) linked.pane.refresh();
    const { empty } = this.shades;
    if (empty !== null) this.tell(empty);
  }

  private showColour(colour: Colour): void {
    this.build.colour(colour);
    this.element.classList.toggle("waits", colour === "waits");
  }

  private get onOwnLines(): boolean {
    return this.state.own ?? this.index?.own_lines === true;
  }

  /** Lays inlined library code on the user's own lines, or on its own again. */
  turnOwnLines(): void {
    const { kernel } = this;
    if (kernel === null) return;
    if (kernel.own === null) return this.tell("No code of other files was inlined into your own files here: each line is its own.");
    const own = !this.onOwnLines;
    this.go({ own: own === (this.index?.own_lines === true) ? null : own }, "replace");
    const entry = this.entries.find(({ program, row }) => program === kernel.program && row === kernel.row);
    if (entry === undefined) return;
    const words = own ? "inlined library code is on your own lines" : "inlined library code is on its own lines";
    void this.open(entry, "replace").then(() => this.status.say(words));
  }

  /** Looks again in panes that were made anew. */
  findAgain(): void {
    this.search.again();
  }

  tell(sentence: string): void {
    this.status.tell(sentence);
  }

  help(): void {
    this.dialog.open("Keys and words", helpSheet(recall("letters") !== "off", (on) => remember("letters", on ? "on" : "off"), this.compiler !== null));
  }

  showKernels(): void {
    this.element.classList.add("drawer");
    this.list.focus();
  }

  private turnTheme(): void {
    const dark = this.element.classList.contains("dark") || (!this.element.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    this.wear(dark ? "light" : "dark");
    remember("theme", dark ? "light" : "dark");
  }

  /** Takes a theme on; null: the browser's. */
  wear(theme: string | null): void {
    for (const each of ["light", "dark"]) this.element.classList.toggle(each, each === theme);
    for (const linked of this.links.linkedPanes()) {
      linked.pane.recolour();
    }
  }
}
