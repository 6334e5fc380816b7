import type { Diagnostic } from "../document/schema";
import { h } from "../dom";

/** The compiler's messages as a list, or its log where it has none; null where there is nothing to read. `goTo` leads to a message's
 * place, and is null for one that is elsewhere. */
export function problemList(diagnostics: readonly Diagnostic[], log: string, goTo: (diagnostic: Diagnostic) => (() => void) | null): HTMLElement | null {
  const items = diagnostics.map((each) => {
    const { path, line, column, severity, message } = each;
    const where = line < 1 ? "" : `${path.slice(path.lastIndexOf("/") + 1)}:${line}:${column}`;
    const onclick = line < 1 ? null : goTo(each);
    const place = onclick === null ? h("span", { class: "mono" }, where) : h("button", { class: "link mono", type: "button", onclick }, where);
    return h("li", { class: severity }, place, h("span", {}, `${severity}: ${message}`));
  });
  if (items.length === 0 && log !== "") items.push(h("li", {}, h("pre", {}, log)));
  return items.length > 0 ? h("ul", { class: "problems", "aria-label": "What the compiler says", tabindex: "0" }, ...items) : null;
}
