import { fill, h } from "../dom";
import type { Linked } from "../panes/linked";

export type Kind = "source" | "stage" | "code";

export const NAMES: Record<Kind, string> = { source: "Source", stage: "Stage", code: "Machine code" };

/** A place for a pane: its head with tabs, its body with a pane or a message. It is folded where it has nothing to say. */
export class Slot {
  readonly element: HTMLElement;
  readonly tabs = h("div", { class: "tabs", role: "group" });
  readonly told = h("em", { class: "told" });
  readonly tools = h("span", { class: "tools" });
  /** Leads to the panes that share this place. */
  readonly pair = h("div", { class: "tabs pair", role: "group", "aria-label": "Other panes here", hidden: true });
  private readonly note = h("p", { class: "note", hidden: true });
  private readonly body = h("div", { class: "body" });
  private readonly bar = h("div", { class: "progress", hidden: true, "aria-hidden": "true" });
  linked: Linked | null = null;
  /** The stage that is shown in a stage's slot; "" is the first there is. */
  stage = "";
  /** The file that is shown in a source's slot; "" where the kernel has none. */
  path = "";
  /** What its tab says where there is room for one pane. */
  label: string;
  /** Why the slot is folded, by who folded it; the reader may unfold it. */
  private readonly folds = new Map<string, string>();
  private isOpened = false;
  share = 0;

  constructor(
    readonly number: number,
    readonly kind: Kind,
    private readonly changed: () => void,
  ) {
    this.label = NAMES[kind];
    this.element = h("section", { class: `pane ${kind}-pane slot${number}`, "aria-label": NAMES[kind] });
    this.tabs.setAttribute("aria-label", `${NAMES[kind]}: what is shown`);
    const tabs = kind === "stage" ? [this.pair, this.tabs] : [this.tabs, this.pair];
    this.element.append(h("div", { class: "head" }, ...tabs, this.told, this.tools), this.bar, this.note, this.body);
  }

  /** Whether it gives its width away. */
  get isFolded(): boolean {
    return this.folds.size > 0 && !this.isOpened;
  }

  /** Why it is folded; "" where it is not. */
  get reason(): string {
    return this.isFolded ? (Array.from(this.folds.values()).at(-1) ?? "") : "";
  }

  /** Gives the pane's width to the others: `by` is who folds it, and who lets it unfold again. Opened by the reader it stays so. */
  fold(by: string, reason: string): void {
    const isNew = !this.folds.has(by);
    this.folds.set(by, reason);
    if (isNew) this.changed();
  }

  unfold(by: string): void {
    if (!this.folds.delete(by)) return;
    this.isOpened = false;
    this.changed();
  }

  /** The reader wants to see it all the same. */
  open(): void {
    this.isOpened = true;
  }

  show(linked: Linked): void {
    this.bar.hidden = true;
    const before = this.linked;
    if (before === linked) return;
    // The same text made anew, by another compile or in other words, goes on where the reader was.
    const isSame = before?.title === linked.title && before.kernel.name === linked.kernel.name;
    const isAtTop = before?.kind === "source" && before.pane.isAtTop;
    const first = isSame && !isAtTop ? before.pane.first : 0;
    this.leave();
    this.linked = linked;
    fill(this.body, linked.pane.element);
    // A cursor would open what is folded there.
    if (first > 0 && linked.kind === "source") linked.pane.scrollTo(first);
    else if (first > 0) linked.pane.show(first, "start");
  }

  /** Ends the pane, unless somebody else holds on to it. */
  leave(): void {
    if (this.linked?.isHeld === false) this.linked.pane.destroy();
    this.linked = null;
  }

  /** A sentence in place of a pane, with what to do about it. */
  message(...parts: (Node | string)[]): void {
    this.leave();
    this.bar.hidden = true;
    this.told.textContent = "";
    this.warn(null);
    fill(this.body, h("div", { class: "message" }, ...parts));
  }

  /** What stands above the pane, or nothing; `draw` changes what it holds. The text stays where it is on the screen. */
  above(element: HTMLElement | null, draw: () => void): void {
    const scroller = this.linked?.pane.view.scrollDOM;
    const top = scroller?.getBoundingClientRect().top ?? 0;
    const old = this.body.previousElementSibling;
    if (old !== this.note && old !== element) old?.remove();
    if (element !== null && element.nextElementSibling !== this.body) this.body.before(element);
    draw();
    if (scroller !== undefined) scroller.scrollTop += scroller.getBoundingClientRect().top - top;
  }

  /** A sentence above a pane, whole; null for none. */
  warn(sentence: string | null): void {
    this.note.hidden = sentence === null;
    fill(this.note, sentence);
  }

  /** What stands below the pane: a list of the compiler's messages, or nothing. */
  below(element: HTMLElement | null): void {
    this.element.querySelector(":scope > .problems")?.remove();
    if (element !== null) this.element.append(element);
  }

  /** Says that something takes its time; what is shown stays until it is there. */
  busy(): void {
    this.bar.hidden = false;
  }

  rest(): void {
    this.bar.hidden = true;
  }
}

/** Makes these an element's children. What was the first stays in the page: whoever types there goes on. */
export function place(element: HTMLElement, parts: readonly HTMLElement[]): void {
  for (const child of Array.from(element.children)) if (!parts.includes(child as HTMLElement)) child.remove();
  parts.forEach((part, at) => element.children[at] !== part && element.insertBefore(part, element.children[at] ?? null));
}
