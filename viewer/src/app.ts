import { Kernel } from "./document/kernel";
import type { Index, KernelChunk, ProgramInfo } from "./document/schema";
import { DocumentError, Kept, ServerGone, type Source } from "./document/source";
import { fill, h } from "./dom";
import { find } from "./finder";
import { BuildBar } from "./frame/build";
import { Detail } from "./frame/detail";
import { Dialog } from "./frame/dialog";
import { Header } from "./frame/header";
import { helpSheet } from "./frame/help";
import { type Entry, entriesOf, KernelList } from "./frame/kernels";
import { Layout } from "./frame/layout";
import { type Query, SearchField } from "./frame/search";
import { Status } from "./frame/status";
import { keysOf } from "./commands";
import { listen } from "./keys";
import { tokenWords } from "./machine/explain";
import { Lighting } from "./lighting";
import { Links, type Target } from "./links";
import { CodePane, type CodeSurroundings } from "./panes/code";
import type { Linked } from "./panes/linked";
import { Filler } from "./panes/filler";
import { recall, remember } from "./remember";
import { Shades } from "./shades";
import { type Colour, fromFragment, type How, START, type State, writeAddress } from "./state";

/** The page: its zones, what is chosen, and how they hear of one another. */
export class App implements CodeSurroundings {
  readonly element = h("div", { class: "app" });
  readonly layout = new Layout();
  readonly links: Links;
  readonly status: Status;
  readonly search: SearchField;
  readonly dialog = new Dialog();
  state: State = { ...START };
  index: Index | null = null;
  kernel: Kernel | null = null;
  isShort = recall("operands") !== "iga";
  private shades: Shades | null = null;
  private readonly header: Header;
  private readonly build: BuildBar;
  private readonly list: KernelList;
  private readonly filler: Filler;
  private readonly kernels = new Kept<Kernel>(6);
  private readonly banner = h("div", { class: "banner", role: "alert", hidden: true });
  private readonly under = h("div", { class: "under" });
  private detail: Detail;
  private query: Query | null = null;
  private opening = 0;

  constructor(
    readonly root: ShadowRoot,
    readonly source: Source,
  ) {
    this.links = new Links(new Lighting(root), this.layout);
    this.status = new Status(() => this.help());
    this.search = new SearchField({
      find: (query) => this.find(query),
      step: (by) => this.stepFound(by),
      leave: () => this.layout.of("code")?.linked?.pane.focus(),
    });
    this.header = new Header(this.search.element, {
      pickKernel: () => this.showKernels(),
      view: (view) => this.go({ view }, "push"),
      help: () => this.help(),
      theme: () => this.turnTheme(),
    });
    this.build = new BuildBar((sentence) => this.tell(sentence), (colour) => this.colour(colour));
    this.list = new KernelList((entry) => void this.open(entry));
    this.detail = this.makeDetail({});
    this.filler = new Filler(this);
    this.under.append(this.detail.element);
    this.element.append(this.header.element, this.build.element, this.banner, this.list.element, this.layout.switcher, this.layout.element);
    this.element.append(this.under, this.status.element, this.dialog.element);
    this.element.classList.add(...[recall("theme") ?? "auto"].filter((theme) => theme === "light" || theme === "dark"));
    this.layout.onChange = () => this.refill();
    const { keys, afterG } = keysOf(this);
    listen(root, keys, afterG, () => recall("letters") !== "off");
    this.list.element.addEventListener("focusout", (event) => {
      if (!this.list.element.contains(event.relatedTarget as Node | null)) this.element.classList.remove("drawer");
    });
    window.addEventListener("popstate", () => void this.apply(fromFragment(location.hash)));
  }

  async start(): Promise<void> {
    try {
      this.index = await this.source.index();
    } catch (problem) {
      this.status.tell("The document could not be read.");
      return this.layout.slots.forEach((slot) => slot.message(...told(problem, () => void this.start())));
    }
    this.detail = this.makeDetail(this.index.opcodes);
    fill(this.under, this.detail.element);
    this.list.show(this.index);
    await this.apply(fromFragment(location.hash));
  }

  // --- what is chosen

  /** Takes a state over from the address: another kernel, another pin, other colours. */
  private async apply(given: Partial<State>): Promise<void> {
    const { index } = this;
    if (index === null) return;
    const state = { ...START, ...given };
    const entries = entriesOf(index);
    const named = entries.filter(({ name, shown }) => name === state.kernel || shown === state.kernel);
    const entry = named.find(({ program }) => program.id === state.program) ?? named[0] ?? worst(entries);
    if (state.kernel !== "" && named.length === 0) this.tell(`This document has no kernel ${state.kernel}.`);
    this.state = state;
    if (entry === undefined) return this.nothing(index.programs[0] ?? null);
    await this.open(entry, "replace");
  }

  /** Changes what is chosen, and the address with it. */
  go(change: Partial<State>, how: How): void {
    this.state = { ...this.state, ...change };
    writeAddress(this.state, how);
  }

  async open(entry: Entry, how: How = "push"): Promise<void> {
    const { program, row, name } = entry;
    const turn = ++this.opening;
    const isSame = this.kernel?.program === program && this.kernel.row === row;
    const pin = how === "replace" ? {} : { line: null, offset: null, exact: false };
    this.go({ kernel: name, program: this.isNamedTwice(name) ? program.id : "", ...pin }, how);
    this.element.classList.remove("drawer");
    if (!isSame) {
      this.show(program, row, null);
      const slow = window.setTimeout(() => this.layout.slots.forEach((slot) => slot.busy()), 150);
      try {
        const chunk = program.kernels.chunk[row];
        const kernel = await this.kernels.get(`${program.id} ${row}`, async () => new Kernel(program, row, (await this.source.chunk(chunk)) as KernelChunk));
        if (turn !== this.opening) return;
        this.kernel = kernel;
      } catch (problem) {
        if (turn !== this.opening) return;
        if (problem instanceof ServerGone && this.kernel !== null) return this.gone(problem, () => void this.open(entry, how));
        this.kernel = null;
        return this.layout.slots.forEach((slot) => slot.message(...told(problem, () => void this.open(entry, "replace"))));
      } finally {
        clearTimeout(slow);
      }
    }
    const { kernel } = this;
    if (kernel === null) return;
    this.banner.hidden = true;
    this.links.exact = this.state.exact;
    this.links.pinned = null;
    if (!isSame) {
      this.shades = new Shades(kernel, this.state.colour);
      this.show(program, row, kernel);
      await this.filler.fill(false);
      if (turn !== this.opening) return;
      this.find(this.query);
      this.status.say(`${kernel.program.kernels.shown[row]}, ${kernel.code.count} instructions`);
    } else if (this.shades?.colour !== this.state.colour) {
      this.colour(this.state.colour);
    }
    this.restorePin();
    performance.mark("kernlens: shown");
  }

  private show(program: ProgramInfo, row: number, kernel: Kernel | null): void {
    if (this.index === null) return;
    this.header.show(this.index, program, row, kernel);
    this.build.show(program);
    this.build.colour(this.state.colour);
    this.list.mark(program, row);
    this.status.cover(kernel);
    document.title = `${program.kernels.shown[row]} · ${program.device ?? "?"} · kernlens`;
  }

  /** The server does not answer: says so above what is still shown. */
  private gone(problem: ServerGone, again: () => void): void {
    for (const slot of this.layout.slots) slot.rest();
    if (this.kernel !== null) this.show(this.kernel.program, this.kernel.row, this.kernel);
    fill(this.banner, `${problem.message} ${problem.next ?? ""} `, h("button", { class: "tool", type: "button", onclick: again }, "Try again"));
    this.banner.hidden = false;
  }

  /** A document without a kernel: the build's log, if there is one. */
  private nothing(program: ProgramInfo | null): void {
    if (this.index === null) return;
    this.header.show(this.index, program, -1, null);
    this.build.show(program);
    document.title = `${this.index.title} · kernlens`;
    void this.filler.failed(program);
  }

  private isNamedTwice(name: string): boolean {
    return this.index !== null && entriesOf(this.index).filter((entry) => entry.name === name).length > 1;
  }

  /** Fills slots that were added or emptied. */
  refill(): void {
    if (this.kernel !== null) void this.filler.fill(true).then(() => this.links.mark(null));
  }

  // --- linking

  hover(from: Linked, line: number): void {
    const { kernel } = this;
    if (kernel === null) return;
    const target = line < 0 ? null : this.links.target(from, line);
    this.links.hover(kernel, target);
    if (this.links.pinned === null) this.detailSoon(target);
  }

  pin(from: Linked, line: number): void {
    const { kernel } = this;
    const target = this.links.target(from, line);
    if (kernel === null || target === null) return;
    const { pinned } = this.links;
    if (pinned !== null && pinned.linked === from && pinned.line === line) return this.unpin();
    this.links.exact = false;
    this.links.register = null;
    this.links.pin(kernel, target);
    this.links.scroll(target);
    this.afterPin("push");
  }

  /** Pins an instruction for one of its registers; clicked again, for all of them. */
  register(from: Linked, line: number, register: number): void {
    const { kernel, links } = this;
    if (kernel === null) return;
    const isSame = links.pinned?.linked === from && links.pinned.line === line;
    const again = isSame && links.register === register;
    if (!isSame) this.pin(from, line);
    if (links.pinned === null) return;
    links.register = again ? null : register;
    links.pin(kernel, links.pinned);
    this.detail.show(kernel, links.shown(links.pinned));
  }

  unpin(): void {
    if (this.kernel === null || this.links.pinned === null) return;
    this.links.exact = false;
    this.links.pin(this.kernel, null);
    this.afterPin("push");
  }

  cursor(from: Linked, line: number): void {
    if (this.kernel === null) return;
    const target = this.links.target(from, line);
    this.links.hover(this.kernel, target);
    if (this.links.pinned === null) this.detailSoon(target);
    this.status.say(target === null ? "no instruction" : this.links.words(this.kernel, target));
  }

  turnExact(): void {
    const { pinned } = this.links;
    if (this.kernel === null || pinned === null) return this.tell("Pin an instruction first: click it, or press Enter.");
    if (!this.links.exact && !this.links.hasExact(pinned)) return this.tell("No exact links of this are known: only those by line.");
    this.links.exact = !this.links.exact;
    this.links.pin(this.kernel, pinned);
    this.links.scroll(pinned);
    this.afterPin("replace");
  }

  goToRow(row: number): void {
    const code = this.codePane;
    if (code === null) return;
    const line = code.lineOf(row);
    code.reveal(line);
    code.pane.show(line);
    if (this.links.pinned?.linked !== code || this.links.pinned.line !== line) this.pin(code, line);
  }

  async goToLine(key: number): Promise<void> {
    const { kernel } = this;
    if (kernel === null) return;
    const source = await this.filler.source(kernel.places.keyFile[key]);
    if (source === null) return;
    const line = kernel.places.keyLine[key] - 1;
    source.pane.show(line);
    if (this.links.pinned?.linked !== source || this.links.pinned.line !== line) this.pin(source, line);
  }

  follow(row: number, token: string): void {
    const producer = this.kernel?.code.waits.get(row)?.[0];
    if (token.includes(".") && producer !== undefined) this.goToRow(producer);
    else this.tell(`${token} ${tokenWords(token)}.`);
  }

  get codePane(): CodePane | null {
    const linked = this.layout.of("code")?.linked;
    return linked instanceof CodePane ? linked : null;
  }

  private afterPin(how: How): void {
    const { kernel, links } = this;
    if (kernel === null) return;
    const { pinned } = links;
    const { places, code } = kernel;
    const line = pinned === null || pinned.key < 0 ? null : { path: kernel.files[places.keyFile[pinned.key]], line: places.keyLine[pinned.key] };
    const offset = pinned?.linked.kind === "code" ? code.offset[pinned.row] : null;
    this.go({ line, offset, exact: links.exact }, how);
    this.status.pin(pinned === null ? null : line === null ? "Pinned an instruction without a line" : `Pinned line ${line.line}`);
    this.status.say(pinned === null ? "unpinned" : `pinned, ${links.words(kernel, pinned)}`);
    if (pinned === null) this.detail.clear(kernel);
    else this.detail.show(kernel, links.shown(pinned));
  }

  private restorePin(): void {
    const { kernel, state } = this;
    if (kernel === null) return;
    const target = this.targetOf(state);
    this.links.exact = state.exact && target !== null;
    this.links.pin(kernel, target);
    if (target !== null) {
      target.linked.pane.show(target.line);
      this.links.scroll(target);
    }
    this.afterPin("replace");
  }

  private targetOf({ offset, line }: State): Target | null {
    const { kernel, codePane } = this;
    if (kernel === null) return null;
    const row = offset === null ? -1 : kernel.code.rowAt(offset);
    if (row >= 0 && codePane !== null) return this.links.target(codePane, codePane.lineOf(row));
    const source = this.layout.of("source")?.linked;
    if (line === null || source == null) return null;
    const file = kernel.files.findIndex((path) => path === line.path);
    const key = kernel.places.keyOf(file, line.line);
    if (key < 0) this.tell(`No code of this kernel comes from ${line.path}:${line.line}.`);
    return key < 0 ? null : { linked: source, line: line.line - 1, row: -1, key };
  }

  private soon = 0;

  /** The panel follows the pointer when it rests. */
  private detailSoon(target: Target | null): void {
    clearTimeout(this.soon);
    this.soon = window.setTimeout(() => {
      if (this.kernel === null || this.links.pinned !== null) return;
      if (target === null) this.detail.clear(this.kernel);
      else this.detail.show(this.kernel, this.links.shown(target));
    }, 80);
  }

  // --- colours, search, sheets

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
    this.build.colour(colour);
    this.filler.heads();
    for (const linked of this.links.linkedPanes()) linked.pane.refresh();
    if (colour === "spills" && this.ranking.length === 0) this.tell("This kernel spills nothing.");
  }

  private find(query: Query | null): void {
    this.query = query;
    this.links.found.clear();
    let all = 0;
    if (query !== null && this.kernel !== null) {
      for (const linked of this.links.linkedPanes()) {
        const lines = find(this.kernel, linked, query);
        this.links.found.set(linked, lines);
        all += lines.length;
      }
      this.search.tell(all === 0 ? "nothing" : `${all}`);
      this.status.say(`${all} found`);
    }
    for (const linked of this.links.linkedPanes()) linked.pane.mark(this.links.found.get(linked) ?? null);
    this.links.mark(null);
  }

  private stepFound(by: number): void {
    const places = this.links.linkedPanes().flatMap((linked) => Array.from(this.links.found.get(linked) ?? [], (line) => ({ linked, line })));
    if (places.length === 0) return;
    this.at = (this.at + by + places.length) % places.length;
    const { linked, line } = places[this.at];
    const slot = this.layout.slotOf(linked);
    if (slot !== null) this.layout.bringToFront(slot);
    if (linked instanceof CodePane) linked.reveal(line);
    linked.pane.show(line);
    this.search.tell(`${this.at + 1} of ${places.length}`);
    this.status.say(`${this.at + 1} of ${places.length}, in ${linked.title}`);
  }

  private at = -1;

  tell(sentence: string): void {
    this.status.tell(sentence);
  }

  help(): void {
    this.dialog.open("Keys and words", helpSheet(recall("letters") !== "off", (on) => remember("letters", on ? "on" : "off")));
  }

  showKernels(): void {
    this.element.classList.add("drawer");
    this.list.focus();
  }

  turnOperands(): void {
    this.isShort = !this.isShort;
    remember("operands", this.isShort ? "short" : "iga");
    for (const slot of this.layout.slots) if (slot.kind === "code") this.filler.code(slot);
    this.filler.heads();
    this.restoreLight();
  }

  /** Panes were made anew: what was pinned is pinned in them, too. */
  restoreLight(): void {
    const { kernel } = this;
    if (kernel === null) return;
    if (this.query !== null) this.find(this.query);
    const target = this.links.pinned === null ? null : this.targetOf(this.state);
    this.links.exact = this.state.exact && target !== null;
    this.links.pin(kernel, target);
    if (target === null) return this.links.mark(null);
    this.links.scroll(target);
    this.detail.show(kernel, this.links.shown(target));
  }

  stepStage(by: number): void {
    const slot = this.layout.of("stage");
    const stages = this.filler.stages();
    if (slot === null || stages.length === 0) return;
    const at = stages.indexOf(slot.stage) + by;
    if (at >= 0 && at < stages.length) this.filler.selectStage(slot, stages[at]);
  }

  private turnTheme(): void {
    const dark = this.element.classList.contains("dark") || (!this.element.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
    this.element.classList.toggle("dark", !dark);
    this.element.classList.toggle("light", dark);
    remember("theme", dark ? "light" : "dark");
    for (const linked of this.links.linkedPanes()) {
      linked.pane.ruler.schedule();
      if (linked instanceof CodePane) linked.strip?.schedule();
    }
  }

  private makeDetail(opcodes: Record<string, string>): Detail {
    return new Detail(
      {
        goToRow: (row) => this.goToRow(row),
        goToLine: (key) => void this.goToLine(key),
        exact: () => this.turnExact(),
        list: () => keysOf(this).keys.L(),
      },
      opcodes,
    );
  }
}

/** What a failure says, what to do next, and a button that tries again. */
export function told(problem: unknown, again: () => void): (Node | string)[] {
  const known = problem instanceof DocumentError;
  const sentence = problem instanceof Error ? problem.message : String(problem);
  return [
    h("p", {}, known ? sentence : `This part could not be shown: ${sentence}`),
    known && problem.next !== null ? h("p", { class: "dim" }, problem.next) : "",
    h("button", { class: "tool", type: "button", onclick: again }, "Try again"),
  ];
}

function worst(entries: Entry[]): Entry | undefined {
  const heavier = (left: Entry, right: Entry): number => (right.spill ?? 0) - (left.spill ?? 0) || (right.instructions ?? 0) - (left.instructions ?? 0);
  return [...entries].sort(heavier)[0];
}
