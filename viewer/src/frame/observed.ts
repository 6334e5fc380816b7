import type { Kernel } from "../document/kernel";
import { h } from "../dom";
import { drawRequest } from "./request";

/** What an interpreter counted of a line; null where nothing was observed. */
export function observedOfLine({ observed }: Kernel, key: number): HTMLElement | null {
  if (observed === null) return null;
  const words = observed.words.get(key) ?? ["This line did not run, or the interpreter's program has no code of it."];
  const sentences = observed.sentences.map((each) => h("p", { class: "dim" }, each));
  const drawn = (observed.requests.get(key) ?? []).map(drawRequest);
  const body = h("div", {}, ...words.map((each) => h("p", {}, each)), ...drawn, ...sentences, ...observed.faults.map((each) => h("p", {}, `Fault: ${each}`)));
  return h("div", { class: "w" }, h("span", { class: "lab" }, "On data"), body);
}
