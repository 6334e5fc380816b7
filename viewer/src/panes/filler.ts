import type { App } from "../app";
import { told } from "../app";
import type { Kernel } from "../document/kernel";
import type { FileInfo, MetaChunk, ProgramInfo, TextChunk } from "../document/schema";
import { copyText, fill, h } from "../dom";
import type { Slot } from "../frame/layout";
import { CodePane } from "./code";
import { SourcePane } from "./source";
import { StagePane } from "./stage";

/** Puts a kernel's panes into the slots, with the tabs above them; and says why where there is nothing to show. */
export class Filler {
  private file = -1;
  private kernel: Kernel | null = null;

  constructor(private readonly app: App) {}

  /** Fills all slots; with `keep` only those that show nothing of this kernel. */
  async fill(keep: boolean): Promise<void> {
    const { kernel, layout } = this.app;
    if (kernel === null) return;
    if (this.kernel !== kernel) {
      this.kernel = kernel;
      const linked = kernel.files.findIndex((path) => path === this.app.state.line?.path);
      this.file = linked >= 0 ? linked : (this.files()[0] ?? 0);
    }
    for (const slot of layout.slots) {
      if (keep && slot.linked?.kernel === kernel) continue;
      if (slot.kind === "code") this.code(slot);
      else if (slot.kind === "stage") this.stage(slot);
      else await this.showSource(slot);
    }
    this.heads();
  }

  /** The tabs and tools above the panes. */
  heads(): void {
    for (const slot of this.app.layout.slots) {
      this.tools(slot);
      if (slot.kind === "source") this.sourceTabs(slot);
      else if (slot.kind === "stage") this.stageTabs(slot);
      else fill(slot.tabs, h("span", { class: "tab on" }, "Machine code"));
    }
  }

  /** A build without a kernel: why, and what the compiler said. */
  async failed(program: ProgramInfo | null): Promise<void> {
    const { layout, source } = this.app;
    const [first, ...others] = layout.slots;
    this.heads();
    for (const slot of others) slot.message(h("p", { class: "dim" }, "Nothing to show."));
    if (program === null) return first.message(h("p", {}, "This document holds no program."));
    first.message(h("p", {}, program.ok ? "This program holds no kernel." : `The build failed: ${program.reason ?? "no reason is known"}`));
    if (program.log === null) return;
    try {
      const { text } = (await source.chunk(program.log)) as TextChunk;
      first.message(h("p", {}, program.ok ? "This program holds no kernel." : `The build failed: ${program.reason ?? ""}`), h("pre", { class: "log", tabindex: "0" }, text));
    } catch (problem) {
      first.message(...told(problem, () => void this.failed(program)));
    }
  }

  /** The source pane with this file in it, null where there is none. */
  async source(file: number): Promise<SourcePane | null> {
    const slot = this.app.layout.of("source");
    if (slot === null) return null;
    if (!(slot.linked instanceof SourcePane) || slot.linked.file !== file) {
      this.file = file;
      await this.showSource(slot);
      this.heads();
    }
    this.app.layout.bringToFront(slot);
    return slot.linked instanceof SourcePane ? slot.linked : null;
  }

  /** Stages that have a text of this kernel. */
  stages(): string[] {
    return this.kernel?.stages.map((stage) => stage.name) ?? [];
  }

  selectStage(slot: Slot, name: string): void {
    slot.stage = name;
    if (slot === this.app.layout.of("stage")) this.app.go({ stage: name }, "replace");
    this.stage(slot);
    this.heads();
    this.app.pinning.restoreLight();
  }

  code(slot: Slot): void {
    const { kernel } = this;
    if (kernel === null) return;
    if (kernel.code.count === 0)
      return slot.message(h("p", {}, `There is no machine code to show: ${kernel.missing.code ?? "the kernel is empty"}`));
    slot.show(new CodePane(kernel, this.app.isShort, this.app.pinning));
  }

  private stage(slot: Slot): void {
    const { kernel } = this;
    if (kernel === null) return;
    const names = this.stages();
    if (names.length === 0) {
      const why = kernel.program.no_stages ?? "no stages are known for this program";
      const [reason, command] = why.split("; ");
      return slot.message(h("p", {}, `No stages: ${reason}.`), command === undefined ? "" : copyOf(command, this.app));
    }
    const wanted = slot.stage || this.app.state.stage;
    const stage = kernel.stages.find(({ name }) => name === wanted) ?? kernel.stages.findLast(({ name, missing }) => name.startsWith("llvm") && missing === null) ?? kernel.stages[0];
    slot.stage = stage.name;
    if (stage.missing !== null) return slot.message(h("p", {}, `${this.titleOf(stage.name)}: ${stage.missing}`));
    const pane = new StagePane(kernel, stage, this.titleOf(stage.name), this.app.pinning);
    slot.show(pane);
    // What the kernel uses comes before it.
    const own = stage.functions.find(([name]) => name === kernel.name)?.[1] ?? stage.place.findIndex((place) => place >= 0) - 2;
    // Lines have their heights when they were drawn once.
    if (own > 0) requestAnimationFrame(() => slot.linked === pane && this.app.links.pinned === null && pane.pane.show(own, "start"));
  }

  private async showSource(slot: Slot): Promise<void> {
    const { kernel, file } = this;
    if (kernel === null) return;
    if (kernel.files.length === 0) {
      const reason = kernel.program.reasons[String(kernel.row)] ?? kernel.missing.lines ?? "it has no line table";
      slot.message(h("p", {}, `No source lines are known: ${reason}.`), h("p", { class: "dim" }, "Build with -gline-tables-only to have them; the machine code is shown all the same."));
      return;
    }
    const info = this.infoOf(file);
    if (slot.linked instanceof SourcePane && slot.linked.edited) {
      // The text that is edited stays, whatever has become of it.
      const edited = slot.linked;
      slot.rest();
      return edited.adopt(kernel, kernel.files.indexOf(edited.title));
    }
    let text: string | null = null;
    try {
      if (info.chunk !== null) text = ((await this.app.source.chunk(info.chunk)) as TextChunk).text;
    } catch (problem) {
      return slot.message(...told(problem, () => void this.showSource(slot)));
    }
    if (kernel !== this.kernel) return;
    slot.show(new SourcePane(kernel, file, info, text, this.app.pinning));
  }

  private infoOf(file: number): FileInfo {
    const path = this.kernel?.files[file] ?? "";
    const known = this.kernel?.program.files.find((info) => info.path === path);
    return known ?? { path, origin: null, lines: null, chunk: null, missing: "its text was not recorded" };
  }

  /** Files with code of this kernel, most first. */
  private files(): number[] {
    const { kernel } = this;
    if (kernel === null) return [];
    const counts = kernel.files.map(() => 0);
    for (let key = 0; key < kernel.places.keys; key++) counts[kernel.places.keyFile[key]] += kernel.weights.instructions[key];
    const files = counts.flatMap((each, file) => (each > 0 ? [file] : []));
    return files.sort((left, right) => counts[right] - counts[left]);
  }

  private sourceTabs(slot: Slot): void {
    const { kernel, app } = this;
    if (kernel === null || kernel.files.length === 0) return fill(slot.tabs, h("span", { class: "tab on" }, "Source"));
    const files = this.files();
    if (!files.includes(this.file) && kernel.files.length > 0) files.push(this.file);
    const names = files.map((file) => kernel.files[file]);
    const open = (file: number): void => void this.source(file).then(() => app.pinning.restoreLight());
    const tabs = files.slice(0, 3).map((file) => this.tab(shortest(kernel.files[file], names), kernel.files[file], file === this.file, () => open(file)));
    const rest = files.slice(3);
    fill(slot.tabs, ...tabs, rest.length === 0 ? null : picker("More files", rest.map((file) => [String(file), kernel.files[file]]), String(this.file), (value) => open(Number(value)), `${rest.length} more`));
    const { linked } = slot;
    const info = this.infoOf(this.file);
    if (linked instanceof SourcePane && linked.bare) slot.told.textContent = "";
    const [value, share] = app.heading;
    const note = linked instanceof SourcePane && linked.bare ? h("span", { class: "warn", title: info.missing ?? "" }, `no text: ${info.missing ?? "not recorded"}`) : null;
    slot.tools.prepend(...(note === null ? [] : [note]), h("span", { class: "columns" }, h("span", {}, value), h("span", {}, share)));
  }

  private stageTabs(slot: Slot): void {
    const names = this.stages();
    const { kernel } = this;
    if (kernel === null || names.length === 0) return fill(slot.tabs, h("span", { class: "tab on" }, "Stages"));
    const llvm = names.filter((name) => name.startsWith("llvm"));
    const parts: HTMLElement[] = [];
    for (const name of names) {
      if (llvm.length > 1 && llvm.includes(name)) {
        if (name !== llvm[0]) continue;
        const on = llvm.includes(slot.stage);
        if (!on) parts.push(this.tab("LLVM IR", "LLVM IR, as the code generator left it", false, () => this.selectStage(slot, llvm[llvm.length - 1])));
        else parts.push(picker("Point of LLVM IR", llvm.map((each) => [each, this.titleOf(each)]), slot.stage, (value) => this.selectStage(slot, value)));
      } else {
        parts.push(this.tab(this.titleOf(name), this.sentenceOf(name), name === slot.stage, () => this.selectStage(slot, name)));
      }
    }
    fill(slot.tabs, ...parts);
  }

  private tablesOf(slot: Slot): string | null {
    const attempt = this.kernel?.stages.find(({ name }) => name === slot.stage)?.attempt;
    const stage = this.kernel?.program.stages.find((each) => each.name === slot.stage && each.attempt === attempt);
    return stage?.meta ?? null;
  }

  /** The metadata of a whole stage, in a sheet: large, seldom wanted, and read only now. */
  private async tables(slot: Slot): Promise<void> {
    const { app } = this;
    const id = this.tablesOf(slot);
    if (id === null) return;
    try {
      const { stages } = (await app.source.chunk(id)) as MetaChunk;
      const text = stages.find(({ stage }) => stage === slot.stage)?.text ?? "";
      app.dialog.open(`${this.titleOf(slot.stage)}: metadata tables of the whole program`, h("pre", { class: "log" }, text));
    } catch (problem) {
      app.dialog.open("Metadata tables", ...told(problem, () => void this.tables(slot)));
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

  private tools(slot: Slot): void {
    const { layout } = this.app;
    const menu = h(
      "select",
      {
        class: "mini",
        "aria-label": `${slot.element.getAttribute("aria-label")}: split, exchange or close`,
        title: "Split, exchange or close this pane",
        onchange: () => {
          if (menu.value === "tables") void this.tables(slot);
          const act = { split: () => layout.split(slot), swap: () => layout.swap(slot), close: () => layout.close(slot) }[menu.value];
          menu.value = "";
          act?.();
        },
      },
      h("option", { value: "", disabled: true, hidden: true }, "⋯"),
      h("option", { value: "split" }, "Split: a second pane beside this one"),
      h("option", { value: "swap" }, "Exchange with the next pane"),
      layout.slots.length > 1 ? h("option", { value: "close" }, "Close this pane") : null,
      slot.kind === "stage" && this.tablesOf(slot) !== null ? h("option", { value: "tables" }, "Metadata tables of this stage") : null,
    );
    menu.value = "";
    fill(
      slot.tools,
      slot.kind !== "code"
        ? null
        : h("button", { class: "opt", type: "button", "aria-pressed": String(this.app.isShort), title: "Short operands, or as IGA writes them (o)", onclick: () => this.app.turnOperands() }, "Short operands"),
      menu,
    );
  }
}

/** The end of a path that tells it from the others. */
export function shortest(path: string, among: string[]): string {
  const parts = path.split("/");
  for (let from = parts.length - 1; from > 0; from--) {
    const end = parts.slice(from).join("/");
    if (among.filter((other) => other === end || other.endsWith(`/${end}`)).length < 2) return end;
  }
  return path;
}

function picker(label: string, options: [value: string, text: string][], value: string, choose: (value: string) => void, more = ""): HTMLElement {
  const select = h("select", { "aria-label": label, class: options.some(([each]) => each === value) ? "tab on" : "tab", onchange: () => choose(select.value) });
  if (more !== "" && !options.some(([each]) => each === value)) select.append(h("option", { value: "", disabled: true }, more));
  for (const [each, text] of options) select.append(h("option", { value: each }, text));
  select.value = options.some(([each]) => each === value) ? value : "";
  return select;
}

/** A button that copies the command within a sentence. */
function copyOf(sentence: string, app: App): Node {
  const command = sentence.replace(/ keeps them\.?$/, "");
  return h("p", {}, "To have them: ", h("code", {}, command), " ", h("button", { class: "tool", type: "button", onclick: () => void copyText(command, (told) => app.tell(told)) }, "Copy"));
}
