import type { Advice } from "../document/advice";
import { rowsOf } from "../document/csr";
import { FROM_STAGE, type Kernel, ROUNDS } from "../document/kernel";
import { count, h, percent, plural, prose, sentence } from "../dom";
import { loopedOf } from "../panes/loops";
import { type Answer, blockAnswer, largestAt, writtenAnswer } from "./blockwise";
import { nextStep } from "./next_step";
import { certainWords, partsOf } from "./peak";

export type { Answer };

/** Of a kernel that was observed on data the line with the costliest cause of waste; of one that spills the line whose values hold
 * most registers at the peak, else that with the most bytes of spills; of others the line with the most instructions, those in loops
 * first. Where no line is known it is the block with the most; of code that cannot be decoded what its PTX tells. Null where nothing
 * is known. */
export function answerOf(kernel: Kernel): Answer | null {
  if (kernel.row < 0 || kernel.problem !== null) return null;
  const { code, weights, places, observed } = kernel;
  const ofLine = (key: number, words: string): Answer => ({ key, rows: null, stage: null, name: `line ${places.keyLine[key]}`, sentence: words });
  const cause = observed?.cause ?? null;
  if (cause !== null) return { ...ofLine(cause.key, `On its data, line ${places.keyLine[cause.key]}: ${cause.words}.`), next: `Try: ${cause.action}` };
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
  const end = endOf(kernel);
  const costliest = costliestOf(kernel, end);
  if (costliest === null) return code.count > 0 ? blockAnswer(kernel, end) : writtenAnswer(kernel);
  const { key, why } = costliest;
  const all = weights.instructions[key];
  const padding = rowsOf(code.own, key).filter((row) => row >= end).length;
  const fill = padding === 0 ? "" : `, ${count(padding)} of which ${padding === 1 ? "fills" : "fill"} the code up behind its end`;
  return ofLine(key, sentence(`${tellerOf(kernel, key)}, line ${places.keyLine[key]} has ${count(all)} of the ${count(code.count)} instructions (${percent(all, code.count)}%)${loopedOf(kernel, key)}${fill}: ${why}`));
}

/** The line whose instructions rank highest, and what no other has more of; null where no line has any. What only fills the code up
 * behind its end is no line's cost, though compilers give it the last line. */
function costliestOf({ code, weights }: Kernel, end: number): { key: number; why: string } | null {
  const fills = Array.from(weights.instructions, (_, key) => rowsOf(code.own, key).filter((row) => row >= end).length);
  const but = (values: ArrayLike<number>): number => largestAt(fills.map((filling, key) => values[key] - filling));
  const key = but(weights.rounds);
  if (key < 0) return null;
  if (largestAt(weights.instructions) === key) return { key, why: "no line has more" };
  if (but(weights.instructions) === key) return { key, why: `no line has more, but for the ${plural(code.count - end, "instruction")} that fill${code.count - end === 1 ? "s" : ""} the code up behind its end` };
  return { key, why: `no line has more${largestAt(weights.looped) === key ? " in loops" : `, with ${ROUNDS} rounds of each loop`}` };
}

/** Who tells that the instructions are of this line. */
function tellerOf({ code }: Kernel, key: number): string {
  const rows = rowsOf(code.own, key);
  const staged = rows.filter((row) => code.flags[row] & FROM_STAGE).length;
  return staged === 0 ? "by the line table" : staged < rows.length ? "by line table and stages" : "by the compile's stages";
}

/** The row behind the last instruction that does anything. */
function endOf({ code }: Kernel): number {
  let end = code.count;
  while (end > 0 && /^(nop[lw]?|s_nop|s_code_end)$/i.test(code.opcode(end - 1))) end--;
  return end;
}

/** The advice that a reader of the answer should have: that on its line, or on the whole kernel, which is of no line; null where there is none. */
export function adviceFor({ advice }: Kernel, { key }: Answer): Advice | null {
  return advice.find((piece) => piece.key === key) ?? advice.find((piece) => piece.key < 0) ?? null;
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
  const { name, sentence: words } = answer;
  const row = h("p", {}, h("span", { title: words }, ...prose(words)), " ", button(`Show ${name}`, () => void actions.goToAnswer(answer)));
  const piece = adviceFor(kernel, answer);
  const show = (label: string, shown: Advice | null): HTMLElement[] => (shown === null ? [] : [button(label, () => void actions.goToAdvice(shown))]);
  const next = answer.next ?? piece?.sentence ?? null;
  if (next !== null) return [row, ...reason, h("p", { class: "next" }, h("span", { title: next }, ...prose(next)), " ", ...show("Show advice", piece))];
  // What is said is of the answer's line; advice on another is a press away.
  const [other = null] = kernel.advice;
  const elsewhere = show(`Advice on line ${kernel.places.keyLine[other?.key ?? -1]}`, other);
  if (reason.length > 0) return [row, ...reason, ...(other === null ? [] : [h("p", { class: "next" }, ...elsewhere)])];
  return [row, nextStep(kernel, answer.key, actions.trialsOf(kernel), elsewhere)];
}

function button(label: string, press: () => void): HTMLElement {
  return h("button", { class: "tool", type: "button", onclick: press }, label);
}
