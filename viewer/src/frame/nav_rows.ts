import { brief, count, duration, h, plural } from "../dom";
import type { Head, Item } from "./arrange";
import type { Line } from "./names";

/** What the rows of the list show beside their names. */
export interface Shown {
  /** How often each kernel has what is looked for; null where nothing is. */
  hits: ReadonlyMap<string, number> | null;
  /** The text that is looked for, in small letters. */
  sought: string;
  /** The largest figures. */
  most: number;
  mostHits: number;
  /** The device's time is shown, not the instructions. */
  hasTime: boolean;
  /** Whether any kernel has a SIMD width, and whether any spills: a column that nobody fills is not there. */
  hasSimd: boolean;
  hasSpills: boolean;
  /** The widest SIMD of each device. */
  simd: Map<string | null, number>;
}

export function drawHead(head: Head, lines: Line[], height: number, shown: Shown): HTMLElement {
  const element = h("div", { class: "g" }, h("i", { "aria-hidden": "true" }, head.isOpen ? "▾" : "▸"), drawLines(lines, shown.sought), h("em", {}, counted(head, shown)));
  element.style.height = `${height}px`;
  return element;
}

export function drawItem(item: Item, level: number, lines: Line[], shown: Shown): HTMLElement {
  const badge = badgeOf(item);
  const hits = shown.hits?.get(item.key);
  const isTime = shown.hasTime && shown.hits === null;
  const value = hits ?? (isTime ? item.entry?.time : item.entry?.instructions) ?? null;
  const most = shown.hits === null ? shown.most : shown.mostHits;
  const shade = value === null || value <= 0 ? 0 : Math.min(6, Math.max(1, Math.ceil((6 * Math.log1p((value * 9) / most)) / Math.log(10))));
  return h(
    "div",
    { class: level > 1 ? "k in" : "k" },
    drawLines(lines, shown.sought),
    ...(badge === null ? columnsOf(item, shown) : [h("small", { class: badge.isBad ? "bad" : null, title: badge.title }, badge.text)]),
    badge === null ? h("em", { class: shade > 0 ? `q${shade}` : null }, value === null ? "–" : isTime ? duration(value) : brief(value)) : null,
  );
}

/** The bytes that a kernel spills, and its SIMD width, each in the column of its own. */
function columnsOf({ entry, program }: Item, { simd, hasSimd, hasSpills }: Shown): HTMLElement[] {
  if (entry === null) return [];
  const widest = simd.get(program.device) ?? 0;
  const isNarrow = entry.simd !== null && entry.simd < widest;
  const spills = h("b", { class: "spills", title: entry.spills || null }, entry.spills === "" ? "" : entry.spillBytes === null ? "yes" : brief(entry.spillBytes));
  const width = h("b", { class: isNarrow ? "warn" : null, title: isNarrow ? `SIMD${entry.simd}: the widest of this device is ${widest}` : null }, entry.simd === null ? "–" : String(entry.simd));
  return [...(hasSpills ? [spills] : []), ...(hasSimd ? [width] : [])];
}

function drawLines(lines: Line[], sought: string): HTMLElement {
  return h("span", { class: "name" }, ...lines.map((line) => h("span", {}, ...line.map(({ text, style }) => h("span", { class: style }, ...(style === "name" ? marked(text, sought) : [text]))))));
}

/** A text with what is looked for in it marked. */
function marked(text: string, sought: string): (Node | string)[] {
  const at = sought === "" ? -1 : text.toLowerCase().indexOf(sought);
  if (at < 0) return [text];
  const end = at + sought.length;
  return [text.slice(0, at), h("mark", {}, text.slice(at, end)), text.slice(end)];
}

export function counted({ items, count: all }: Head, { hits }: Shown): string {
  return hits === null ? count(all) : `${count(items.length)} of ${count(all)}`;
}

/** What stands in place of the figures of a program without a kernel. */
export function badgeOf({ entry, program }: Item): { text: string; title: string; isBad: boolean } | null {
  return entry === null ? { text: program.ok ? "no kernel" : "failed", title: program.reason ?? "", isBad: !program.ok } : null;
}

/** The whole name, then the figures. */
export function wordsOf({ name, beside, entry, program, key }: Item, { hits: all }: Shown): string {
  const whole = beside === "" ? name : `${name} (${beside})`;
  if (entry === null) return `${whole}: ${program.reason ?? (program.ok ? "no kernel" : "failed")}`;
  const figures = entry.instructions === null ? [] : [plural(entry.instructions, "instruction")];
  if (entry.time !== null) figures.unshift(`${duration(entry.time)} of device time`);
  if (entry.simd !== null) figures.push(`SIMD${entry.simd}`);
  if (entry.spills !== "") figures.push(entry.spills);
  const hits = all?.get(key);
  if (hits !== undefined) figures.unshift(plural(hits, "hit"));
  return [whole, ...figures].join(", ");
}

