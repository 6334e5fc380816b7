import { h } from "../../dom";

/** A notebook's output has no address, and may not open what prints it. */
export class Share {
  readonly button = h("span", { hidden: true });
  readonly element = h("span", { hidden: true });

  copyLink(): void {}
}
