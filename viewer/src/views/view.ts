import { h } from "../dom";

/** What can stand where the panes are. */
export interface View {
  /** In the address. */
  readonly name: string;
  /** On its button. */
  readonly title: string;
  readonly hint: string;
  readonly element: HTMLElement;
  /** It comes into sight, or what is chosen has changed. */
  show(): void;
}

/** A table with a caption for those who do not see it. */
export function table(caption: string, heads: (string | Node)[], rows: HTMLElement[]): HTMLElement {
  return h(
    "table",
    {},
    h("caption", { class: "spoken" }, caption),
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...rows),
  );
}

/** A figure with its sign; a dash where there is none. */
export function signed(value: number): string {
  return value === 0 ? "0" : value > 0 ? `+${value.toLocaleString("en-US")}` : `−${(-value).toLocaleString("en-US")}`;
}
