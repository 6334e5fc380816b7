import type { KernelChange } from "../comparison/changes";
import { isListed, isOfRun } from "../document/family";
import type { Kernel } from "../document/kernel";
import { withoutLines } from "../document/options";
import type { Figure, Index } from "../document/schema";
import { count, h, percent, plural } from "../dom";
import type { Choice } from "./sides";
import { signed } from "./view";

/** Of this figure less is worse; of those no change is better or worse. */
const LESS_IS_WORSE = new Set(["simd"]);
const NEITHER = new Set(["grf_count"]);
/** A change of less than this share has no colour. */
const SMALL = 0.005;

/** What two builds differ in, in one sentence. */
export function differenceWords(old: Choice, now: Choice, change: KernelChange): string {
  const [before, after] = [old, now].map(({ entry }) => entry);
  const options = [before, after].map(({ program }) => (program.options === null ? "not known" : withoutLines(program.options) || "none"));
  const facts = [
    ["kernel", before.shown, after.shown],
    ["device", before.program.device ?? "?", after.program.device ?? "?"],
    ["toolchain", before.program.toolchain ?? "?", after.program.toolchain ?? "?"],
    ["options", ...options],
  ];
  const other = facts.filter(([, left, right]) => left !== right).map(([what, left, right]) => `${what} ${left} → ${right}`);
  const same = facts.slice(1).flatMap(([what, left, right]) => (left === right ? [what] : []));
  const lines = change.edited.length;
  const hasTexts = [before, after].every(({ program }) => program.files.some(({ chunk }) => chunk !== null));
  if (lines === 0 && hasTexts && before.name === after.name) same.push("source");
  const words = [...other, ...(same.length > 0 ? [`same ${listed(same)}`] : [])];
  if (lines > 0) words.push(`the source differs in ${plural(lines, "line")}`);
  else if (!hasTexts) words.push("the source text of a side is not at hand");
  const sentence = words.join("; ");
  return `${sentence.slice(0, 1).toUpperCase()}${sentence.slice(1)}.`;
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words[words.length - 1]}`;
}

/** A figure of both sides. */
interface Card {
  key: string;
  heading: string;
  old: Figure;
  now: Figure;
  /** Why no change of it is for the better or the worse, if it is not. */
  apart?: string;
}

/** The figures of both sides: the usual ones, and all others that differ. */
export function cardsOf(index: Index, old: Choice, now: Choice, kernels: readonly [Kernel, Kernel]): Card[] {
  const stated = index.figures.filter((figure) => !isOfRun(figure)).map(({ key, heading }): Card => {
    const [before, after] = [old, now].map(({ entry }) => entry.program.kernels.figures.get(key)?.[entry.row] ?? null);
    return { key, heading, old: before, now: after };
  });
  const [before, after] = kernels.map(({ code }) => code);
  const counted: Card[] = [
    { key: "waits", heading: "wait cycles", old: before.waits?.sum ?? null, now: after.waits?.sum ?? null, ...cyclesApart(old, now) },
    { key: "peak", heading: "registers at peak", old: before.peak?.registers ?? null, now: after.peak?.registers ?? null, ...sizesApart(old, now) },
  ];
  const usual = ["instructions", "code_size"];
  const cards = [...stated.filter(({ key }) => key === "instructions"), ...counted.filter(({ old: left, now: right }) => left !== null || right !== null), ...stated.filter(({ key }) => key !== "instructions")];
  return cards.filter((card) => usual.includes(card.key) || counted.includes(card) || card.old !== card.now);
}

/** The figures of two kernels as cards. Where one side's compiler is another vendor's, what only one side states is not compared:
 * each side has a card of it. */
export function allCards(index: Index, old: Choice, now: Choice, kernels: readonly [Kernel, Kernel]): HTMLElement[] {
  const cards = cardsOf(index, old, now, kernels);
  if (!kernels.some(({ program }) => isListed(program))) return cards.map(cardOf);
  const isOfBoth = (card: Card): boolean => (card.old === null) === (card.now === null);
  const own = [old, now].map(({ entry }, side) => {
    const values = cards.flatMap((card) => (isOfBoth(card) ? [] : [{ heading: card.heading, value: side === 0 ? card.old : card.now }]));
    const words = values.flatMap(({ heading, value }) => (value === null ? [] : [`${heading} ${count(value)}`]));
    return words.length === 0 ? [] : [h("div", { class: "card", "data-side": side === 0 ? "old" : "new" }, h("span", { class: "dim" }, `only ${entry.program.device ?? "?"}`), h("span", {}, words.join(", ")))];
  });
  return [...cards.filter(isOfBoth).map(cardOf), ...own.flat()];
}

/** Cycles are estimates of one device each. */
function cyclesApart(old: Choice, now: Choice): Pick<Card, "apart"> {
  const devices = [old, now].map(({ entry }) => entry.program.device);
  return devices[0] === devices[1] ? {} : { apart: "of two devices: not comparable" };
}

/** Registers of one size can be counted against each other, those of two sizes cannot. */
function sizesApart(old: Choice, now: Choice): Pick<Card, "apart"> {
  const [before, after] = [old, now].map(({ entry }) => entry.program.register_bytes);
  return before === null || after === null || before === after ? {} : { apart: `of ${before} → ${after} bytes each` };
}

/** `257 → 217 −40 (15.6 %)`; figures that stand apart without a change: `110 → 113 of 32 → 64 bytes each`. */
export function cardOf({ key, heading, old, now, apart }: Card): HTMLElement {
  const values = h("b", {}, `${figureWords(old)} → ${figureWords(now)}`);
  const change = apart === undefined ? changeOf(key, old, now) : h("em", { class: "dim" }, apart);
  return h("div", { class: "card", "data-figure": key }, h("span", { class: "dim" }, heading), h("span", {}, values, " ", change));
}

function figureWords(value: Figure): string {
  return value === null ? "–" : count(value);
}

function changeOf(key: string, old: Figure, now: Figure): HTMLElement | null {
  if (old === null || now === null) return null;
  if (old === now) return h("em", { class: "dim" }, "same");
  const share = old === 0 ? "" : ` (${percent(Math.abs(now - old), old)} %)`;
  return h("em", { class: kindOf(key, old, now) }, `${signed(now - old)}${share}`);
}

/** Whether a change is for the worse or the better; neither where it is small. */
export function kindOf(key: string, old: number, now: number): "worse" | "better" | "dim" {
  if (NEITHER.has(key) || (old > 0 && Math.abs(now - old) / old < SMALL)) return "dim";
  return now > old !== LESS_IS_WORSE.has(key) ? "worse" : "better";
}
