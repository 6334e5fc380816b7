import type { Kernel } from "./document/kernel";
import { rowsOf } from "./document/csr";

/** What is lit: all of a line, with the lines it was inlined into; or what is exactly one instruction. */
export interface Light {
  key: number;
  /** What is exactly one instruction, as selectors of rows (`.slot2 .R15`); null lights by line. */
  exact: string[] | null;
}

export const DARK: Light = { key: -1, exact: null };

/**
 * Two style sheets of the shadow root, one rule each: what is hovered and what is pinned. Lines in view carry classes made
 * of numbers (`L12`: from the line of key 12; `C12`: called from it; `S12`: the source line; `R12`: the row), so that
 * lighting them touches no editor.
 */
export class Lighting {
  private readonly hoverSheet = new CSSStyleSheet();
  private readonly pinSheet = new CSSStyleSheet();
  pinned = DARK;

  constructor(root: ShadowRoot) {
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, this.hoverSheet, this.pinSheet];
  }

  hover(kernel: Kernel, light: Light): void {
    this.hoverSheet.replaceSync(this.pinned.key < 0 ? rules(kernel, light, "lit") : rules(kernel, light, "outlined"));
  }

  /** Nothing is lit. */
  clear(): void {
    this.pinned = DARK;
    this.hoverSheet.replaceSync("");
    this.pinSheet.replaceSync("");
  }

  /** `selected` is the selector of the row itself that was pinned; `marks` are rules for rows that it is tied to. */
  pin(kernel: Kernel, light: Light, selected: string | null, marks: string): void {
    this.pinned = light;
    this.hoverSheet.replaceSync("");
    this.pinSheet.replaceSync(
      rules(kernel, light, "lit") + (selected === null ? "" : `${selected}{${SELECTED}}`) + marks,
    );
  }
}

/** What stands on amber is darker (light theme) or paler (dark): 4.5:1 at least. */
const ON_AMBER =
  "--soft:var(--pin-soft);--m:var(--pin-m);--c:var(--pin-m);--w:var(--pin-w);--n:var(--pin-n);--s:var(--pin-n);--r:var(--pin-r);--k:var(--pin-k);--f:var(--pin-f);--wait:var(--pin-wait)";
const LIT = `background:var(--pin)!important;${ON_AMBER};--bar:var(--pin-rule);--bar-style:solid`;
const PALE = "background:var(--via)!important;--bar:var(--pin-rule);--bar-style:dotted;--soft:var(--pin-soft);--m:var(--pin-m)";
const OUTLINED = "outline:1px solid var(--pin-rule);outline-offset:-1px";
const SELECTED = `background:var(--sel)!important;${ON_AMBER};outline:1.5px solid var(--pin-rule);outline-offset:-1.5px`;

/** A clicked register: where another value stands in it, where its value is read, and where it is written. */
export const SAME = "text-decoration:underline dotted var(--accent);text-underline-offset:3px";
export const READ = "outline:1px solid var(--accent);outline-offset:-1px;border-radius:2px;background:var(--paper);color:var(--accent);text-decoration:none";
export const WRITTEN = "background:var(--accent);color:var(--paper);border-radius:2px;text-decoration:none";
export const BOTH = `${WRITTEN};outline:1px solid var(--ink);outline-offset:0`;

function rules(kernel: Kernel, light: Light, how: "lit" | "outlined"): string {
  const { key, exact } = light;
  if (key < 0 && exact === null) return "";
  const body = how === "lit" ? LIT : OUTLINED;
  // The sheets' last word: a row that is lit is not pale, too.
  const lit = exact ?? [`.L${key}`];
  if (exact !== null && key >= 0) lit.push(`.source .L${key}`);
  let text = "";
  if (how === "lit" && key >= 0) {
    const callers = rowsOf(kernel.places.callers, key);
    const pale = Array.from(callers.subarray(0, 200), (caller) => `.S${caller}`);
    if (exact === null) pale.push(`.C${key}`);
    if (pale.length > 0) text += `${pale.join()}{${PALE}}`;
  }
  return lit.length > 0 ? `${text}${lit.join()}{${body}}` : text;
}
