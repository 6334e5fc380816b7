import type { Advice } from "./document/advice";
import { h, fill } from "./dom";
import { adviceSheet } from "./frame/advice";
import { type Answer, type AnswerActions, answerOf } from "./frame/answer";
import { Inspector } from "./frame/inspector";
import { peakSheet } from "./frame/peak";
import type { Kernel } from "./document/kernel";
import { Lighting } from "./lighting";
import { Links, type Target } from "./links";
import { tokenWords } from "./machine/explain";
import type { Named } from "./machine/named";
import type { Page } from "./page";
import { StagePane } from "./panes/stage";
import { CodePane, type CodeSurroundings } from "./panes/code";
import type { Linked } from "./panes/linked";
import type { How, State } from "./state";

/** Where the panel has a place of its own (style/frame.css). */
const DOCKED = matchMedia("(min-width: 1900px)");

/** Counterparts of a pane that are listed. */
const MOST = 2000;

/** What the pointer, the cursor and clicks light up, and what stays lit; the panel below says it in words. */
export class Pinning implements CodeSurroundings, AnswerActions {
  readonly links: Links;
  readonly element = h("div", { class: "under" });
  private detail!: Inspector;

  constructor(private readonly page: Page) {
    this.links = new Links(new Lighting(page.root), page.layout);
    this.explain(new Map());
  }

  /** Takes the opcodes' words from the document. */
  explain(opcodes: ReadonlyMap<string, string>): void {
    const actions = {
      goToRow: (row: number) => this.goToRow(row),
      goToRegister: (row: number, { register, isWritten }: Named) => this.goToRegister(row, register, isWritten),
      goToLine: (key: number) => void this.goToLine(key),
      exact: () => this.turnExact(),
      list: () => this.list(),
      advise: (advice: Advice) => void this.goToAdvice(advice),
    };
    this.detail = new Inspector(actions, opcodes);
    fill(this.element, this.detail.element);
  }

  get root(): ShadowRoot {
    return this.page.root;
  }

  shade(key: number): number {
    return this.page.shade(key);
  }

  figure(key: number): { value: string; share: string } {
    return this.page.figure(key);
  }

  hover(from: Linked, line: number): void {
    const { kernel } = this.page;
    if (kernel === null) return;
    const target = line < 0 ? null : this.links.target(from, line);
    this.links.hover(kernel, target);
    if (this.links.pinned === null) this.detailSoon(target);
  }

  pin(from: Linked, line: number): void {
    const { kernel } = this.page;
    const target = this.links.target(from, line);
    if (kernel === null || target === null) return;
    const { pinned } = this.links;
    // In a text that is typed in a click is for the cursor, too.
    // Lit for an advice, it is not its line that is pinned.
    if (pinned !== null && pinned.rows === undefined && pinned.linked === from && pinned.line === line) return from.pane.isTyping ? undefined : this.unpin();
    this.links.exact = false;
    this.links.register = null;
    this.links.pin(kernel, target);
    this.afterPin("push");
    this.bring(target);
  }

  /** Pins an instruction for one of its registers, where it writes or reads it; clicked again, for all of them. */
  register(from: Linked, line: number, register: number, isWritten: boolean): void {
    const { kernel } = this.page;
    const { links } = this;
    if (kernel === null) return;
    const isSame = links.pinned?.linked === from && links.pinned.line === line;
    const again = isSame && links.register?.register === register && links.register.isWritten === isWritten;
    if (!isSame) this.pin(from, line);
    if (links.pinned === null) return;
    links.register = again ? null : { register, isWritten };
    links.pin(kernel, links.pinned);
    this.detail.show(kernel, links.shown(links.pinned));
    // The panel is higher now.
    this.bring(links.pinned);
  }

  unpin(): void {
    if (this.page.kernel === null || this.links.pinned === null) return;
    this.links.exact = false;
    this.links.pin(this.page.kernel, null);
    this.afterPin("push");
  }

  cursor(from: Linked, line: number): void {
    if (this.page.kernel === null) return;
    const target = this.links.target(from, line);
    this.links.hover(this.page.kernel, target);
    if (this.links.pinned === null) this.detailSoon(target);
    this.page.status.say(target === null ? "no instruction" : this.links.words(this.page.kernel, target));
  }

  turnExact(): void {
    const { pinned } = this.links;
    if (this.page.kernel === null || pinned === null) return this.page.tell("Pin an instruction first: click it, or press Enter.");
    if (!this.links.exact && !this.links.hasExact(pinned)) return this.page.tell("No exact links of this are known: only those by line.");
    this.links.exact = !this.links.exact;
    this.links.pin(this.page.kernel, pinned);
    this.afterPin("replace");
    this.bring(pinned);
  }

  goToRow(row: number): void {
    const code = this.codePane;
    if (code === null) return;
    const line = code.lineOf(row);
    code.reveal(line);
    code.pane.show(line);
    if (this.links.pinned?.linked !== code || this.links.pinned.line !== line) this.pin(code, line);
  }

  /** Pins the next of these rows after the one that is pinned, or the one before it, else the first or last; around the end. False if there is none. */
  step(rows: readonly number[] | Int32Array, by: number): boolean {
    const { codePane, links } = this;
    if (codePane === null || rows.length === 0) return false;
    const at = links.pinned?.linked === codePane ? rows.indexOf(links.pinned.row) : -1;
    const row = rows[(Math.max(at, by > 0 ? -1 : 0) + by + rows.length) % rows.length];
    const slot = this.page.layout.slotOf(codePane);
    if (slot !== null) this.page.layout.bringToFront(slot);
    this.goToRow(row);
    codePane.pane.focus();
    return true;
  }

  /** Goes to where a register is written or read, which stays lit. */
  private goToRegister(row: number, register: number, isWritten: boolean): void {
    this.goToRow(row);
    const { codePane } = this;
    if (codePane !== null) this.register(codePane, codePane.lineOf(row), register, isWritten);
  }

  async goToLine(key: number): Promise<void> {
    const { kernel } = this.page;
    if (kernel === null) return;
    const source = await this.page.file(kernel.files[kernel.places.keyFile[key]]);
    if (source === null) return;
    const line = source.lineNow(kernel.places.keyLine[key] - 1);
    if (line < 0) return this.page.tell("This line is gone from the text as it is now.");
    source.pane.show(line);
    if (this.links.pinned?.linked !== source || this.links.pinned.line !== line) this.pin(source, line);
  }

  /** Pins the line that is advised on, and lights the instructions that this is about. */
  async goToAdvice({ key, rows }: Advice): Promise<void> {
    const { kernel } = this.page;
    const code = this.codePane;
    if (kernel === null || code === null) return;
    const { places } = kernel;
    const source = key < 0 ? null : await this.page.file(kernel.files[places.keyFile[key]]);
    this.pinRows(kernel, source === null ? { linked: code, line: code.lineOf(rows[0]), row: rows[0], key, rows } : { linked: source, line: Math.max(0, source.lineNow(places.keyLine[key] - 1)), row: -1, key, rows });
  }

  trialsOf({ program }: Kernel): (() => void) | null {
    return this.page.compiler?.canTry(program) === true ? () => this.advice() : null;
  }

  /** Pins what the kernel opens on. */
  async goToAnswer(answer: Answer): Promise<void> {
    const { kernel } = this.page;
    if (answer.key >= 0) return this.goToLine(answer.key);
    const target = this.targetOfAnswer(answer);
    if (kernel !== null && target !== null) this.pinRows(kernel, target);
  }

  private pinRows(kernel: Kernel, target: Target): void {
    const slot = this.page.layout.slotOf(target.linked);
    if (slot !== null) this.page.layout.bringToFront(slot);
    this.links.exact = false;
    this.links.register = null;
    target.linked.pane.show(target.line);
    this.links.pin(kernel, target);
    this.afterPin("push");
    this.bring(target);
  }

  /** What is advised on the kernel. */
  advice(): void {
    const { kernel, dialog, compiler } = this.page;
    if (kernel === null) return;
    const show = (advice: Advice): void => {
      dialog.close();
      void this.goToAdvice(advice);
    };
    const sheet = adviceSheet(kernel, show, compiler?.trials(kernel) ?? null);
    dialog.open("Advice", sheet);
  }

  /** Goes to where most registers are live, and lists these with who wrote them. */
  peak(): void {
    const { kernel, dialog, layout } = this.page;
    const peak = kernel?.code.peak ?? null;
    if (kernel === null || peak === null) return;
    const slot = layout.of("code");
    if (slot !== null) layout.bringToFront(slot);
    this.goToRow(peak.row);
    const show = (register: number, writer: number): void => {
      dialog.close();
      this.goToRegister(writer, register, true);
    };
    dialog.open(`Registers live at the peak: ${peak.registers}`, ...peakSheet(kernel, peak, show));
  }

  follow(row: number, token: string): void {
    const producer = this.page.kernel?.code.producers(row, token)[0];
    if (producer !== undefined) this.goToRow(producer);
    else this.page.tell(`${token} ${tokenWords(token)}.`);
  }

  get codePane(): CodePane | null {
    const linked = this.page.layout.of("code")?.linked;
    return linked instanceof CodePane ? linked : null;
  }

  private afterPin(how: How): void {
    const { kernel } = this.page;
    const { links } = this;
    if (kernel === null) return;
    const { pinned } = links;
    const { places, code } = kernel;
    const line = pinned === null || pinned.key < 0 ? null : { path: kernel.files[places.keyFile[pinned.key]], line: places.keyLine[pinned.key] };
    const offset = pinned?.linked.kind === "code" ? code.offset[pinned.row] : null;
    this.page.go({ line, offset, exact: links.exact }, how);
    if (line !== null && how === "push") this.page.element.dispatchEvent(new CustomEvent("kernlens:pinned", { detail: line, bubbles: true, composed: true }));
    this.page.status.pin(pinned === null ? null : line === null ? "Pinned an instruction without a line" : `Pinned line ${line.line}`);
    this.page.status.say(pinned === null ? "unpinned" : `pinned, ${links.words(kernel, pinned)}`);
    if (pinned === null) this.detail.clear(kernel);
    else this.detail.show(kernel, links.shown(pinned));
  }

  restorePin(): void {
    const { kernel, state } = this.page;
    if (kernel === null) return;
    const target = this.targetOf(state);
    this.links.exact = state.exact && target !== null;
    this.links.lead = null;
    this.links.pin(kernel, target);
    this.afterPin("replace");
    const isOther = this.led !== kernel.name;
    if (target !== null) this.show(target, isOther);
    else if (isOther) this.lead(kernel);
    this.led = kernel.name;
  }

  /** The kernel whose answer was shown: compiled anew it is the same, and its reader stays where he is. */
  private led = "";

  /** What is edited stays where it is when it is compiled anew, and as long as it is typed in. */
  private show(target: Target, isOther: boolean): void {
    const { pane } = target.linked;
    if (!pane.isEdited || (isOther && !pane.isTyping)) pane.show(target.line);
    this.bring(target);
  }

  /** Lights what to look at first in all panes, and brings it into sight: what a kernel opens on where nothing is pinned. */
  private lead(kernel: Kernel): void {
    const { links } = this;
    const answer = answerOf(kernel);
    const target = answer === null ? null : this.targetOfAnswer(answer);
    if (target === null) return;
    links.lead = target;
    links.hover(kernel, null);
    this.show(target, this.led !== "");
  }

  /** The line of an answer in the source, or the rows that it names; null where the pane with it is not there. */
  private targetOfAnswer({ key, rows, stage }: Answer): Target | null {
    if (rows === null) {
      const source = this.page.layout.of("source")?.linked;
      const line = source?.linesOf({ key, exact: null })[0];
      return source == null || line === undefined ? null : { linked: source, line, row: -1, key };
    }
    const linked = stage === null ? this.codePane : (this.page.layout.of("stage")?.linked ?? null);
    const isThere = linked !== null && (stage === null || (linked instanceof StagePane && linked.stage.name === stage));
    return isThere ? { linked, line: linked.lineOf(rows[0]), row: rows[0], key, rows } : null;
  }

  /** Brings what is pinned, and what belongs to it, into sight: after the panel is there, which takes its height from the panes. */
  private bring(target: Target): void {
    const { linked, line } = target;
    if (!linked.pane.isEdited && !linked.pane.sees(line)) linked.pane.show(line, "nearest");
    this.links.scroll(target, this.unedited());
  }

  /** There is no kernel. */
  clear(): void {
    this.links.clear();
    this.page.status.pin(null);
    this.page.status.cover(null);
    this.detail.clear(null);
  }

  /** Panes that may move by themselves: whoever types is never sent elsewhere. */
  private unedited(): Linked[] {
    return this.links.linkedPanes().filter(({ pane }) => !pane.isEdited);
  }

  private targetOf({ offset, line }: State): Target | null {
    const { kernel } = this.page;
    const { codePane } = this;
    if (kernel === null) return null;
    const row = offset === null ? -1 : kernel.code.rowAt(offset);
    if (row >= 0 && codePane !== null) return this.links.target(codePane, codePane.lineOf(row));
    const source = this.page.layout.of("source")?.linked;
    if (line === null || source == null) return null;
    const file = kernel.files.indexOf(line.path);
    const key = kernel.places.keyOf(file, line.line);
    if (key < 0) this.page.tell(`No code of this kernel comes from ${line.path}:${line.line}.`);
    return key < 0 ? null : { linked: source, line: Math.max(0, source.linesOf({ key, exact: null })[0] ?? line.line - 1), row: -1, key };
  }

  private soon = 0;

  /** The panel follows the pointer when it rests. */
  private detailSoon(target: Target | null): void {
    clearTimeout(this.soon);
    this.soon = window.setTimeout(() => {
      // Docked at the right it is always there; below the panes it would move them under the pointer.
      if (this.page.kernel === null || this.links.pinned !== null || !DOCKED.matches) return;
      if (target === null) this.detail.clear(this.page.kernel);
      else this.detail.show(this.page.kernel, this.links.shown(target));
    }, 80);
  }

  /** What is lit, as a plain list: for readers who cannot see it, and to walk through. */
  list(): void {
    const { dialog, kernel } = this.page;
    const { links } = this;
    const { pinned } = links;
    if (kernel === null || pinned === null) return this.page.tell("Pin a line first: click it, or press Enter.");
    if (pinned.key < 0 && !links.exact) return this.page.tell("It has no source line, so nothing is lit by line; x shows its exact links.");
    const parts = links.linkedPanes().map((linked) => {
      const lines = links.lines(pinned, linked);
      const goTo = (line: number): void => {
        dialog.close();
        linked.reveal(line);
        linked.pane.show(line);
        linked.pane.focus();
      };
      const items = Array.from(lines.subarray(0, MOST), (line) => {
        const words = `${linked.numberAt(line)}  ${linked.pane.view.state.doc.line(line + 1).text.trim()}`;
        return h("li", {}, h("button", { class: "link mono", type: "button", onclick: () => goTo(line) }, words));
      });
      const more = lines.length > MOST ? h("p", { class: "dim" }, `and ${lines.length - MOST} more`) : "";
      return h("section", {}, h("h3", {}, `${linked.title}: ${lines.length}`), h("ol", {}, ...items), more);
    });
    dialog.open(links.words(kernel, pinned), ...parts);
  }

  /** Panes were made anew: what was pinned is pinned in them, too. */
  restoreLight(): void {
    const { kernel } = this.page;
    if (kernel === null) return;
    this.page.findAgain();
    const { pinned } = this.links;
    const target = pinned === null ? null : this.targetOf(this.page.state);
    if (target !== null && pinned?.rows !== undefined && target.key === pinned.key) target.rows = pinned.rows;
    this.links.exact = this.page.state.exact && target !== null;
    this.links.pin(kernel, target);
    if (target === null) return this.links.mark(null);
    this.links.scroll(target, this.unedited());
    this.detail.show(kernel, this.links.shown(target));
  }
}
