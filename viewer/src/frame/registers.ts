import type { Kernel } from "../document/kernel";
import { type Held, overlap, type Writer } from "../document/registers";
import { h, plural } from "../dom";

/** Writers and readers that are named. */
const MOST = 6;

/** A link to an instruction that keeps the register lit: there it is written, or read. */
export type RegisterLink = (row: number, isWritten: boolean) => HTMLElement;

/** What is said of a register that was clicked: who wrote its value, who reads it, and how long it holds it. */
export function registerZone(kernel: Kernel, register: number, held: Held | null, link: RegisterLink): HTMLElement {
  const body = h("div", {});
  if (held === null) body.append(h("p", {}, "It is not known who wrote it."));
  else body.append(writing(kernel, held, link), reading(held, link), lasting(held));
  if (kernel.code.isLowerBound) body.append(h("p", { class: "dim" }, "More may read and write it: some operands are known only at run time, or other functions are called."));
  return h("div", { class: "w register" }, h("span", { class: "lab" }, `Register r${register}`), body);
}

/** Who wrote it: of several, by the bytes that each wrote, and by what decides which of them came last. */
function writing(kernel: Kernel, { writers, isBefore, isWritten }: Held, link: RegisterLink): HTMLElement {
  if (writers.length === 0) return h("p", {}, "Not written in this code: it was set before it, as the arguments of the kernel are.");
  const sameBytes = writers.every(({ bytes }) => bytes.join() === writers[0].bytes.join());
  const named = (writer: Writer): (HTMLElement | string)[] => {
    const notes = [sameBytes ? "" : bytesOf(writer.bytes), writer.isPartial ? "by a predicate" : ""].filter(Boolean);
    return [link(writer.row, true), ` ${kernel.code.opcode(writer.row)}${notes.length > 0 ? ` (${notes.join(", ")})` : ""}`];
  };
  const hasChoice = isBefore || writers.some((left, at) => writers.slice(at + 1).some((right) => overlap(left.bytes, right.bytes)));
  const parts = writers.slice(0, MOST).flatMap((writer, at) => [at === 0 ? "" : at < writers.length - 1 ? ", " : hasChoice ? " or " : " and ", ...named(writer)]);
  if (writers.length > MOST) parts.push(` and ${writers.length - MOST} more`);
  const sentence = h("p", {}, "Written at ", ...parts, isBefore ? ", or before the code." : ".");
  if (isWritten && writers[0].isPartial) sentence.append(" Lanes that its predicate leaves out keep what was there.");
  else if (hasChoice && writers.some(({ isPartial }) => isPartial)) sentence.append(" Lanes that a predicate leaves out keep what was there before.");
  else if (hasChoice) sentence.append(" Which of them came last depends on the way that the lanes took.");
  return sentence;
}

function reading({ readers }: Held, link: RegisterLink): HTMLElement {
  if (readers.length === 0) return h("p", {}, "Nobody reads it.");
  const how = readers.length === 1 ? "Read once: " : `Read ${readers.length === 2 ? "twice" : `${readers.length} times`}: `;
  const parts = readers.slice(0, MOST).flatMap((row, at) => [at === 0 ? "" : ", ", link(row, false)]);
  return h("p", {}, how, ...parts, readers.length > MOST ? ` and ${readers.length - MOST} more` : "", ".");
}

function lasting({ ranges }: Held): HTMLElement {
  if (ranges === null || ranges.length === 0) return h("p", { class: "dim" }, "Over which instructions it holds its value is not known.");
  const places = ranges.length === 1 ? "" : ` in ${ranges.length} places of the code`;
  return h("p", {}, `Holds its value over ${plural(rowsIn(ranges), "instruction")}${places}.`);
}

/** How many rows ranges cover: those of different bytes of a register may overlap. */
function rowsIn(ranges: readonly [first: number, last: number][]): number {
  let rows = 0;
  let end = -1;
  for (const [first, last] of ranges) {
    rows += Math.max(0, last - Math.max(first, end + 1) + 1);
    end = Math.max(end, last);
  }
  return rows;
}

/** Runs of bytes in words: `byte 3`, `bytes 0–3, 8–11`. */
function bytesOf(runs: readonly number[]): string {
  const spans = runs.flatMap((first, at) => (at % 2 === 0 ? [first === runs[at + 1] ? `${first}` : `${first}–${runs[at + 1]}`] : []));
  if (spans.length === 0) return "";
  return `${spans.length === 1 && !spans[0].includes("–") ? "byte" : "bytes"} ${spans.slice(0, 4).join(", ")}${spans.length > 4 ? ", …" : ""}`;
}
