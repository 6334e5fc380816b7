import { DocumentError } from "../document/source";
import { h } from "../dom";

/** A sentence where there is nothing to see, and what to do about it. */
export function nothing(sentence: string, next: string | null = null): HTMLElement {
  return h("div", { class: "message" }, h("p", {}, sentence), next === null ? null : h("p", { class: "dim" }, next));
}

/** What a failure says, what to do next, and a button that tries again. */
export function failure(problem: unknown, again: () => void): (Node | string)[] {
  const known = problem instanceof DocumentError;
  const sentence = problem instanceof Error ? problem.message : String(problem);
  return [
    h("p", {}, known ? sentence : `This part could not be shown: ${sentence}`),
    known && problem.next !== null ? h("p", { class: "dim" }, problem.next) : "",
    h("button", { class: "tool", type: "button", onclick: again }, "Try again"),
  ];
}
