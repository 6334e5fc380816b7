import { allPairs, type LineChange } from "../comparison/changes";
import { isListed } from "../document/family";
import type { Kernel } from "../document/kernel";
import { count, h, hex } from "../dom";
import { nothing } from "../frame/message";
import { messageWords, operandsOf } from "../machine/operands";
import { parse } from "../machine/parse";

/** Rows of machine code that are drawn at once. */
const MOST_ROWS = 3000;

/** Both sides' instructions of a line, null: all of the kernels; what belongs together stands in one row. */
export function codeOf(old: Kernel, now: Kernel, line: LineChange | null): HTMLElement[] {
  const isOfTwo = isListed(old.program) !== isListed(now.program);
  const pairs = isOfTwo ? inOrder(line, old, now) : (line?.pairs ?? allPairs(old, now));
  const [before, after] = line === null ? [old.code.count, now.code.count] : [line.old.length, line.new.length];
  const titles = line === null ? ["all machine code", "all machine code"] : line.isLine ? [line.key.old || line.key.new, line.key.new || line.key.old].map((number) => `line ${number}`) : [line.key.path, line.key.path];
  const head = h("div", { class: "row head" }, h("b", {}, `Old, ${titles[0]}: ${count(before)}`), h("b", {}, `New, ${titles[1]}: ${count(after)}`));
  const rows = pairs.slice(0, MOST_ROWS).map(([left, right]) => codeRow(half(old, left, right < 0 ? "gone" : ""), half(now, right, left < 0 ? "come" : "")));
  return [head, ...rows, ...(pairs.length > MOST_ROWS ? [nothing(`${count(MOST_ROWS)} rows are shown; choose a line to see the others.`)] : [])];
}

/** What belongs together on both sides. */
export function codeRow(old: HTMLElement, now: HTMLElement): HTMLElement {
  return h("div", { class: "row" }, old, now);
}

/** Of two instruction sets nothing belongs together: both sides stand beside one another in their order. */
function inOrder(line: LineChange | null, old: Kernel, now: Kernel): [number, number][] {
  const rows = line === null ? [old.code.count, now.code.count].map((length) => Array.from({ length }, (_, row) => row)) : [line.old, line.new];
  return Array.from({ length: Math.max(rows[0].length, rows[1].length) }, (_, at) => [rows[0][at] ?? -1, rows[1][at] ?? -1]);
}

const SIGNS: Record<string, string> = { gone: "−", come: "+" };

/** One instruction, short: its address, opcode, channels and operands; its title has all of it. */
function half({ code, program }: Kernel, row: number, kind: "gone" | "come" | ""): HTMLElement {
  if (row < 0) return h("div", { class: "half none" });
  const parsed = parse(code.lines[row]);
  const { predicate, opcode, channels } = parsed;
  const message = code.messages.get(row);
  return h(
    "div",
    { class: `half mono ${kind}`.trimEnd(), title: code.lines[row].trim().replace(/\s+/g, " ") },
    h("span", { class: "sign" }, SIGNS[kind] ?? ""),
    h("span", { class: "at" }, hex(code.offset[row]).slice(2)),
    h("span", { class: "op" }, [predicate === "(W)" ? "" : predicate, opcode].filter((word) => word !== "").join(" ")),
    h("span", { class: "lanes" }, channels === 0 ? "" : channels),
    h("span", { class: "operands" }, (isListed(program) ? parsed.operands : operandsOf(parsed, message === undefined ? null : messageWords(message))).join(" ")),
  );
}
