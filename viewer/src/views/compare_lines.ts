import type { KernelChange, LineChange, Side } from "../comparison/changes";
import type { LineKey } from "../comparison/source_lines";
import { isListed } from "../document/family";
import type { Kernel } from "../document/kernel";
import type { ProgramInfo } from "../document/schema";
import { count, h, plural } from "../dom";
import { kindOf } from "./compare_words";
import { signed, table } from "./view";

/** Lines whose waits differ alone that a sentence names. */
const MOST_NAMED = 8;

/** What stands above the columns, and what it means. */
const HEADS: readonly (readonly [string, string])[] = [
  ["line", "The source line, in the old text and in the new one where these differ"],
  ["−", "Instructions that only the old side has"],
  ["+", "Instructions that only the new side has"],
  ["sync", "How many more instructions that only wait (sync, nop, wait) the new side has: they count apart"],
  ["instructions", "All instructions of the line, old to new"],
  ["certain", "How many of them are certainly the line's, old to new: without the compile's stages the others may be of no line"],
  ["change", "By how many instructions the line grew"],
  ["waits", "Wait cycles by the scheduler's estimate, old to new"],
  ["source", "The text of the line; what it was before is struck"],
];

/** The lines that differ, as a table whose rows can be picked. */
export interface LinesTable {
  elements: HTMLElement[];
  words: string;
  pickFirst(): void;
}

/** `picked` hears of the line that was chosen; null: all machine code. */
export function linesTable(left: Side, right: Side, change: KernelChange, picked: (line: LineChange | null) => void): LinesTable {
  const shown = [...change.lines].sort((line, other) => Math.abs(grown(other)) - Math.abs(grown(line)) || other.removed + other.added - line.removed - line.added);
  const buttons: HTMLButtonElement[] = [];
  const pick = (at: number): void => {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-pressed", String(index === at + 1));
      button.closest("tr")?.classList.toggle("on", index === at + 1);
    });
    picked(shown[at] ?? null);
  };
  const row = (at: number, words: string, ...cells: HTMLElement[]): HTMLElement => {
    const button = h("button", { type: "button", class: "link", "aria-pressed": "false" }, words);
    buttons.push(button);
    return h("tr", { class: shown[at]?.isLine === false ? "named" : null, onclick: () => pick(at) }, h("td", {}, button), ...cells);
  };
  const [before, after] = [left.kernel.code, right.kernel.code];
  const sum = (of: (line: LineChange) => number): number => shown.reduce((all, line) => all + of(line), 0);
  const sums = [sum(({ removed }) => removed), sum(({ added }) => added), sum(syncOf)];
  const isWide = new Set(shown.filter(({ isLine }) => isLine).map(({ key }) => key.path)).size > 1;
  const texts = [textsOf(left), textsOf(right)];
  // Of one side alone they compare nothing.
  const hasWaits = [left, right].every(({ kernel }) => !isListed(kernel.program));
  const rows = [
    row(-1, "all", ...figures(sums, before.count, after.count, null), hasWaits ? waitsOf(before.waits?.sum ?? 0, after.waits?.sum ?? 0) : number(""), h("td", { class: "dim text" }, h("span", {}, "all machine code"))),
    ...shown.map((line, at) =>
      row(at, line.isLine ? placeOf(line.key, isWide) : line.key.path, ...figures([line.removed, line.added, syncOf(line)], line.old.length, line.new.length, line.certain), hasWaits ? waitsOf(...waits(left.kernel, right.kernel, line)) : number(""), line.change === "sync" ? waitingOf(change, isWide) : textOf(line, texts)),
    ),
  ];
  const heads = HEADS.map(([words, title]) => h("span", { title }, words));
  const words = hasWaits ? wordsOf(change, isWide) : listedWords(left.kernel.program, right.kernel.program, change, isWide);
  const legend = "− and + count the instructions that only one side has; sync counts apart those that only wait (sync, nop, wait), which each build places anew.";
  const elements = [table("Source lines by change", heads, rows), h("p", { class: "dim" }, words), ...(shown.length > 0 ? [h("p", { class: "dim" }, legend)] : [])];
  return { elements, words, pickFirst: () => pick(shown.length > 0 ? 0 : -1) };
}

/** The same of other vendors' code: of two instruction sets nothing is equal, and only the numbers can be compared. */
function listedWords(old: ProgramInfo, now: ProgramInfo, change: KernelChange, isWide: boolean): string {
  return isListed(old) === isListed(now) ? wordsOf(change, isWide) : "These are two instruction sets: no instruction of one is in the other, so compare the numbers of the lines.";
}

/** What the lines say that are in no row. */
export function wordsOf({ isSame, lines, unchanged, waiting }: KernelChange, isWide: boolean): string {
  const compared = "Register names, addresses and tokens are not compared.";
  if (isSame) return `The instructions are the same, one by one. ${compared}`;
  const others = waiting.length > 0 ? ` ${waitingWords(waiting, isWide)}` : "";
  const same = unchanged - waiting.filter(({ key }) => key.new > 0 || key.old > 0).length;
  if (lines.length === 0) return `No line differs in more than waiting.${others} ${compared}`;
  const unchangedWords = same === 0 ? "" : `${plural(same, "line")} with code did not change.`;
  return `${unchangedWords}${others} ${compared}`.trimStart();
}

/** `Only instructions that wait differ in line 16 (4 → 6).` */
function waitingWords(waiting: KernelChange["waiting"], isWide: boolean): string {
  const [first] = waiting;
  const named = waiting.slice(0, MOST_NAMED).map(({ key, old, new: now }) => `${placeOf(key, isWide)} (${count(old)} → ${count(now)})`).join(", ");
  const more = waiting.length > MOST_NAMED ? ` and ${waiting.length - MOST_NAMED} more` : "";
  return `Only instructions that wait differ in ${first.key.old + first.key.new > 0 ? (waiting.length === 1 ? "line " : "lines ") : ""}${named}${more}.`;
}

/** The lines behind the row that has all others: the same figures as beside them in the source. */
function waitingOf({ waiting }: KernelChange, isWide: boolean): HTMLElement {
  const words = waiting.map(({ key, old, new: now }) => `${placeOf(key, isWide)}: ${count(old)} → ${count(now)}`).join(", ");
  return h("td", { class: "text dim", title: words }, h("span", {}, words));
}

function grown({ old, new: now }: LineChange): number {
  return now.length - old.length;
}

function placeOf(key: LineKey, isWide: boolean): string {
  if (key.old === 0 && key.new === 0) return key.path;
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

function figures([removed, added, sync]: readonly number[], old: number, now: number, certain: LineChange["certain"]): HTMLElement[] {
  const kind = old === now ? "" : kindOf("instructions", old, now);
  return [number(removed > 0 ? `−${count(removed)}` : "", "removed"), number(added > 0 ? `+${count(added)}` : "", "added"), number(sync === 0 ? "" : signed(sync), "sync"), number(`${count(old)} → ${count(now)}`), number(certain === null ? "" : `${count(certain[0])} → ${count(certain[1])}`), number(signed(now - old), kind)];
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
