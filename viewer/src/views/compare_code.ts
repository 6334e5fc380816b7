import { allPairs, type LineChange } from "../comparison/changes";
import type { Kernel } from "../document/kernel";
import { count, h, hex } from "../dom";
import { nothing } from "../frame/message";
import { messageWords, operandsOf } from "../machine/operands";
import { parse } from "../machine/parse";

/** Rows of machine code that are drawn at once. */
const MOST_ROWS = 3000;

/** Both sides' instructions of a line, null: all of the kernels; what belongs together stands in one row. */
export function codeOf(old: Kernel, now: Kernel, line: LineChange | null): HTMLElement[] {
  const pairs = line?.pairs ?? allPairs(old, now);
  const [before, after] = line === null ? [old.code.count, now.code.count] : [line.old.length, line.new.length];
  const titles = line === null ? ["all machine code", "all machine code"] : line.isLine ? [line.key.old || line.key.new, line.key.new || line.key.old].map((number) => `line ${number}`) : [line.key.path, line.key.path];
  const head = h("div", { class: "row head" }, h("b", {}, `Old, ${titles[0]}: ${count(before)}`), h("b", {}, `New, ${titles[1]}: ${count(after)}`));
  const rows = pairs.slice(0, MOST_ROWS).map(([left, right]) => h("div", { class: "row" }, half(old, left, right < 0 ? "gone" : ""), half(now, right, left < 0 ? "come" : "")));
  return [head, ...rows, ...(pairs.length > MOST_ROWS ? [nothing(`${count(MOST_ROWS)} rows are shown; choose a line to see the others.`)] : [])];
}

const SIGNS: Record<string, string> = { gone: "−", come: "+" };

/** One instruction, short: its address, opcode, channels and operands; its title has all of it. */
function half({ code }: Kernel, row: number, kind: "gone" | "come" | ""): HTMLElement {
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
    h("span", { class: "operands" }, operandsOf(parsed, message === undefined ? null : messageWords(message)).join(" ")),
  );
}
