import type { Kernel } from "../document/kernel";
import { h, plural } from "../dom";

/** Variables that are named. */
const MOST = 10;

/** Where the source's variables are at an instruction; null without debug data that tells it. */
export function variablesOf(kernel: Kernel, row: number): HTMLElement | null {
  if (kernel.code.variables === null || row < 0) return null;
  const { placed, others } = kernel.code.variables.at(row);
  if (placed.length + others === 0) return null;
  const body = h("div", { class: "more" });
  for (const { name, type, words } of placed.slice(0, MOST)) {
    body.append(h("p", {}, h("b", {}, name), type === null ? "" : ` ${type}`, ": ", h("code", {}, words)));
  }
  if (placed.length > MOST) body.append(h("p", {}, `And ${plural(placed.length - MOST, "more variable")}.`));
  if (others > 0) body.append(h("p", { class: "dim" }, `${plural(others, "other variable")} of this scope: no place here.`));
  return h("div", { class: "w variables" }, h("span", { class: "lab" }, "Variables"), body);
}
