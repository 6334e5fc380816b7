import type { LiveRegister } from "../document/registers";
import { h } from "../dom";

/** A field for a register that is live at the peak: whose values it holds there, and who wrote them. */
export function peakField<Part extends { live: LiveRegister[] }>(parts: readonly Part[], titleOf: (part: Part) => string, item: (live: LiveRegister) => HTMLElement): HTMLElement[] {
  const field = h("input", { type: "search", class: "mono", placeholder: "r32", "aria-label": "Register at the peak", autocomplete: "off", spellcheck: "false" });
  const answer = h("div", { role: "status" });
  field.addEventListener("input", () => {
    const number = /^\s*r?(\d{1,3})\s*$/i.exec(field.value)?.[1];
    const held = parts.flatMap((part) => part.live.filter(({ register }) => register === Number(number)).map((live) => h("section", {}, h("h3", {}, titleOf(part)), h("ol", { class: "registers" }, item(live)))));
    if (held.length > 0) answer.replaceChildren(...held);
    else answer.textContent = field.value.trim() === "" ? "" : number === undefined ? "Registers are called r0, r1 and so on." : `r${Number(number)} holds no value there.`;
  });
  return [h("p", {}, h("label", {}, "Register ", field)), answer];
}
