import type { Kernel } from "./document/kernel";
import { readTable, readText } from "./document/read";
import type { FileInfo, ProgramInfo } from "./document/schema";
import { LONG, ORIGIN } from "./document/waits";
import { count, fill, h, plural } from "./dom";
import { answerOf, linesMissing } from "./frame/answer";
import { type Kind, NAMES, type Slot } from "./frame/slot";
import { failure } from "./frame/message";
import { picker, shortest } from "./frame/tabs";
import { noStages, unread, withoutCode, withoutKernel } from "./no_stages";
import type { Page } from "./page";
import { CodePane } from "./panes/code";
import { SourcePane } from "./panes/source";
import { StagePane } from "./panes/stage";
import type { Pinning } from "./pinning";
import { recall, remember } from "./remember";

/** Puts a kernel's panes into the slots, with the tabs above them; and says why where there is nothing to show. */
export class Filler {
  private kernel: Kernel | null = null;
  private turn = 0;
  private isShort = recall("operands") !== "iga";
  private hasBlocks = recall("blocks") === null ? matchMedia("(min-width: 2300px)").matches : recall("blocks") === "on";

  constructor(
    private readonly page: Page,
    private readonly pinning: Pinning,
  ) {
    for (const width of [ROOMY, TIGHT]) width.addEventListener("change", () => this.foldForBlocks());
  }

  /** Fills all slots; with `keep` only those that show nothing of this kernel. */
  async fill(keep: boolean): Promise<void> {
    const { kernel, compiler, layout } = this.page;
    if (kernel === null) return;
    const before = this.kernel;
    this.kernel = kernel;
    // With its instructions on other lines it is the same kernel, and its reader stays in a file that has code still.
    const isSame = before !== null && before.program === kernel.program && before.row === kernel.row;
    const hasCode = (path: string): boolean => before === kernel || this.files().includes(path);
    for (const slot of layout.slots) {
      if (!isSame || slot.path === "" || !hasCode(slot.path)) slot.path = this.pathFor(slot);
      if (!keep || slot.linked?.kernel !== kernel) await this.put(slot);
    }
    compiler?.freshen();
    this.heads();
  }

  /** Fills one slot. What cannot be shown is an error in its place, and the others stand. */
  async put(slot: Slot): Promise<void> {
    const { kernel } = this;
    if (kernel === null) return;
    try {
      if (slot.kind === "code") this.code(slot, kernel);
      else if (slot.kind === "stage") this.stage(slot, kernel);
      else await this.source(slot, kernel);
    } catch (problem) {
      if (kernel === this.kernel) slot.message(...failure(problem, () => void this.put(slot).then(() => this.heads())));
    }
  }

  /** The tabs and tools above the panes. */
  heads(): void {
    for (const slot of this.page.layout.slots) {
      this.tools(slot);
      if (slot.kind === "source") this.sourceTabs(slot);
      else if (slot.kind === "stage") this.stageTabs(slot);
      else fill(slot.tabs, h("span", { class: "tab on" }, "Machine code"));
    }
    this.page.layout.tabs();
  }

  /** A build without a kernel: why, and what the compiler said. */
  async failed(program: ProgramInfo | null): Promise<void> {
    const { layout, source } = this.page;
    const [first, ...others] = layout.slots;
    for (const slot of layout.slots) for (const why of ["stages", "lines"]) slot.unfold(why);
    const turn = ++this.turn;
    this.kernel = null;
    for (const slot of layout.slots) slot.path = "";
    this.heads();
    for (const slot of others) slot.message(h("p", { class: "dim" }, "Nothing to show."));
    const why = program === null ? "This document holds no program." : program.ok ? "This program holds no kernel." : `The build failed: ${program.reason ?? "no reason is known"}`;
    first.message(h("p", {}, why));
    if (program === null || program.log === null) return;
    try {
      const log = readText(await source.chunk(program.log));
      // Meanwhile something else may have been opened.
      if (this.kernel === null && turn === this.turn) first.message(h("p", {}, why), h("pre", { class: "log", tabindex: "0" }, log));
    } catch (problem) {
      first.message(...failure(problem, () => void this.failed(program)));
    }
  }

  /** The source pane with this file in it, null where there is none. */
  async file(path: string): Promise<SourcePane | null> {
    const slots = this.page.layout.slots.filter(({ kind }) => kind === "source");
    const slot = slots.find((each) => each.path === path) ?? slots[0];
    if (slot === undefined) return null;
    await this.selectFile(slot, path);
    this.page.layout.bringToFront(slot);
    return slot.linked instanceof SourcePane ? slot.linked : null;
  }

  private async selectFile(slot: Slot, path: string): Promise<void> {
    if (slot.path === path && slot.linked !== null) return;
    slot.path = path;
    await this.put(slot);
    this.page.compiler?.freshen();
    this.heads();
  }

  /** Stages that have a text of this kernel. */
  private stages(): string[] {
    return this.kernel?.stages.map((stage) => stage.name) ?? [];
  }

  private selectStage(slot: Slot, name: string): void {
    slot.stage = name;
    if (slot === this.page.layout.of("stage")) this.page.go({ stage: name }, "replace");
    void this.put(slot);
    this.heads();
    this.pinning.restoreLight();
  }

  /** The next stage, or the one before it. */
  stepStage(by: number): void {
    const slot = this.page.layout.of("stage");
    const stages = this.stages();
    if (slot === null || stages.length === 0) return;
    const at = stages.indexOf(slot.stage) + by;
    if (at >= 0 && at < stages.length) this.selectStage(slot, stages[at]);
  }

  /** Short operands, or as IGA writes them. */
  turnOperands(): void {
    this.isShort = !this.isShort;
    remember("operands", this.isShort ? "short" : "iga");
    this.redrawCode();
  }

  private redrawCode(): void {
    for (const slot of this.page.layout.slots) if (slot.kind === "code") void this.put(slot);
    this.heads();
    this.pinning.restoreLight();
  }

  /** Opens the outline of the kernel's blocks beside its code, or closes it. */
  turnBlocks(): void {
    this.hasBlocks = !this.hasBlocks;
    remember("blocks", this.hasBlocks ? "on" : "off");
    this.foldForBlocks();
    for (const { linked } of this.page.layout.slots) {
      if (!(linked instanceof CodePane)) continue;
      linked.blocks.show(this.hasBlocks);
      this.page.layout.fit();
      if (this.hasBlocks) linked.blocks.focus();
      else linked.pane.focus();
    }
    this.heads();
  }

  /** Blocks take the room of the stage, and where there are two panes that of the other. */
  private foldForBlocks(): void {
    const code = this.page.layout.of("code");
    if (this.hasBlocks && TIGHT.matches && code !== null) this.page.layout.bringToFront(code);
    for (const slot of this.page.layout.slots) {
      const isInTheWay = slot.kind === "stage" ? !ROOMY.matches : slot.kind === "source" && TIGHT.matches;
      if (this.hasBlocks && isInTheWay) slot.fold("blocks", "Behind the blocks: b closes these");
      else slot.unfold("blocks");
    }
  }

  private code(slot: Slot, kernel: Kernel): void {
    if (kernel.row < 0) return slot.message(h("p", {}, `There is no machine code: ${withoutKernel(kernel)}`));
    if (kernel.problem !== null) return unread(slot, kernel, this.page);
    if (kernel.code.count === 0) return withoutCode(slot, kernel);
    slot.unfold("code");
    const pane = new CodePane(kernel, this.isShort, this.pinning);
    slot.show(pane);
    pane.blocks.show(this.hasBlocks);
    this.foldForBlocks();
    this.page.layout.fit();
  }

  private stage(slot: Slot, kernel: Kernel): void {
    const names = this.stages();
    if (names.length === 0) return noStages(slot, kernel, this.page);
    slot.unfold("stages");
    const chosen = slot.stage || this.page.state.stage;
    const stage = kernel.stages.find(({ name }) => name === chosen) ?? kernel.stages.findLast(({ name, missing }) => name.startsWith("llvm") && missing === null) ?? kernel.stages[0];
    slot.stage = stage.name;
    if (stage.missing !== null) return slot.message(h("p", {}, `${this.titleOf(stage.name)}: ${stage.missing}`));
    const pane = new StagePane(kernel, stage, this.titleOf(stage.name), this.pinning);
    slot.show(pane);
    if (pane.pane.cursor > 0) return; // where the reader was
    // What the kernel uses comes before it.
    const own = stage.functions.find(([name]) => name === kernel.name)?.[1] ?? stage.place.findIndex((place) => place >= 0) - 2;
    // Lines have their heights when they were drawn once.
    if (own > 0) requestAnimationFrame(() => slot.linked === pane && this.pinning.links.pinned === null && this.pinning.links.lead === null && pane.pane.show(pane.lineOf(own), "start"));
  }

  private async source(slot: Slot, kernel: Kernel): Promise<void> {
    // Without lines its own text can be read all the same.
    const isBare = kernel.files.length === 0;
    if (isBare) slot.path = kernel.program.files.find(({ chunk }) => chunk !== null)?.path ?? "";
    const { path } = slot;
    const edited = this.page.compiler?.paneOf(kernel.program, path) ?? null;
    const read = await this.textOf(path);
    if (kernel !== this.kernel || path !== slot.path) return; // meanwhile something else was chosen
    if (edited !== null && read !== null && (this.page.layout.slotOf(edited) ?? slot) === slot) {
      // The text that is edited stays, whatever has become of it.
      edited.adopt(kernel, kernel.files.indexOf(path), read);
      const isBack = slot.linked !== edited;
      slot.show(edited);
      if (isBack) edited.pane.show(edited.pane.cursor);
      return;
    }
    slot.warn(null);
    const reason = `No source lines are known: ${linesMissing(kernel)}.`;
    if (isBare && path === "") {
      slot.fold("lines", reason);
      return slot.message(h("p", {}, reason), h("p", { class: "dim" }, "The machine code is shown all the same."));
    }
    slot.unfold("lines");
    const info = this.infoOf(path);
    slot.show(new SourcePane(kernel, kernel.files.indexOf(path), info, read, this.pinning));
    const { weights, places } = kernel;
    const figures = weights.instructions.some((all, key) => all > 0 && kernel.files[places.keyFile[key]] === path) ? " and figures" : "";
    if (isBare) slot.warn(reason);
    else if (read === null) slot.warn(`No text: ${info.missing ?? "not recorded"}. The numbers${figures} of its lines are shown.`);
  }

  private async textOf(path: string): Promise<string | null> {
    const { chunk } = this.infoOf(path);
    return chunk === null ? null : readText(await this.page.source.chunk(chunk));
  }

  private infoOf(path: string): FileInfo {
    const known = this.kernel?.program.files.find((info) => info.path === path);
    return known ?? { path, chunk: null, missing: "its text was not recorded" };
  }

  /** The file that a slot shows of another kernel: the pinned line's, else that of the line to look at first, or the one with most code. */
  private pathFor(slot: Slot): string {
    const { page, kernel } = this;
    if (slot.kind !== "source" || kernel === null) return "";
    // While a source is edited, what becomes of it comes again and again: whoever types, or reads another file, stays there.
    const { compiler } = page;
    const edited = compiler?.pathOf(kernel.program) ?? null;
    if (slot.path === "" && edited !== null) return edited;
    if (compiler?.hasMade(kernel.program) && (compiler.paneOf(kernel.program, slot.path) !== null || kernel.files.includes(slot.path))) return slot.path;
    if (kernel.files.includes(page.state.line?.path ?? "")) return page.state.line?.path ?? "";
    const answer = answerOf(kernel);
    return answer !== null && answer.key >= 0 ? kernel.files[kernel.places.keyFile[answer.key]] : (this.files()[0] ?? kernel.files[0] ?? "");
  }

  /** Files with code of this kernel, most first. */
  private files(): string[] {
    const { kernel } = this;
    if (kernel === null) return [];
    if (kernel.row < 0 || kernel.problem !== null) return kernel.files; // it does not compile, or is not known
    const counts = kernel.files.map(() => 0);
    for (let key = 0; key < kernel.places.keys; key++) counts[kernel.places.keyFile[key]] += kernel.weights.instructions[key];
    const files = counts.flatMap((each, file) => (each > 0 ? [file] : []));
    return files.sort((left, right) => counts[right] - counts[left]).map((file) => kernel.files[file]);
  }

  private sourceTabs(slot: Slot): void {
    const { kernel, page } = this;
    const paths = this.files();
    const edited = kernel === null ? null : (page.compiler?.pathOf(kernel.program) ?? null);
    for (const path of [slot.path, edited]) if (path !== null && path !== "" && !paths.includes(path)) paths.push(path);
    if (paths.length === 0) return fill(slot.tabs, h("span", { class: "tab on" }, "Source"));
    const open = (path: string): void => void this.selectFile(slot, path).then(() => this.pinning.restoreLight());
    const name = (path: string): string => `${path === edited ? "✎ " : ""}${shortest(path, paths)}`;
    // Two names have room; the file that is shown is one of them.
    const front = paths.slice(0, 2);
    if (paths.includes(slot.path) && !front.includes(slot.path)) front[front.length - 1] = slot.path;
    const tabs = front.map((path) => {
      const errors = kernel === null ? 0 : (page.compiler?.errorsIn(kernel.program, path) ?? 0);
      const tab = this.tab(name(path), errors === 0 ? path : `${path}: ${plural(errors, "error")}`, path === slot.path, () => open(path));
      if (errors > 0) tab.append(h("span", { class: "dot", "aria-label": plural(errors, "error"), role: "img" }));
      return tab;
    });
    const rest = paths.filter((path) => !front.includes(path));
    fill(slot.tabs, ...tabs, rest.length === 0 ? null : picker("More files", rest.map((path) => [path, path]), slot.path, open, "", `${rest.length} more`));
    const notes: [word: string, title: string][] = [];
    if (kernel !== null && kernel.warning !== null) notes.push(["lines in doubt", kernel.warning]);
    const [value, share] = page.heading;
    slot.tools.prepend(...notes.map(([word, title]) => h("span", { class: "warn", title }, word)), h("span", { class: "columns" }, h("span", {}, value), h("span", {}, share)));
  }

  private stageTabs(slot: Slot): void {
    const names = this.stages();
    const { kernel } = this;
    if (kernel === null || names.length === 0) return fill(slot.tabs, h("span", { class: "tab on" }, "Stages"));
    slot.label = this.titleOf(slot.stage).replace(/,.*/, "");
    fill(slot.tabs, picker("Stage of the compile", names.map((name) => [name, this.titleOf(name)]), slot.stage, (name) => this.selectStage(slot, name), this.sentenceOf(slot.stage)));
  }

  private tablesOf(slot: Slot): string | null {
    const attempt = this.kernel?.stages.find(({ name }) => name === slot.stage)?.attempt;
    const stage = this.kernel?.program.stages.find((each) => each.name === slot.stage && each.attempt === attempt);
    return stage?.meta ?? null;
  }

  /** The metadata of a whole stage, in a sheet: large, seldom wanted, and read only now. */
  private async tables(slot: Slot): Promise<void> {
    const { page } = this;
    const id = this.tablesOf(slot);
    if (id === null) return;
    try {
      const text = readTable(await page.source.chunk(id), slot.stage);
      page.dialog.open(`${this.titleOf(slot.stage)}: metadata tables of the whole program`, h("pre", { class: "log" }, text));
    } catch (problem) {
      page.dialog.open("Metadata tables", ...failure(problem, () => void this.tables(slot)));
    }
  }

  private titleOf(name: string): string {
    return this.kernel?.program.stages.find((stage) => stage.name === name)?.title ?? name;
  }

  private sentenceOf(name: string): string {
    return this.kernel?.program.stages.find((stage) => stage.name === name)?.sentence ?? "";
  }

  private tab(text: string, title: string, on: boolean, act: () => void): HTMLElement {
    return h("button", { type: "button", class: on ? "tab on" : "tab", title, "aria-pressed": String(on), onclick: act }, text);
  }

  /** What walks through the machine code: waits, spills, blocks. */
  private steps({ code }: Kernel): HTMLElement[] {
    const step = (words: string, rows: readonly number[] | Int32Array, title: string): HTMLElement[] =>
      rows.length === 0 ? [] : [h("button", { class: "opt step", type: "button", title, onclick: () => void this.pinning.step(rows, 1) }, `${words} `, h("b", {}, count(rows.length)))];
    return [
      ...step("Next wait", code.waits?.longest ?? [], `The next instruction that waits ${LONG} cycles or more, the longest first (w, W): ${ORIGIN}`),
      ...step("Next spill", code.spills, "The next instruction that spills a register or fills it again (s, S)"),
      h("button", { class: "opt", type: "button", "aria-pressed": String(this.hasBlocks), title: "The kernel's blocks as an outline (b)", onclick: () => this.turnBlocks() }, "Blocks"),
    ];
  }

  private tools(slot: Slot): void {
    const { layout } = this.page;
    const menu = h(
      "select",
      {
        class: "mini",
        "aria-label": `${slot.element.getAttribute("aria-label")}: split, exchange or close`,
        title: "Split, exchange or close this pane",
        onchange: () => {
          const [what, kind] = menu.value.split(" ");
          menu.value = "";
          if (what === "operands") this.turnOperands();
          else if (what === "tables") void this.tables(slot);
          else if (what === "split") layout.split(slot);
          else if (what === "swap") layout.swap(slot);
          else if (what === "close") layout.close(slot);
          else if (what === "open") layout.open(kind as Kind);
        },
      },
      h("option", { value: "", disabled: true, hidden: true }, "⋯"),
      slot.kind === "code" ? h("option", { value: "operands" }, this.isShort ? "Operands as IGA writes them (o)" : "Short operands (o)") : null,
      h("option", { value: "split" }, "Split: a second pane beside this one"),
      h("option", { value: "swap" }, "Exchange with the next pane"),
      layout.slots.length > 1 ? h("option", { value: "close" }, "Close this pane") : null,
      ...layout.closed.map((kind) => h("option", { value: `open ${kind}` }, `Bring back: ${NAMES[kind]}`)),
      slot.kind === "stage" && this.tablesOf(slot) !== null ? h("option", { value: "tables" }, "Metadata tables of this stage") : null,
    );
    menu.value = "";
    fill(
      slot.tools,
      ...(slot.kind === "code" && this.kernel !== null ? this.steps(this.kernel) : []),
      ...(slot.kind === "source" ? this.editTools(slot) : []),
      menu,
    );
  }

  /** Begins an edit, and goes back to what was read. */
  private editTools({ linked }: Slot): HTMLElement[] {
    const { compiler } = this.page;
    if (!(linked instanceof SourcePane) || linked.bare || compiler?.canTry(linked.kernel.program) !== true) return [];
    // What it says follows the pane (style/edit.css); the keyboard stays there until the click has come.
    const edit = button("", "Change the source, and see what it costs (e, or Enter on a pinned line); Esc leaves the editor", () => (linked.pane.isTyping ? linked.pane.rest() : void compiler.start()));
    edit.classList.add("edit");
    edit.append(h("span", {}, "Edit"), h("span", {}, "Done"));
    edit.addEventListener("mousedown", (event) => event.preventDefault());
    const hasVersions = compiler.versionOf(linked.kernel.program) !== null;
    return [edit, ...(hasVersions ? [button("Revert", "Back to version 1, as it was read", () => compiler.revert())] : [])];
  }
}

function button(words: string, title: string, onclick: () => void): HTMLElement {
  return h("button", { class: "opt", type: "button", title, onclick }, words);
}

/** Where all panes have room beside the blocks; and where there are two. */
const ROOMY = matchMedia("(min-width: 1900px), (max-width: 760px)");
const TIGHT = matchMedia("(min-width: 761px) and (max-width: 1299px)");
