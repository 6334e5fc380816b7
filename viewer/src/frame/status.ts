import type { Kernel } from "../document/kernel";
import { count, fill, h, plural, visible } from "../dom";

/** The bar at the bottom: what is pinned, which keys do what now, how far the map reaches; and what a screen reader is told. */
export class Status {
  readonly element = h("footer", {});
  private readonly pinned = h("span", { class: "pinned" });
  private readonly keys = h("span", { class: "keys" });
  private readonly coverage = h("span", { class: "coverage" });
  private readonly told = h("span", { class: "told" });
  private readonly spoken = h("div", { class: "spoken", role: "status", "aria-live": "polite" });
  private timer = 0;
  private speaking = 0;

  constructor(help: () => void) {
    this.element.append(
      this.pinned,
      this.told,
      this.keys,
      this.coverage,
      h("button", { class: "help", type: "button", onclick: help }, h("kbd", {}, "?"), " keys"),
      this.spoken,
    );
  }

  /** A sentence for the eye and the ear, which goes after a while. */
  tell(sentence: string): void {
    this.told.textContent = this.told.title = visible(sentence);
    this.say(sentence, 0);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => (this.told.textContent = ""), 6000);
  }

  /** A sentence for the ear alone; of several in a row, the last. */
  say(sentence: string, after = 300): void {
    clearTimeout(this.speaking);
    this.speaking = window.setTimeout(() => (this.spoken.textContent = visible(sentence)), after);
  }

  pin(sentence: string | null): void {
    fill(this.pinned, sentence === null ? null : `● ${sentence}`);
    const keys = sentence === null ? "hover lights, click pins" : "n N next lit line · Esc unpin";
    fill(this.keys, h("span", { class: "letter" }, keys), h("span", { class: "typing" }, "what you type edits the source · Esc leaves it"));
  }

  cover(kernel: Kernel | null): void {
    const words = kernel === null ? "" : coverageWords(kernel);
    const short = kernel === null ? "" : shortWords(kernel);
    this.coverage.title = words;
    fill(this.coverage, h("span", { class: "long" }, words), h("span", { class: "short", "aria-hidden": "true" }, short));
  }
}

function shortWords({ coverage: { own, uncertain }, code }: Kernel): string {
  return `${count(own)} of ${count(code.count)} have a line${uncertain > 0 ? `, ${count(own - uncertain)} certain` : ""}`;
}

export function coverageWords(kernel: Kernel): string {
  const { own, uncertain, prologue, bare, inherited, none } = kernel.coverage;
  const all = kernel.code.count;
  if (all === 0) return "";
  const parts = [`${count(own)} of ${plural(all, "instruction")} ${own === 1 ? "has" : "have"} a line${uncertain > 0 ? "" : own === 1 ? " of its own" : " of their own"}`];
  if (uncertain > 0) parts.push(`${count(own - uncertain)} certain (the table leaves ${count(uncertain)} open)`);
  if (prologue > 0) parts.push(`${count(prologue)} of the prologue show${prologue === 1 ? "s" : ""} one that is not counted`);
  if (bare > 0) parts.push(`${count(bare)} of the prologue ${bare === 1 ? "has" : "have"} none`);
  if (inherited > 0) parts.push(`${count(inherited)} show${inherited === 1 ? "s" : ""} the line of an instruction beside ${inherited === 1 ? "it" : "them"}, as the compiler gave none`);
  if (none > 0) parts.push(`${count(none)} ${parts.length > 1 ? "more " : ""}${none === 1 ? "has" : "have"} none`);
  return parts.join(", ");
}
