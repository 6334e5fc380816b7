import type { HttpSource } from "../document/http";
import { fill, h } from "../dom";

/** A banner that says when files that the server read are no longer what they were. It asks when the reader comes back to the page. */
export function changedFiles(source: HttpSource): HTMLElement {
  const banner = h("div", { class: "banner", role: "alert", hidden: true });
  let known = "";
  const look = async (): Promise<void> => {
    const changed = await source.changed();
    const names = changed.map((path) => path.slice(path.lastIndexOf("/") + 1)).join(", ");
    if (names === known) return;
    known = names;
    const sentence = `${names} changed after kernlens serve had read ${changed.length === 1 ? "it" : "them"}: this page shows what was read. To see what is there now, start kernlens serve again. `;
    fill(banner, sentence, h("button", { class: "tool", type: "button", onclick: () => (banner.hidden = true) }, "Close"));
    banner.hidden = names === "";
  };
  // A server that is gone is said where something is asked of it.
  const soon = (): void => void (document.visibilityState === "visible" && look().catch(() => undefined));
  document.addEventListener("visibilitychange", soon);
  window.addEventListener("focus", soon);
  return banner;
}
