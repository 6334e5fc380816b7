import { certainOf, type Kernel } from "../document/kernel";
import type { ProgramInfo } from "../document/schema";
import { LONG, ORIGIN } from "../document/waits";
import { count, fill, h, hex, percent, plural } from "../dom";

/** Lines on the first sheet. */
const LINES = 10;
/** Rows of print that the second sheet has for code, on the smaller of A4 and Letter, and characters of a row. */
const ROWS = 58;
const WIDTH = 92;

/** What the summary is of, beside the kernel. */
export interface Sheet {
  title: string;
  /** The pinned line; -1: none, and the costliest stands for it. */
  key: number;
  /** Texts of source files by their paths, as far as they were read. */
  texts: ReadonlyMap<string, readonly string[]>;
  /** What the kernel is compared with, the older one first. */
  change: { words: string; old: ProgramInfo; oldRow: number; now: ProgramInfo; nowRow: number } | null;
}

/** A kernel on two sheets of paper: its figures and costliest lines, and the code of a line. */
export function summary(kernel: Kernel, sheet: Sheet): HTMLElement {
  const lines = costliest(kernel);
  const key = sheet.key >= 0 ? sheet.key : (lines[0] ?? -1);
  return h("section", { class: "paper" }, h("div", { class: "sheet1" }, ...head(kernel, sheet), ...change(sheet), ...table(kernel, sheet, lines)), h("div", { class: "sheet2" }, ...code(kernel, sheet, key)));
}

/** The lines with most instructions. */
export function costliest({ weights, places }: Kernel): number[] {
  const keys = Array.from({ length: places.keys }, (_, key) => key).filter((key) => weights.instructions[key] > 0);
  return keys.sort((left, right) => weights.instructions[right] - weights.instructions[left]).slice(0, LINES);
}

function head(kernel: Kernel, { title }: Sheet): HTMLElement[] {
  const { program, row, code } = kernel;
  const figures: [string, string | null][] = [
    ["Instructions", count(code.count)],
    ...figuresOf(program, row, code.peak?.registers ?? null),
    ["Wait cycles", code.waits === null ? null : count(code.waits.sum)],
  ];
  const build: [string, string | null][] = [
    ["Device", [program.device, program.device_title].filter(Boolean).join(", ")],
    ["Toolchain", [program.toolchain, ...program.versions].filter(Boolean).join(" · ")],
    ["Options", program.options === null ? null : program.options || "none"],
  ];
  return [
    h("p", { class: "from" }, title),
    h("h1", {}, program.kernels.shown[row] ?? kernel.name),
    h("dl", { class: "figures" }, ...figures.map(([word, value]) => h("div", {}, h("dt", {}, word), h("dd", {}, value ?? "–")))),
    h("dl", { class: "how" }, ...build.map(([word, value]) => h("div", {}, h("dt", {}, word), h("dd", {}, value || "not known")))),
  ];
}

function figuresOf({ kernels }: ProgramInfo, row: number, read: number | null): [string, string | null][] {
  const of = (value: number | null): string | null => (value === null ? null : count(value));
  const peak = kernels.peak[row] ?? read;
  const bytes = kernels.spill_bytes[row];
  const registers = kernels.registers[row];
  return [
    ["SIMD", of(kernels.simd[row])],
    ["Live registers at the peak", peak === null ? null : registers === null ? count(peak) : `${peak} of ${registers}`],
    bytes === null ? ["Spills and fills", of(kernels.spill_messages[row])] : ["Bytes spilled", of(bytes)],
  ];
}

/** Each figure that differs, always from old to new. */
function change({ change }: Sheet): HTMLElement[] {
  if (change === null) return [];
  const { words, old, oldRow, now, nowRow } = change;
  const columns = [["Instructions", "instructions"], ["SIMD", "simd"], ["Live registers at the peak", "peak"], ["Bytes spilled", "spill_bytes"], ["Spills and fills", "spill_messages"]] as const;
  const cards = columns.flatMap(([word, column]) => {
    const [before, after] = [old.kernels[column][oldRow], now.kernels[column][nowRow]];
    if (before === null || after === null || before === after) return [];
    const sign = after > before ? "+" : "−";
    return [h("div", {}, h("dt", {}, word), h("dd", {}, `${count(before)} → ${count(after)}`, h("i", {}, ` ${sign}${count(Math.abs(after - before))} (${percent(Math.abs(after - before), before)} %)`)))];
  });
  const none = cards.length === 0 ? h("p", {}, "No figure of the kernel differs.") : h("dl", { class: "figures" }, ...cards);
  return [h("h2", {}, "The change"), h("p", { class: "from" }, words), none];
}

function table(kernel: Kernel, { texts }: Sheet, lines: number[]): HTMLElement[] {
  const { places, weights, code, files } = kernel;
  if (lines.length === 0) return [h("p", {}, "No source lines are known for this kernel.")];
  const several = new Set(lines.map((key) => places.keyFile[key])).size > 1;
  const rows = lines.map((key) => {
    const path = files[places.keyFile[key]];
    const line = places.keyLine[key];
    const wait = weights.waits[key];
    const at = several ? `${path.slice(path.lastIndexOf("/") + 1)}:${line}` : String(line);
    return h("tr", {}, h("td", {}, at), h("td", {}, count(weights.instructions[key])), h("td", {}, `${percent(weights.instructions[key], code.count)} %`), h("td", {}, count(certainOf(code, code.of(key)))), h("td", {}, wait > 0 ? count(wait) : "–"), h("td", {}, texts.get(path)?.[line - 1]?.trim() ?? ""));
  });
  const heads = ["Line", "Instructions", "Share", "Certain", "Waits", "Source"].map((word) => h("th", { scope: "col" }, word));
  const origin = code.waits === null ? null : h("p", { class: "from" }, `Waits are in cycles: ${ORIGIN}.`);
  return [h("h2", {}, lines.length < LINES ? "Lines by instructions" : `The ${LINES} costliest lines`), h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows)), ...(origin === null ? [] : [origin])];
}

/** The machine code of a line, as much as a sheet takes. */
function code(kernel: Kernel, { texts }: Sheet, key: number): HTMLElement[] {
  const { places, files } = kernel;
  const { waits, lines, offset } = kernel.code;
  const rows = key < 0 ? Array.from(lines, (_, row) => row) : [...kernel.code.of(key)];
  const path = key < 0 ? "" : files[places.keyFile[key]];
  const line = key < 0 ? 0 : places.keyLine[key];
  const source = texts.get(path)?.[line - 1]?.trim() ?? "";
  const drawn: HTMLElement[] = [];
  let room = ROWS;
  for (const row of rows) {
    // Labels are decimal, and addresses hexadecimal everywhere else.
    const text = lines[row].replace(/\s+/g, " ").trim().replace(/\bL(\d+)\b/g, (_, target) => hex(Number(target)));
    room -= Math.ceil(text.length / WIDTH);
    if (room < 0) break;
    const wait = waits?.cycles[row] ?? 0;
    drawn.push(h("tr", { class: wait >= LONG ? "long" : null }, h("td", {}, offset[row].toString(16).padStart(4, "0")), h("td", {}, wait > 0 ? count(wait) : ""), h("td", {}, text)));
  }
  const left = rows.length - drawn.length;
  const heads = ["At", "Waits", "Machine code"].map((word) => h("th", { scope: "col" }, word));
  return [
    h("h2", {}, key < 0 ? "Machine code" : `${path.slice(path.lastIndexOf("/") + 1)}, line ${line}: ${plural(rows.length, "instruction")}`),
    h("p", { class: "source" }, source),
    h("table", { class: "listing" }, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...drawn)),
    ...(left > 0 ? [h("p", { class: "from" }, `and ${plural(left, "more instruction")}, the last at ${hex(offset[rows[rows.length - 1]])}`)] : []),
  ];
}

/** The element that is printed in place of the page. */
export function lay(paper: HTMLElement, kernel: Kernel | null, sheet: Sheet): void {
  fill(paper, kernel === null ? h("p", {}, "No kernel is shown.") : summary(kernel, sheet));
}
