import { h } from "../../dom";

/** The list of a notebook's one kernel keeps its width. */
export function splitter(): HTMLElement {
  return h("span", { hidden: true });
}
