import { rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import { count, h, plural } from "../dom";
import { certainWords, partsOf } from "./peak";

/** The line to look at first, and why: as a sentence that the code proves. */
export interface Answer {
  key: number;
  sentence: string;
}

/** Of a kernel that spills the line whose values hold most registers at the peak, else the line with the most bytes of spills; of
 * others the line with the most instructions. Null where no line is known. */
export function answerOf(kernel: Kernel): Answer | null {
  const { code, weights, places } = kernel;
  const spilling = largestAt(weights.spills);
  if (spilling >= 0) {
    const holding = code.peak === null ? undefined : partsOf(kernel, code.peak).find(({ key }) => key !== null && key >= 0);
    if (code.peak !== null && holding?.key != null) {
      const all = `${code.isLowerBound ? "at least" : "the"} ${count(code.peak.registers)} registers live at the peak`;
      return { key: holding.key, sentence: `Registers spill: line ${places.keyLine[holding.key]} holds ${holding.live.length} of ${all}${certainWords(kernel, holding)}.` };
    }
    const all = weights.spills.reduce((sum, bytes) => sum + bytes, 0);
    return { key: spilling, sentence: `Registers spill: line ${places.keyLine[spilling]} moves ${count(weights.spills[spilling])} of the ${count(all)} bytes to memory and back.` };
  }
  // What only fills the code up behind its end is no line's cost, though compilers give it the last line.
  const end = endOf(kernel);
  const instructions = weights.instructions.map((all, key) => all - rowsOf(code.own, key).filter((row) => row >= end).length);
  const costliest = largestAt(instructions);
  const but = largestAt(weights.instructions) === costliest ? "" : `, but for the ${plural(code.count - end, "instruction")} that fill${code.count - end === 1 ? "s" : ""} the code up behind its end`;
  return costliest < 0 ? null : { key: costliest, sentence: `Line ${places.keyLine[costliest]} has ${count(instructions[costliest])} of the ${count(code.count)} instructions in the line table: no line has more${but}.` };
}

/** The row behind the last instruction that does anything. */
function endOf({ code }: Kernel): number {
  let end = code.count;
  while (end > 0 && /^(nop[lw]?|s_nop|s_code_end)$/i.test(code.opcode(end - 1))) end--;
  return end;
}

/** Why no line of a kernel can be named, with what to do about it; null where one can be, or where there is no kernel. */
export function unanswered(kernel: Kernel): string | null {
  const { code, missing, row } = kernel;
  if (row < 0 || kernel.problem !== null || answerOf(kernel) !== null) return null;
  const why = (code.count === 0 ? missing.code : null) ?? linesMissing(kernel);
  return kernel.observed === null ? `Which line costs most is not known: ${why}${why.endsWith(".") ? "" : "."}` : null;
}

/** Why no source lines are known, with what to do about it. */
export function linesMissing({ missing, program, row }: Kernel): string {
  return program.reasons.get(String(row)) ?? missing.lines ?? "it has no line table";
}

/** Where the largest of these is; -1 if none is above 0. */
function largestAt(values: ArrayLike<number>): number {
  let at = -1;
  for (let each = 0; each < values.length; each++) if (values[each] > (at < 0 ? 0 : values[at])) at = each;
  return at;
}

/** The row below the bars: the answer, and a button that goes there. */
export function answerRow({ key, sentence }: Answer, line: number, go: (key: number) => void): HTMLElement {
  return h("p", {}, h("span", { title: sentence }, sentence), " ", h("button", { class: "tool", type: "button", onclick: () => go(key) }, `Show line ${line}`));
}
