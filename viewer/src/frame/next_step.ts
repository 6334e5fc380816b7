import { rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import { operation, ORIGIN } from "../document/waits";
import { copyText, count, h, percent, plural, prose, sentence } from "../dom";
import { producersOf } from "./waits";

/** Kinds of instructions that are named. */
const MOST = 3;
/** Waits of a line are named from this share of the kernel's on, in percent. */
const LEAST = 10;
/** Files that OpenCL programs are written in: what runs them can be observed. */
const OPENCL = /\.(cl|ocl|clh)$|^[^.]*$/i;
const OBSERVE = "kernlens capture --observe -- APP";

/** What is known of a line that no rule of advice speaks of: what its instructions are and wait for, and what tells more. The
 * sentence's command stands in backticks; null where there is nothing to add. */
export function nextOf(kernel: Kernel, key: number): { words: string; command: string | null } {
  const { code, weights, places, files, missing, observed } = kernel;
  const rows = key < 0 ? new Int32Array(0) : rowsOf(code.own, key);
  const parts: string[] = [];
  const kinds = new Map<string, number>();
  for (const row of rows) {
    const kind = operation(code.messages.get(row), code.opcode(row));
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  const named = Array.from(kinds).sort(([, left], [, right]) => right - left).slice(0, MOST);
  const most = named.reduce((sum, [, number]) => sum + number, 0);
  if (2 * most >= rows.length && most > 0) parts.push(`Line ${places.keyLine[key]} is ${rows.length > most ? "mostly " : ""}${named.map(([kind, number]) => `${count(number)} ${kind}`).join(", ")}.`);
  const indirect = rows.filter((row) => /\br\[a0\./.test(code.lines[row])).length;
  if (4 * indirect >= rows.length && indirect > 0) parts.push(`${count(indirect)} of them address registers through a0, as an array with a variable index does that is kept in registers.`);
  const { waits } = code;
  const cycles = key < 0 || waits === null ? 0 : weights.waits[key];
  if (waits !== null && cycles > 0 && 100 * cycles >= LEAST * waits.sum) {
    const [{ words, producer }] = producersOf(kernel, waits, rows);
    const of = code.inherited?.[producer] || code.key[producer] < 0 ? "" : ` of line ${places.keyLine[code.key[producer]]}`;
    parts.push(`It waits ${plural(cycles, "cycle")} (${percent(cycles, waits.sum)}% of all), most for the ${words}${of} (${ORIGIN}).`);
  }
  const isTextless = missing.advice === "the source text is not known";
  // Why a file has no text names the folder, where that is known.
  const root = /--source-root \S+/.exec(kernel.program.files.find(({ path }) => key >= 0 && path === files[places.keyFile[key]])?.missing ?? "")?.[0] ?? "--source-root DIR";
  if (isTextless) parts.push(`To see and judge its source: add \`${root}\`.`);
  const isOpenCl = key >= 0 && OPENCL.test(files[places.keyFile[key]].replace(/^.*\//, ""));
  if (isTextless || observed !== null || !isOpenCl) return { words: parts.join(" "), command: isTextless ? root : null };
  parts.push(`\`${OBSERVE}\` counts how often it runs, and on which addresses.`);
  return { words: parts.join(" "), command: OBSERVE };
}

/** The row for an answer without advice: what is known, the command that tells more, and the panel that tries build options. */
export function nextStep(kernel: Kernel, key: number, tries: (() => void) | null): HTMLElement {
  const { missing } = kernel;
  const { words, command } = nextOf(kernel, key);
  const why = missing.advice === null ? "No rule of advice speaks of this kernel." : sentence(`no advice: ${missing.advice}`);
  const told = h("span", { class: "told", role: "status" });
  const copy = command === null ? null : h("button", { class: "tool", type: "button", title: `Copy ${command}`, onclick: () => void copyText(command, (words) => told.replaceChildren(words)) }, "Copy command");
  return h("p", { class: "next" }, h("span", { title: `${words} ${why}` }, ...prose(words === "" ? why : words)), " ", copy, tries === null ? null : h("button", { class: "tool", type: "button", onclick: tries }, "Try build options"), told);
}
