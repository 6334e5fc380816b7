import { kernelChange, type KernelChange, type LineChange, type Side } from "../comparison/changes";
import type { Kernel } from "../document/kernel";
import { readText } from "../document/read";
import type { ProgramInfo } from "../document/schema";
import { count, fill, h, plural } from "../dom";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import { codeOf } from "./compare_code";
import { cardOf, cardsOf, differenceWords, kindOf } from "./compare_words";
import { Picker } from "./picker";
import { type Choice, choiceOf, choicesOf, usual } from "./sides";
import { signed, table, type View } from "./view";

/** What a comparison is made from: both kernels with the texts of their files. */
interface Compared {
  old: Side;
  now: Side;
  change: KernelChange;
}

/** Two kernels by source line, always old to new: what each line costs on both sides, and its instructions side by side. */
export class CompareView implements View {
  readonly name = "compare";
  readonly title = "Compare";
  readonly hint = "Two kernels, by source line (c)";
  readonly element = h("div", { class: "compare" });
  private readonly old = new Picker("Old", (choice) => this.choose(choice, this.chosen[1]));
  private readonly now = new Picker("New", (choice) => this.choose(this.chosen[0], choice));
  private readonly sentence = h("p", { class: "differences dim" });
  private readonly cards = h("div", { class: "cards", role: "group", "aria-label": "Figures, old to new" });
  private readonly lines = h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": "Lines that changed" });
  private readonly code = h("div", { class: "sides", tabindex: "0", role: "region", "aria-label": "Machine code side by side" });
  private choices: Choice[] = [];
  private chosen: readonly [Choice | null, Choice | null] = [null, null];
  private turn = 0;

  constructor(private readonly page: Page) {
    const swap = h("button", { class: "tool", type: "button", title: "Exchange old and new", onclick: () => this.choose(this.chosen[1], this.chosen[0]) }, "⇄ Swap");
    this.element.append(h("div", { class: "choice" }, this.old.element, h("span", { class: "dim", "aria-hidden": "true" }, "→"), this.now.element, swap), this.sentence, this.cards, this.lines, this.code);
  }

  show(): void {
    const { index, kernel, state } = this.page;
    if (index === null) return;
    this.choices = choicesOf(index, this.page.compiler);
    const current = kernel === null ? null : choiceOf(this.choices, kernel.program, kernel.row);
    const known = (word: string | undefined): Choice | null => this.choices.find(({ key }) => key === word) ?? null;
    const asked = [known(state.more.a), known(state.more.b)] as const;
    this.chosen = asked[0] === null && asked[1] === null ? usual(this.choices, current) : asked;
    this.draw();
  }

  private choose(old: Choice | null, now: Choice | null): void {
    this.chosen = [old, now];
    const { a: _, b: __, ...more } = this.page.state.more;
    this.page.go({ more: { ...more, ...(old === null ? {} : { a: old.key }), ...(now === null ? {} : { b: now.key }) } }, "push");
    this.draw();
  }

  private draw(): void {
    const [old, now] = this.chosen;
    this.old.show(this.choices, old);
    this.now.show(this.choices, now);
    if (old !== null && now !== null) return void this.compare(old, now);
    this.turn++;
    for (const part of [this.sentence, this.cards, this.code]) fill(part);
    this.element.classList.add("empty");
    if (this.choices.length < 2) return fill(this.lines, nothing("There is only one kernel here, and nothing to compare it with.", "Open two: kernlens serve old.klens new.klens"));
    const [other, words] = old === null ? [this.old, "the old side"] : [this.now, "the new side"];
    const name = (old ?? now)?.title;
    const sentence = name === undefined ? "Choose two kernels to compare." : `There is no other version or build of ${name} here.`;
    const button = h("button", { class: "tool", type: "button", onclick: () => other.focus() }, `Choose ${words}`);
    fill(this.lines, nothing(sentence, "Any two kernels can be compared: of other names, devices or toolchains too."), button);
  }

  private async compare(old: Choice, now: Choice): Promise<void> {
    const turn = ++this.turn;
    this.element.classList.remove("empty");
    this.element.setAttribute("aria-busy", "true");
    if (this.lines.childElementCount === 0) fill(this.lines, h("p", { class: "dim waiting" }, "reading both kernels"));
    try {
      const [left, right] = await Promise.all([old, now].map((choice) => this.sideOf(choice)));
      if (turn !== this.turn) return;
      this.compared(old, now, { old: left, now: right, change: kernelChange(left, right) });
    } catch (problem) {
      if (turn === this.turn) fill(this.lines, h("div", { class: "message" }, ...failure(problem, () => void this.compare(old, now))));
    } finally {
      if (turn === this.turn) this.element.removeAttribute("aria-busy");
    }
  }

  private async sideOf({ entry }: Choice): Promise<Side> {
    const kernel = await this.page.load(entry);
    return { kernel, sources: await this.textsOf(entry.program) };
  }

  private async textsOf({ files }: ProgramInfo): Promise<Side["sources"]> {
    const texts = files.flatMap(({ path, chunk }) => (chunk === null ? [] : [{ path, chunk }]));
    return Promise.all(texts.map(async ({ path, chunk }) => ({ path, text: readText(await this.page.source.chunk(chunk)) })));
  }

  private compared(old: Choice, now: Choice, { old: left, now: right, change }: Compared): void {
    const { index } = this.page;
    if (index === null) return;
    fill(this.sentence, differenceWords(old, now, change));
    fill(this.cards, ...cardsOf(index, old, now, [left.kernel, right.kernel]).map(cardOf));
    const without = [left, right].find(({ kernel }) => kernel.code.count === 0)?.kernel;
    if (without !== undefined) {
      fill(this.lines, nothing("There is no machine code on a side to compare.", without.missing.code));
      return fill(this.code);
    }
    const shown = [...change.lines].sort((line, other) => Math.abs(grown(other)) - Math.abs(grown(line)) || other.removed + other.added - line.removed - line.added);
    const buttons: HTMLButtonElement[] = [];
    const pick = (at: number): void => {
      buttons.forEach((button, index) => {
        button.setAttribute("aria-pressed", String(index === at + 1));
        button.closest("tr")?.classList.toggle("on", index === at + 1);
      });
      fill(this.code, ...codeOf(left.kernel, right.kernel, shown[at] ?? null));
      this.code.scrollTop = 0;
    };
    const row = (at: number, words: string, ...cells: HTMLElement[]): HTMLElement => {
      const button = h("button", { type: "button", class: "link", "aria-pressed": "false" }, words);
      buttons.push(button);
      return h("tr", { onclick: () => pick(at) }, h("td", {}, button), ...cells);
    };
    const [before, after] = [left.kernel.code, right.kernel.code];
    const sum = (of: (line: LineChange) => number): number => shown.reduce((all, line) => all + of(line), 0);
    const sums = [sum(({ removed }) => removed), sum(({ added }) => added), sum(syncOf)];
    const isWide = new Set(shown.filter(({ isLine }) => isLine).map(({ key }) => key.path)).size > 1;
    const texts = [textsOf(left), textsOf(right)];
    const rows = [
      row(-1, "all", ...figures(sums, before.count, after.count), waitsOf(before.waits?.sum ?? 0, after.waits?.sum ?? 0), h("td", { class: "dim" }, "all machine code")),
      ...shown.map((line, at) => row(at, placeOf(line, isWide), ...figures([line.removed, line.added, syncOf(line)], line.old.length, line.new.length), waitsOf(...waits(left.kernel, right.kernel, line)), textOf(line, texts))),
    ];
    const words = wordsOf(change);
    fill(this.lines, table("Source lines by change", ["line", "−", "+", "sync", "instructions", "change", "waits", "source"], rows), h("p", { class: "dim" }, words));
    pick(shown.length > 0 ? 0 : -1);
    this.page.status.say(words, 0);
  }
}

function wordsOf({ isSame, lines, unchanged }: KernelChange): string {
  const compared = "register names, addresses and tokens are not compared.";
  if (isSame) return `The instructions are the same, one by one: ${compared}`;
  if (lines.length === 0) return `No line differs: ${compared}`;
  return `${plural(unchanged, "line")} with code did not change: ${compared}`;
}

function grown({ old, new: now }: LineChange): number {
  return now.length - old.length;
}

function placeOf({ key, isLine }: LineChange, isWide: boolean): string {
  if (!isLine) return key.path;
  const numbers = key.old === key.new || key.old === 0 || key.new === 0 ? `${key.old || key.new}` : `${key.old} → ${key.new}`;
  return isWide ? `${key.path.slice(key.path.lastIndexOf("/") + 1)}:${numbers}` : numbers;
}

function number(words: string, kind = ""): HTMLElement {
  return h("td", { class: `number ${kind}`.trimEnd() }, words);
}

/** How many more instructions that only wait a line has. */
function syncOf({ oldWaits, newWaits }: LineChange): number {
  return newWaits - oldWaits;
}

function figures([removed, added, sync]: readonly number[], old: number, now: number): HTMLElement[] {
  const kind = old === now ? "" : kindOf("instructions", old, now);
  return [number(removed > 0 ? `−${count(removed)}` : "", "removed"), number(added > 0 ? `+${count(added)}` : "", "added"), number(sync === 0 ? "" : signed(sync), "sync"), number(`${count(old)} → ${count(now)}`), number(signed(now - old), kind)];
}

function waitsOf(old: number, now: number): HTMLElement {
  return number(old === now ? (old > 0 ? count(old) : "") : `${count(old)} → ${count(now)}`, "wt-cell");
}

function waits(old: Kernel, now: Kernel, line: LineChange): [number, number] {
  const sum = ({ code }: Kernel, rows: readonly number[]): number => rows.reduce((cycles, row) => cycles + (code.waits?.cycles[row] ?? 0), 0);
  return [sum(old, line.old), sum(now, line.new)];
}

function textsOf({ sources }: Side): Map<string, string[]> {
  return new Map(sources.map(({ path, text }) => [path, text.split("\n")]));
}

/** The line's text; where it was edited, the old one struck above the new one. */
function textOf({ key, isLine }: LineChange, [old, now]: Map<string, string[]>[]): HTMLElement {
  if (!isLine) return h("td", {});
  const after = now.get(key.path)?.[key.new - 1]?.trim() ?? null;
  // The path is the new side's: the old one's file may lie elsewhere.
  const name = key.path.slice(key.path.lastIndexOf("/") + 1);
  const lines = old.get(key.path) ?? [...old].find(([path]) => path.endsWith(name))?.[1] ?? (old.size === 1 ? [...old.values()][0] : undefined);
  const before = lines?.[key.old - 1]?.trim() ?? null;
  const isEdited = key.old === 0 || key.new === 0 || before !== after;
  const words = [isEdited && before ? h("del", {}, before) : null, after ? h("span", {}, after) : isEdited ? null : h("span", {}, before ?? "")];
  return h("td", { class: "mono text", title: [before, after].filter((text) => text).join("\n") }, ...words);
}
