import { h } from "../../dom";

/** One kernel has nothing to be compared with: a notebook shows the panes alone. */
export class Views {
  readonly element = h("section", { hidden: true });
  readonly buttons = h("div", { class: "views" });

  show(): void {}

  turn(): void {}
}
