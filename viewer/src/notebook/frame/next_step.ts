import { h } from "../../dom";

/** A notebook compiles nothing, and says no more than that. */
export function nextStep(): HTMLElement {
  return h("p", { class: "next dim" }, "No rule of advice speaks of this kernel.");
}
