import type { Kernel } from "../document/kernel";
import { operation, ORIGIN, type Waits } from "../document/waits";
import { parse } from "../machine/parse";
import { count, h, percent, plural, sentence } from "../dom";

/** What is linked to within the words: other instructions, other lines. */
export interface WaitLinks {
  row(row: number): HTMLElement;
  line(key: number): HTMLElement;
}

/** Producers, and those that wait for a line, that are named. */
const MOST = 4;

/** What an instruction waits for, and who waits for it: null where the kernel has no code. */
export function waitsOfRow(kernel: Kernel, row: number, links: WaitLinks): HTMLElement | null {
  const { waits } = kernel.code;
  if (waits === null) return unknown(kernel);
  const body = box();
  const cycles = waits.cycles[row];
  if (cycles > 0) {
    const producer = waits.producer[row];
    body.append(h("p", {}, h("b", { class: "wait" }, plural(cycles, "cycle")), " for ", links.row(producer), " (", ...fromLine(kernel, producer, words(kernel, producer), links), `), ${whyOf(kernel, waits, row)}.`));
  }
  const waiters = Array.from(waits.waiters(row)).sort((left, right) => waits.cycles[right] - waits.cycles[left]);
  if (waiters.length > 0) {
    const named = waiters.slice(0, MOST).flatMap((waiter, index) => [index === 0 ? "" : ", ", links.row(waiter), ` ${count(waits.cycles[waiter])}`]);
    body.append(h("p", {}, "For it wait: ", ...named, waiters.length > MOST ? ` and ${waiters.length - MOST} more` : "", "."));
  }
  const when = `cycle ${count(waits.start[row])} of its block, in ${plural(waits.issue[row], "cycle")}`;
  body.append(h("p", {}, cycles > 0 ? `Issues in ${when}.` : `Does not wait; issues in ${when}.`));
  return zone(body);
}

/** What the instructions of a line wait for together, and who waits for them: null where none does, or that is not known. */
export function waitsOfLine(kernel: Kernel, key: number, links: WaitLinks): HTMLElement | null {
  const { code, weights } = kernel;
  const { waits } = code;
  if (waits === null) return unknown(kernel);
  const rows = code.of(key);
  const body = box();
  const cycles = weights.waits[key];
  if (cycles > 0) {
    const first = h("p", {}, h("b", { class: "wait" }, plural(cycles, "cycle")), `, ${percent(cycles, waits.sum)}% of the kernel's: `);
    const whom = producersOf(kernel, waits, rows);
    whom.slice(0, MOST).forEach(({ producer, words, sum }, index) => first.append(index === 0 ? "" : ", ", `${count(sum)} for `, ...fromLine(kernel, producer, words, links, key)));
    first.append(whom.length > MOST ? ` and ${whom.length - MOST} more.` : ".");
    body.append(first);
  }
  const later = new Map<number, number>();
  for (const row of rows) {
    for (const waiter of waits.waiters(row)) {
      const other = lineOf(kernel, waiter);
      if (other !== key && other >= 0) later.set(other, (later.get(other) ?? 0) + waits.cycles[waiter]);
    }
  }
  if (later.size > 0) {
    const lines = Array.from(later).sort(([, left], [, right]) => right - left);
    const named = lines.slice(0, MOST).flatMap(([other, sum], index) => [index === 0 ? "" : ", ", links.line(other), ` ${count(sum)}`]);
    body.append(h("p", {}, "For it wait: ", ...named, lines.length > MOST ? ` and ${lines.length - MOST} more` : "", "."));
  }
  return cycles > 0 || later.size > 0 ? zone(body) : null;
}

interface Whom {
  producer: number;
  words: string;
  sum: number;
}

/** Whom these rows wait for, by line and what it does there, from the most cycles down. */
export function producersOf(kernel: Kernel, waits: Waits, rows: Int32Array): Whom[] {
  const whom = new Map<string, Whom>();
  for (const row of rows) {
    if (waits.cycles[row] === 0) continue;
    const producer = waits.producer[row];
    const name = `${lineOf(kernel, producer)} ${words(kernel, producer, waits.whyOf(row))}`;
    const known = whom.get(name);
    if (known === undefined) whom.set(name, { producer, words: words(kernel, producer, waits.whyOf(row)), sum: waits.cycles[row] });
    else known.sum += waits.cycles[row];
  }
  return Array.from(whom.values()).sort((left, right) => right.sum - left.sum);
}

/** What is waited for, with the token of the scoreboard. */
function whyOf(kernel: Kernel, waits: Waits, row: number): string {
  const why = waits.whyOf(row);
  const { code } = kernel;
  const tokens = parse(code.lines[row]).options.filter((each) => each.startsWith("$"));
  // The token that it takes itself, or the one that its producer holds.
  const token = tokens.find((each) => (why === "taken" ? !each.includes(".") : code.producers(row, each).includes(waits.producer[row])));
  return `${UNTIL.get(why) ?? why}${token === undefined ? "" : ` (${token})`}`;
}

const UNTIL: ReadonlyMap<string, string> = new Map([
  ["written", "until its result has arrived"],
  ["read", "until its operands have been read"],
  ["taken", "until it gives up the token that this one takes"],
]);

/** What an instruction does, and which part of it is waited for, if not its result. */
function words(kernel: Kernel, row: number, why = "written"): string {
  return (PARTS.get(why) ?? "") + operation(kernel.code.messages.get(row), kernel.code.opcode(row));
}

const PARTS: ReadonlyMap<string, string> = new Map([["read", "operands of the "], ["taken", "token of the "]]);

/** The line of an instruction, -1 where it has none of its own. */
function lineOf({ code }: Kernel, row: number): number {
  return code.inherited?.[row] ? -1 : code.key[row];
}

/** The line of an instruction and what it does; of the line that is shown only the latter. */
function fromLine(kernel: Kernel, row: number, does: string, links: WaitLinks, here = -1): (HTMLElement | string)[] {
  const key = lineOf(kernel, row);
  if (key < 0) return [does];
  if (key === here) return [`this line (${does})`];
  return here >= 0 ? [links.line(key), ` (${does})`] : [links.line(key), `, ${does}`];
}

function unknown(kernel: Kernel): HTMLElement | null {
  return kernel.missing.waits === null ? null : zone(h("p", { class: "dim" }, sentence(kernel.missing.waits)));
}

function box(): HTMLElement {
  return h("div", {}, h("p", { class: "dim origin" }, `Estimated: ${ORIGIN}`));
}

function zone(body: HTMLElement): HTMLElement {
  return h("div", { class: "w waiting" }, h("span", { class: "lab" }, "Waits"), body);
}
