import { rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import { isOpenCl } from "../document/family";
import { operation, ORIGIN } from "../document/waits";
import { copyText, count, h, percent, plural, prose, sentence } from "../dom";
import { producersOf } from "./waits";

/** Kinds of instructions that are named. */
const MOST = 3;
/** Waits of a line are named from this share of the kernel's on, in percent. */
const LEAST = 10;
/** The application that a capture saw is observed as a whole; a file that kernlens compiled is observed alone. */
const CAPTURE = "kernlens capture --observe -- APP";
/** Words that shells take as they are. */
const PLAIN = /^[\w@%+=:,./-]+$/;

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
  const path = key < 0 ? "" : files[places.keyFile[key]];
  const root = isTextless ? rootOf(kernel, path) : null;
  if (root !== null) parts.push(`To see and judge its source: add \`${root}\`.`);
  if (isTextless || observed !== null || key < 0) return { words: parts.join(" "), command: root };
  const command = observing(kernel, path);
  if (command !== null) parts.push(`\`${command}\` counts how often it runs, and on which addresses.`);
  return { words: parts.join(" "), command };
}

/** The option that may bring a file's text: why it has none names the folder, where that is known. None is of use to a file without a
 * name, or where folders were looked in already. */
function rootOf({ program }: Kernel, path: string): string | null {
  return /--source-root \S+/.exec(program.files.find((file) => file.path === path)?.missing ?? "")?.[0] ?? null;
}

/** The command that counts what a kernel does on data, in an interpreter of OpenCL for sub-groups as Intel's GPUs have them; null for
 * other kernels. */
function observing({ program, name }: Kernel, path: string): string | null {
  if (program.register_bytes === null || !isOpenCl(path)) return null;
  if (program.command === null) return CAPTURE;
  const [file, kernel] = [path, name].map(quoted);
  return `kernlens observe ${file} --kernel ${kernel}${program.device === null ? "" : ` --device ${quoted(program.device)}`} --size N`;
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The row for an answer without advice: what is known, the command that tells more, the panel that tries build options, and what
 * leads to advice `elsewhere`. */
export function nextStep(kernel: Kernel, key: number, tries: (() => void) | null, elsewhere: readonly HTMLElement[] = []): HTMLElement {
  const { missing } = kernel;
  const { words, command } = nextOf(kernel, key);
  const why = missing.advice === null ? `No rule of advice speaks of this ${elsewhere.length > 0 ? "line" : "kernel"}.` : sentence(`no advice: ${missing.advice}`);
  const told = h("span", { class: "told", role: "status" });
  const copy = command === null ? null : h("button", { class: "tool", type: "button", title: `Copy ${command}`, onclick: () => void copyText(command, (words) => told.replaceChildren(words)) }, "Copy command");
  return h("p", { class: "next" }, h("span", { title: `${words} ${why}` }, ...prose(words === "" ? why : words)), " ", copy, tries === null ? null : h("button", { class: "tool", type: "button", onclick: tries }, "Try options"), ...elsewhere, told);
}
