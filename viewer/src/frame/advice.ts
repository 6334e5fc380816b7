import type { Advice } from "../document/advice";
import type { Kernel } from "../document/kernel";
import { h, prose } from "../dom";

/** What is advised on a kernel, in a sheet: each sentence shows its line and lights its instructions. Below it, where a server
 * compiles, the panel that tries build options. */
export function adviceSheet(kernel: Kernel, show: (advice: Advice) => void, trials: HTMLElement | null): HTMLElement {
  const { advice, missing } = kernel;
  const items = advice.map((piece) =>
    h("li", {}, h("button", { class: "link", type: "button", onclick: () => show(piece) }, ...prose(piece.sentence)), h("p", { class: "dim" }, `Rule ${piece.rule}`)),
  );
  return h(
    "div",
    { class: "advice" },
    items.length === 0 ? h("p", {}, "No rule speaks of this kernel.") : h("ul", {}, ...items),
    missing.advice === null ? null : h("p", { class: "dim" }, `Some rules are silent: ${missing.advice}.`),
    trials,
  );
}

/** What is advised on one line; null if nothing is. */
export function adviceOfLine(kernel: Kernel, key: number, show: (advice: Advice) => void): HTMLElement | null {
  const pieces = key < 0 ? [] : kernel.advice.filter((piece) => piece.key === key);
  if (pieces.length === 0) return null;
  const words = pieces.map((piece) => h("p", {}, ...prose(piece.sentence), " ", h("button", { class: "link", type: "button", onclick: () => show(piece) }, "its instructions")));
  return h("div", { class: "w advised" }, h("span", { class: "lab" }, "Advice"), h("div", {}, ...words));
}
