import type { Advice } from "../document/advice";
import { rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import { count, h, percent, plural, prose } from "../dom";
import { type Answer, blockAnswer, inLoops, largestAt, writtenAnswer } from "./blockwise";
import { nextStep } from "./next_step";
import { certainWords, partsOf } from "./peak";

export type { Answer };

/** Of a kernel that spills the line whose values hold most registers at the peak, else the line with the most bytes of spills; of
 * others the line with the most instructions. Where no line is known it is the block with the most; of code that cannot be decoded
 * what its PTX tells. Null where nothing is known. */
export function answerOf(kernel: Kernel): Answer | null {
  if (kernel.row < 0 || kernel.problem !== null) return null;
  const { code, weights, places } = kernel;
  const ofLine = (key: number, sentence: string): Answer => ({ key, rows: null, stage: null, name: `line ${places.keyLine[key]}`, sentence });
  const spilling = largestAt(weights.spills);
  if (spilling >= 0) {
    const holding = code.peak === null ? undefined : partsOf(kernel, code.peak).find(({ key }) => key !== null && key >= 0);
    if (code.peak !== null && holding?.key != null) {
      const all = `${code.isLowerBound ? "at least" : "the"} ${count(code.peak.registers)} registers live at the peak`;
      return ofLine(holding.key, `Registers spill: line ${places.keyLine[holding.key]} holds ${holding.live.length} of ${all}${certainWords(kernel, holding)}.`);
    }
    const all = weights.spills.reduce((sum, bytes) => sum + bytes, 0);
    return ofLine(spilling, `Registers spill: line ${places.keyLine[spilling]} moves ${count(weights.spills[spilling])} of the ${count(all)} bytes to memory and back.`);
  }
  // What only fills the code up behind its end is no line's cost, though compilers give it the last line.
  const end = endOf(kernel);
  const instructions = weights.instructions.map((all, key) => all - rowsOf(code.own, key).filter((row) => row >= end).length);
  const costliest = largestAt(instructions);
  if (costliest < 0) return code.count > 0 ? blockAnswer(kernel, end) : writtenAnswer(kernel);
  const but = largestAt(weights.instructions) === costliest ? "" : `, but for the ${plural(code.count - end, "instruction")} that fill${code.count - end === 1 ? "s" : ""} the code up behind its end`;
  const share = `${count(instructions[costliest])} of the ${count(code.count)} instructions (${percent(instructions[costliest], code.count)}%)`;
  return ofLine(costliest, `By the line table, line ${places.keyLine[costliest]} has ${share}${inLoops(weights.depth[costliest])}: no line has more${but}.`);
}

/** The row behind the last instruction that does anything. */
function endOf({ code }: Kernel): number {
  let end = code.count;
  while (end > 0 && /^(nop[lw]?|s_nop|s_code_end)$/i.test(code.opcode(end - 1))) end--;
  return end;
}

/** The advice that a reader of the answer should have: that on its line, else the kernel's first; null where there is none. */
export function adviceFor({ advice }: Kernel, { key }: Answer): Advice | null {
  return advice.find((piece) => piece.key === key) ?? advice[0] ?? null;
}

/** Why no line of a kernel can be named, with what to do about it; null where one can be, or where there is no kernel. */
export function unanswered(kernel: Kernel): string | null {
  const { code, missing, row, problem, observed } = kernel;
  const answer = answerOf(kernel);
  const isOfCode = answer !== null && answer.key >= 0 && answer.stage === null;
  if (row < 0 || problem !== null || observed !== null || isOfCode) return null;
  const why = (code.count === 0 ? missing.code : null) ?? linesMissing(kernel);
  const what = answer !== null && answer.key >= 0 ? "What it is in machine code" : "Which line costs most";
  return `${what} is not known: ${why}${why.endsWith(".") ? "" : "."}`;
}

/** Why no source lines are known, with what to do about it. */
export function linesMissing({ missing, program, row }: Kernel): string {
  return program.reasons.get(String(row)) ?? missing.lines ?? "it has no line table";
}

/** What the row below the bars does. */
export interface AnswerActions {
  goToAnswer(answer: Answer): Promise<void>;
  goToAdvice(advice: Advice): Promise<void>;
  /** Opens the panel that tries build options; null where nothing compiles. */
  trialsOf(kernel: Kernel): (() => void) | null;
}

/** The row below the bars: the answer, what to do about it, and buttons that go there. */
export function answerRow(kernel: Kernel, actions: AnswerActions): HTMLElement[] {
  const answer = answerOf(kernel);
  const why = unanswered(kernel);
  const reason = why === null ? [] : [h("p", { class: "why" }, why)];
  if (answer === null) return reason;
  const { name, sentence } = answer;
  const row = h("p", {}, h("span", { title: sentence }, sentence), " ", h("button", { class: "tool", type: "button", onclick: () => void actions.goToAnswer(answer) }, `Show ${name}`));
  const piece = adviceFor(kernel, answer);
  if (piece === null) {
    if (reason.length > 0) return [row, ...reason];
    return [row, nextStep(kernel, answer.key, actions.trialsOf(kernel))];
  }
  const on = piece.key === answer.key || piece.key < 0 ? "" : `Line ${kernel.places.keyLine[piece.key]}: `;
  const advice = h("p", { class: "next" }, h("span", { title: piece.sentence }, on, ...prose(piece.sentence)), " ", h("button", { class: "tool", type: "button", onclick: () => void actions.goToAdvice(piece) }, "Show advice"));
  return [row, ...reason, advice];
}
