import type { Kernel } from "../document/kernel";
import { count, h, percent, plural } from "../dom";

/** Reasons and instructions that are named. */
const MOST = 5;

/** What a profiler counted on an instruction, or on the instructions of a line; null where there are no samples. */
export function samplesOf(kernel: Kernel, rows: Int32Array, row: number, link: (row: number) => HTMLElement): HTMLElement | null {
  const { samples } = kernel.code;
  if (samples === null) return null;
  const body = h("div", {}, h("p", { class: "dim origin" }, `Measured: samples of ${samples.profiler}`));
  const reasons = samples.byReason(rows);
  const sum = reasons.reduce((all, [, each]) => all + each, 0);
  const words = reasons.map(([{ name }, each]) => `${count(each)} ${name}`);
  if (sum === 0) body.append(h("p", {}, "None here."));
  else body.append(h("p", {}, h("b", {}, plural(sum, "sample")), `, ${percent(sum, samples.total)}% of the kernel's: ${words.join(", ")}.`));
  if (row >= 0) {
    laid(body, "Waited for: ", samples.producers(row), link);
    laid(body, "Others waited for it: ", samples.waiters(row), link);
  }
  if (samples.unplaced > 0) body.append(h("p", { class: "dim" }, `${plural(samples.unplaced, "sample")} of the kernel ${samples.unplaced === 1 ? "is" : "are"} where no instruction begins.`));
  return h("div", { class: "w measured" }, h("span", { class: "lab" }, "Samples"), body);
}

function laid(body: HTMLElement, verb: string, others: [row: number, samples: number][], link: (row: number) => HTMLElement): void {
  if (others.length === 0) return;
  const named = others.slice(0, MOST).flatMap(([row, samples], index) => [index === 0 ? "" : ", ", link(row), ` ${count(samples)}`]);
  body.append(h("p", {}, verb, ...named, others.length > MOST ? ` and ${others.length - MOST} more` : "", "."));
}
