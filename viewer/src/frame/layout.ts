import { fill, h, keepingFocus } from "../dom";
import type { Linked } from "../panes/linked";
import { recall, remember } from "../remember";

export type Kind = "source" | "stage" | "code";
type Mode = "wide" | "medium" | "narrow";

export const NAMES: Record<Kind, string> = { source: "Source", stage: "Stage", code: "Machine code" };
const KINDS: readonly Kind[] = ["source", "stage", "code"];
const FIRST: Record<Kind, number> = { source: 30, stage: 24, code: 46 };

/** A place for a pane: its head with tabs, its body with a pane or a message. */
export class Slot {
  readonly element: HTMLElement;
  readonly tabs = h("div", { class: "tabs", role: "group" });
  readonly told = h("em", { class: "told" });
  readonly tools = h("span", { class: "tools" });
  private readonly body = h("div", { class: "body" });
  private readonly bar = h("div", { class: "progress", hidden: true, "aria-hidden": "true" });
  linked: Linked | null = null;
  /** The stage that is shown in a stage's slot; "" is the first there is. */
  stage = "";
  /** The file that is shown in a source's slot; "" where the kernel has none. */
  path = "";
  share: number;

  constructor(
    readonly number: number,
    readonly kind: Kind,
  ) {
    this.share = FIRST[kind];
    this.element = h("section", { class: `pane ${kind}-pane slot${number}`, "aria-label": NAMES[kind] });
    this.tabs.setAttribute("aria-label", `${NAMES[kind]}: what is shown`);
    this.element.append(h("div", { class: "head" }, this.tabs, this.told, this.tools), this.bar, this.body);
  }

  show(linked: Linked): void {
    this.bar.hidden = true;
    const before = this.linked;
    if (before === linked) return;
    // The same text made anew, by another compile or in other words, goes on where the reader was.
    const isSame = before?.title === linked.title && before.kernel.name === linked.kernel.name;
    const first = isSame ? before.pane.first : 0;
    this.leave();
    this.linked = linked;
    fill(this.body, linked.pane.element);
    if (first > 0) linked.pane.show(first, "start");
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
    fill(this.body, h("div", { class: "message" }, ...parts));
  }

  /** What stands above the pane, or nothing; `draw` changes what it holds. The text stays where it is on the screen. */
  above(element: HTMLElement | null, draw: () => void): void {
    const scroller = this.linked?.pane.view.scrollDOM;
    const top = scroller?.getBoundingClientRect().top ?? 0;
    const old = this.body.previousElementSibling;
    if (old !== this.bar && old !== element) old?.remove();
    if (element !== null && element.nextElementSibling !== this.body) this.body.before(element);
    draw();
    if (scroller !== undefined) scroller.scrollTop += scroller.getBoundingClientRect().top - top;
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
function place(element: HTMLElement, parts: readonly HTMLElement[]): void {
  for (const child of Array.from(element.children)) if (!parts.includes(child as HTMLElement)) child.remove();
  parts.forEach((part, at) => element.children[at] !== part && element.insertBefore(part, element.children[at] ?? null));
}

/** The panes, side by side or below one another, with splitters between them that keys move, too. */
export class Layout {
  readonly element = h("main", {});
  readonly switcher = h("div", { class: "switcher", role: "tablist", "aria-label": "Panes" });
  slots: Slot[] = [];
  /** The slot that is shown where there is room for one. */
  private front = 0;
  private top: number;
  private next = 0;
  private mode: Mode = "wide";
  private readonly folded = new Set<Kind>();
  onChange: (slot: Slot | null) => void = () => undefined;

  constructor() {
    this.top = Number(recall("top") ?? "44");
    for (const kind of KINDS) this.add(kind);
    const shares = (recall("sizes") ?? "").split(",").map(Number);
    if (shares.length === 3 && shares.every((share) => share >= 5)) this.slots.forEach((slot, index) => (slot.share = shares[index]));
    const medium = matchMedia("(max-width: 1000px)");
    const narrow = matchMedia("(max-width: 640px)");
    const adapt = (): void => {
      this.mode = narrow.matches ? "narrow" : medium.matches ? "medium" : "wide";
      this.draw();
    };
    medium.addEventListener("change", adapt);
    narrow.addEventListener("change", adapt);
    adapt();
  }

  of(kind: Kind): Slot | null {
    return this.slots.find((slot) => slot.kind === kind) ?? null;
  }

  slotOf(linked: Linked): Slot | null {
    return this.slots.find((slot) => slot.linked === linked) ?? null;
  }

  split(slot: Slot): Slot {
    const added = this.add(slot.kind, this.slots.indexOf(slot) + 1);
    added.share = slot.share;
    added.path = slot.path;
    this.draw();
    return added;
  }

  /** Kinds of panes that were closed. */
  get closed(): Kind[] {
    return KINDS.filter((kind) => this.of(kind) === null || this.folded.has(kind));
  }

  /** Gives the width of panes of a kind to the others, where they stand side by side; or gives it back. */
  fold(kind: Kind, isFolded: boolean): void {
    if (this.folded.has(kind) === isFolded) return;
    if (isFolded) this.folded.add(kind);
    else this.folded.delete(kind);
    this.draw();
  }

  /** Brings a pane back that was closed, to where it stood at the beginning. */
  open(kind: Kind): void {
    if (this.folded.has(kind)) return this.fold(kind, false);
    const after = KINDS.slice(0, KINDS.indexOf(kind));
    this.front = this.slots.findLastIndex((slot) => after.includes(slot.kind)) + 1;
    this.add(kind, this.front);
    this.draw();
  }

  close(slot: Slot): void {
    if (this.slots.length < 2) return;
    slot.leave();
    this.slots = this.slots.filter((each) => each !== slot);
    this.front = 0;
    this.draw();
  }

  /** Exchanges a slot with the one at its right. */
  swap(slot: Slot): void {
    const at = this.slots.indexOf(slot);
    const other = (at + 1) % this.slots.length;
    [this.slots[at], this.slots[other]] = [this.slots[other], this.slots[at]];
    this.draw();
  }

  /** Brings the next slot to the front and gives it the focus. */
  step(by: number): void {
    const root = this.element.getRootNode() as ShadowRoot;
    const at = this.slots.findIndex(({ element }) => element.contains(root.activeElement));
    const slot = this.slots[(Math.max(0, at) + (at < 0 ? 0 : by) + this.slots.length) % this.slots.length];
    this.bringToFront(slot);
    slot.linked?.pane.focus();
  }

  bringToFront(slot: Slot): void {
    this.front = this.slots.indexOf(slot);
    if (this.mode === "narrow") this.draw();
  }

  private add(kind: Kind, at = this.slots.length): Slot {
    const slot = new Slot(this.next++, kind);
    this.slots.splice(at, 0, slot);
    return slot;
  }

  private draw(): void {
    const { style } = this.element;
    const shown = this.mode === "narrow" ? [this.slots[this.front] ?? this.slots[0]] : this.slots.filter(({ kind }) => !this.folded.has(kind));
    const above = this.mode === "medium" && shown.length > 1 ? 1 : 0;
    const row = shown.slice(above);
    const parts: HTMLElement[] = [];
    style.gridTemplateRows = above > 0 ? `minmax(0,${this.top}fr) 5px minmax(0,${100 - this.top}fr)` : "minmax(0,1fr)";
    style.gridTemplateColumns = row.map(({ share }) => `minmax(0,${share}fr)`).join(" 5px ");
    if (above > 0) {
      parts.push(shown[0].element, this.splitter(shown[0], null));
    }
    row.forEach((slot, index) => {
      if (index > 0) parts.push(this.splitter(row[index - 1], slot));
      parts.push(slot.element);
    });
    shown.forEach((slot, index) => (slot.element.style.gridColumn = index < above ? "1 / -1" : ""));
    // What is put elsewhere would begin at its top again.
    const views = this.slots.flatMap(({ linked }) => (linked?.pane.element.isConnected ? [linked.pane.view] : []));
    const places = views.map((view) => view.scrollSnapshot());
    keepingFocus(this.element, () => place(this.element, parts));
    views.forEach((view, at) => view.dispatch({ effects: places[at] }));
    fill(this.switcher, ...(this.mode === "narrow" ? this.slots.map((slot) => this.tab(slot, shown[0])) : []));
    this.switcher.hidden = this.mode !== "narrow";
    for (const { linked } of shown) {
      linked?.pane.moveAway();
      linked?.pane.view.requestMeasure();
    }
    this.onChange(null);
  }

  private tab(slot: Slot, front: Slot): HTMLElement {
    return h(
      "button",
      { type: "button", role: "tab", class: "tab", "aria-selected": String(slot === front), onclick: () => this.bringToFront(slot) },
      NAMES[slot.kind],
    );
  }

  /** Between two slots, or (without `right`) below the first. */
  private splitter(left: Slot, right: Slot | null): HTMLElement {
    const vertical = right === null;
    const value = (): number => Math.round(vertical ? this.top : (100 * left.share) / (left.share + (right?.share ?? 0)));
    const element = h("div", {
      class: vertical ? "splitter across" : "splitter",
      role: "separator",
      tabindex: "0",
      "aria-orientation": vertical ? "horizontal" : "vertical",
      "aria-label": vertical ? `Height of ${NAMES[left.kind]}` : `Width of ${NAMES[left.kind]}`,
      "aria-valuemin": 10,
      "aria-valuemax": 90,
      "aria-valuenow": value(),
      title: "Drag, or arrow keys",
    });
    if (vertical) element.style.gridColumn = "1 / -1";
    const set = (share: number): void => {
      const bounded = Math.min(90, Math.max(10, share));
      if (right === null) {
        this.top = bounded;
        this.element.style.gridTemplateRows = `minmax(0,${this.top}fr) 5px minmax(0,${100 - this.top}fr)`;
      } else {
        const both = left.share + right.share;
        left.share = (both * bounded) / 100;
        right.share = both - left.share;
        const row = this.slots.slice(this.mode === "medium" ? 1 : 0);
        this.element.style.gridTemplateColumns = row.map((slot) => `minmax(0,${slot.share}fr)`).join(" 5px ");
      }
      element.setAttribute("aria-valuenow", String(value()));
      remember("top", String(this.top));
      if (this.slots.length === 3) remember("sizes", this.slots.map((slot) => slot.share.toFixed(1)).join());
    };
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
      if (step === undefined) return;
      set(value() + step);
      event.preventDefault();
      event.stopPropagation();
    });
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      const move = (to: PointerEvent): void => {
        const first = left.element.getBoundingClientRect();
        const last = vertical ? this.element.getBoundingClientRect() : (right as Slot).element.getBoundingClientRect();
        if (vertical) set((100 * (to.clientY - first.top)) / (last.bottom - first.top));
        else set((100 * (to.clientX - first.left)) / (last.right - first.left));
      };
      element.addEventListener("pointermove", move);
      element.addEventListener("lostpointercapture", () => element.removeEventListener("pointermove", move), { once: true });
      event.preventDefault();
    });
    return element;
  }
}
