import { kernelChange, type KernelChange, type Side } from "../comparison/changes";
import type { Kernel } from "../document/kernel";
import { readText } from "../document/read";
import type { ProgramInfo } from "../document/schema";
import { fill, h } from "../dom";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import { codeOf } from "./compare_code";
import { linesTable } from "./compare_lines";
import { drawStages, stageFields, type StageNames } from "./compare_stages";
import { allCards, differenceWords } from "./compare_words";
import { OfferButtons } from "./offers";
import { Picker } from "./picker";
import { type Choice, choiceOf, choicesOf, usual } from "./sides";
import type { View } from "./view";

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
  private readonly followed = h("p", { class: "followed", role: "status", hidden: true });
  private readonly sentence = h("p", { class: "differences dim" });
  private readonly cards = h("div", { class: "cards", role: "group", "aria-label": "Figures, old to new" });
  private readonly lines = h("div", { class: "lines", tabindex: "0", role: "region", "aria-label": "Lines that changed" });
  private readonly code = h("div", { class: "sides", tabindex: "0", role: "region", "aria-label": "Machine code side by side" });
  private readonly offers = new OfferButtons(false, ([configuration]) => void this.page.compiler?.configure(configuration));
  private choices: Choice[] = [];
  private chosen: readonly [Choice | null, Choice | null] = [null, null];
  /** What was shown when the sides were chosen, and the sides as the address names them. */
  private drawn: { here: string; a: string | undefined; b: string | undefined } | null = null;
  private turn = 0;

  constructor(private readonly page: Page) {
    const swap = h("button", { class: "tool", type: "button", title: "Exchange old and new", onclick: () => this.choose(this.chosen[1], this.chosen[0]) }, "⇄ Swap");
    this.element.append(h("div", { class: "choice" }, this.old.element, h("span", { class: "dim", "aria-hidden": "true" }, "→"), this.now.element, swap), this.followed, this.sentence, this.cards, this.lines, this.code);
  }

  show(): void {
    const { index, kernel, state } = this.page;
    if (index === null) return;
    this.choices = choicesOf(index, this.page.compiler);
    const current = kernel === null ? null : choiceOf(this.choices, kernel.program, kernel.row);
    const sides = [this.named(state.more.a), this.named(state.more.b)];
    const isAsked = state.more.a !== undefined || state.more.b !== undefined;
    if (this.page.compiler?.isComing && (!isAsked || sides.includes("coming"))) return this.wait();
    const { a, b } = state.more;
    const here = current?.key ?? "";
    const isLeft = isAsked && this.drawn !== null && this.drawn.here !== here && this.drawn.a === a && this.drawn.b === b;
    if (isLeft) this.write(null, null, "replace");
    const before = isLeft ? this.chosen : null;
    const asked = sides.map((side) => (side === "coming" ? null : side));
    this.chosen = isLeft || !isAsked ? usual(this.choices, current, this.beforeOf(kernel)) : [asked[0], asked[1]];
    if (isAsked && !isLeft) this.write(...this.chosen, "replace", sides);
    this.follow(before, current);
    this.note();
    this.draw();
  }

  /** The sides as the address names them. */
  get sides(): Page["compared"] {
    const [old, now] = this.chosen;
    return old === null || now === null ? null : [old.key, now.key];
  }

  /** The side that the address means: a version of another page is compiled again first. */
  private named(word: string | undefined): Choice | "coming" | null {
    if (word === undefined) return null;
    const at = word.indexOf(":");
    const program = this.page.compiler?.remade(word.slice(0, at)) ?? null;
    if (program === "coming") return this.choices.find(({ key }) => key === word) ?? program;
    const key = program === null ? word : `${program.id}${word.slice(at)}`;
    return this.choices.find((choice) => choice.key === key) ?? null;
  }

  /** Puts sides into the address; a side that is `named` there and not here stays there. */
  private write(old: Choice | null, now: Choice | null, how: "push" | "replace", named: readonly unknown[] = []): void {
    const { a, b, ...more } = this.page.state.more;
    const sides = { a: old?.key ?? (named[0] === null ? a : undefined), b: now?.key ?? (named[1] === null ? b : undefined) };
    for (const [side, key] of Object.entries(sides)) if (key !== undefined) more[side] = key;
    this.page.go({ more }, how);
  }

  /** Remembers for what the sides were chosen. */
  private note(): void {
    const { a, b } = this.page.state.more;
    const { kernel, compiler } = this.page;
    const here = kernel === null ? null : choiceOf(this.choices, kernel.program, kernel.row);
    this.drawn = compiler?.isComing ? null : { here: here?.key ?? "", a, b };
  }

  /** Says that another version than the chosen ones is compared now, because it was compiled; `before` were chosen. */
  private follow(before: readonly [Choice | null, Choice | null] | null, here: Choice | null): void {
    const [old, now] = this.chosen;
    this.followed.hidden = before === null || here === null || here.version === 0 || old === null || now === null || before.includes(null);
    if (before === null || this.followed.hidden) return;
    const again = h("button", { class: "tool", type: "button", onclick: () => this.choose(...before) }, `Show ${versionWords(before[0], here)} → ${versionWords(before[1], here)} again`);
    const why = old !== null && old.version > 0 && old.version === here?.from ? ", which it was made from" : "";
    fill(this.followed, `${capital(versionWords(now, here))} is shown now: it is compared with ${versionWords(old, here)}${why}.`, again);
  }

  /** Says that versions are compiled again before they can be compared. */
  private wait(): void {
    this.turn++;
    this.drawn = null;
    this.chosen = [null, null];
    this.old.show(this.choices, null);
    this.now.show(this.choices, null);
    for (const part of [this.sentence, this.cards, this.code]) fill(part);
    this.followed.hidden = true;
    this.element.classList.add("empty");
    this.element.setAttribute("aria-busy", "true");
    fill(this.lines, h("p", { class: "dim waiting", role: "status" }, "The versions that are compared are compiled again…"));
  }

  /** The version that the figures of the shown one are compared with. */
  private beforeOf(kernel: Kernel | null): Choice | null {
    const before = kernel === null ? null : (this.page.compiler?.before(kernel.program, kernel.row) ?? null);
    return before === null ? null : choiceOf(this.choices, before.program, before.row);
  }

  private choose(old: Choice | null, now: Choice | null): void {
    this.chosen = [old, now];
    this.write(old, now, "push");
    this.followed.hidden = true;
    this.note();
    this.draw();
  }

  private draw(): void {
    const [old, now] = this.chosen;
    this.old.show(this.choices, old);
    this.now.show(this.choices, now);
    this.page.compiler?.share();
    if (old !== null && now !== null) return void this.compare(old, now);
    this.turn++;
    this.element.removeAttribute("aria-busy");
    for (const part of [this.sentence, this.cards, this.code]) fill(part);
    this.element.classList.add("empty");
    const { a, b } = this.page.state.more;
    const isLacking = (old === null && a !== undefined) || (now === null && b !== undefined);
    const [other, words] = old === null ? [this.old, "the old side"] : [this.now, "the new side"];
    const name = (old ?? now)?.title;
    const sentence = isLacking ? "The address names a side that is not here: a version of another page, whose text it does not hold." : name === undefined ? "Choose two kernels to compare." : `There is no other version or build of ${name} here.`;
    const isAlone = this.choices.length < 2 && !isLacking;
    const button = isAlone ? null : h("button", { class: "tool", type: "button", onclick: () => other.focus() }, `Choose ${words}`);
    fill(this.lines, nothing(sentence, isAlone ? null : "Any two kernels can be compared: of other names, devices or toolchains too."), button);
    const own = old ?? now;
    if (own !== null && own.entry.program.stages.length > 1) this.lines.append(h("button", { class: "tool", type: "button", onclick: () => this.chooseBoth(own) }, `Compare two stages of ${own.title}`));
    if (!isLacking && name !== undefined) void this.offer();
  }

  /** The kernel with itself, by its first and its last stage. */
  private chooseBoth(own: Choice): void {
    const names = own.entry.program.stages.map(({ name }) => name);
    this.page.go({ more: { ...this.page.state.more, stages: `${names[0]},${names[names.length - 1]}` } }, "replace");
    this.choose(own, own);
  }

  /** Where there is nothing to compare with: what it can be compiled for, or what does that. */
  private async offer(): Promise<void> {
    const { turn } = this;
    const { kernel, compiler } = this.page;
    const offers = kernel === null ? null : ((await compiler?.offers(kernel.program)) ?? null);
    if (turn !== this.turn) return;
    if (offers === null) return this.lines.append(nothing(compiler === null ? "A report compiles nothing. kernlens serve FILE does, and compares what it compiles here." : "Nothing here compiles it: there is no source text of it, or no compiler.", "Or open two: kernlens serve old.klens new.klens"));
    this.offers.show(offers);
    this.lines.append(h("p", {}, "Compile it for something else, and see here what differs:"), this.offers.element);
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

  /** Which stages are compared, as the address has them. */
  private get stages(): StageNames {
    const [old = "", now = ""] = (this.page.state.more.stages ?? "").split(",");
    return now === "" ? ["", ""] : [old, now];
  }

  private chooseStages([old, now]: StageNames): void {
    const { stages: _, ...more } = this.page.state.more;
    this.page.go({ more: old === "" ? more : { ...more, stages: `${old},${now}` } }, "push");
    this.draw();
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
    const kernels = [left.kernel, right.kernel] as const;
    fill(this.cards, ...allCards(index, old, now, [...kernels]));
    const stages = this.stages;
    const fields = stageFields(kernels, stages, (names) => this.chooseStages(names));
    if (fields !== null) this.sentence.append(" ", fields);
    this.element.classList.toggle("apart", old.entry.program.device !== now.entry.program.device);
    this.element.classList.toggle("texts", stages[0] !== "" && fields !== null);
    if (stages[0] !== "" && fields !== null) return drawStages(this.lines, this.code, kernels, stages);
    const without = [left, right].find(({ kernel }) => kernel.code.count === 0)?.kernel;
    if (without !== undefined) {
      fill(this.lines, nothing("There is no machine code on a side to compare.", without.missing.code));
      return fill(this.code);
    }
    const lines = linesTable(left, right, change, (line) => {
      fill(this.code, ...codeOf(left.kernel, right.kernel, line));
      this.code.scrollTop = 0;
    });
    fill(this.lines, ...lines.elements);
    lines.pickFirst();
    this.page.status.say(lines.words, 0);
  }
}

/** A side among versions of one source; with its name where it is another kernel's. */
function versionWords(side: Choice | null, here: Choice | null): string {
  if (side === null) return "";
  return side.version > 0 && side.base === here?.base && side.title === here.title ? `version ${side.version}` : `${side.title} (${side.detail.split(" · ", 2).join(", ")})`;
}

function capital(words: string): string {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
