import { fill, h, keepingFocus } from "../dom";
import type { Linked } from "../panes/linked";
import { recall, remember } from "../remember";
import { type Kind, NAMES, place, Slot } from "./slot";

/** Three panes beside one another; two, of which the left has the others as tabs; one, with tabs. */
type Mode = "wide" | "medium" | "narrow";

const KINDS: readonly Kind[] = ["source", "stage", "code"];
/** What machine code leaves is divided among the others so. */
const PARTS: Record<Kind, string> = { source: "1.4fr", stage: "1fr", code: "1.6fr" };
/** The widest that machine code gets by itself, in percent of the panes: beside two others, and beside one, which is read first. */
const MOST = [48, 55];
/** What it leaves to the others, in pixels: a line of source is read in no less. */
const LEFT = 340;
/** Where three panes have room beside one another, and where there is room for one. */
const MEDIUM = "(max-width: 1599px)";
const NARROW = "(max-width: 760px)";

/** The panes, side by side or behind one another, with splitters between them that keys move, too. */
export class Layout {
  readonly element = h("main", {});
  private readonly panes = h("div", { role: "tablist", "aria-label": "Panes" });
  readonly switcher = h("section", { class: "switcher", "aria-label": "Panes" }, this.panes);
  slots: Slot[] = [];
  /** The slot that is shown where there is room for one, or for one beside the machine code. */
  private front = 0;
  private next = 0;
  private mode: Mode = "wide";
  /** Whether the reader has chosen the widths. */
  private isSized = false;
  private splitters: { element: HTMLElement; value(): number }[] = [];
  onChange: (slot: Slot | null) => void = () => undefined;

  constructor() {
    for (const kind of KINDS) this.add(kind);
    const medium = matchMedia(MEDIUM);
    const narrow = matchMedia(NARROW);
    const adapt = (): void => {
      this.mode = narrow.matches ? "narrow" : medium.matches ? "medium" : "wide";
      const shares = this.mode === "wide" ? (recall("widths") ?? "").split(",").map(Number) : [];
      this.isSized = shares.length === this.slots.length && shares.every((share) => share >= 5);
      if (this.isSized) this.slots.forEach((slot, index) => (slot.share = shares[index]));
      this.draw();
    };
    medium.addEventListener("change", adapt);
    narrow.addEventListener("change", adapt);
    adapt();
    // What was out of sight, as behind another view, has widths again.
    new ResizeObserver(() => this.fit()).observe(this.element);
  }

  of(kind: Kind): Slot | null {
    return this.slots.find((slot) => slot.kind === kind) ?? null;
  }

  slotOf(linked: Linked): Slot | null {
    return this.slots.find((slot) => slot.linked === linked) ?? null;
  }

  split(slot: Slot): Slot {
    const added = this.add(slot.kind, this.slots.indexOf(slot) + 1);
    this.isSized = false;
    added.path = slot.path;
    this.draw();
    return added;
  }

  /** Kinds of panes that were closed. */
  get closed(): Kind[] {
    return KINDS.filter((kind) => this.of(kind) === null);
  }

  /** Brings a pane back that was closed, to where it stood at the beginning. */
  open(kind: Kind): void {
    const after = KINDS.slice(0, KINDS.indexOf(kind));
    this.front = this.slots.findLastIndex((slot) => after.includes(slot.kind)) + 1;
    this.add(kind, this.front);
    this.isSized = false;
    this.draw();
  }

  close(slot: Slot): void {
    if (this.slots.length < 2) return;
    slot.leave();
    this.slots = this.slots.filter((each) => each !== slot);
    this.isSized = false;
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
    const isShown = this.shown().includes(slot);
    this.front = this.slots.indexOf(slot);
    if (isShown) return;
    slot.open();
    this.draw();
  }

  private add(kind: Kind, at = this.slots.length): Slot {
    const slot = new Slot(this.next++, kind, () => this.draw());
    this.slots.splice(at, 0, slot);
    return slot;
  }

  /** The slots that there is room for: one that has nothing to show gives its room to the others. */
  private shown(): Slot[] {
    const { slots } = this;
    const open = slots.filter(({ isFolded }) => !isFolded);
    const front = slots[this.front] ?? slots[0];
    if (this.mode === "narrow") return [front];
    if (open.length === 0) return [front];
    if (this.mode === "wide" || open.every(({ kind }) => kind !== "code")) return open;
    const left = open.filter(({ kind }) => kind !== "code");
    const shown = left.includes(front) ? front : left[0];
    return open.filter((slot) => slot.kind === "code" || slot === shown);
  }

  private draw(): void {
    const shown = this.shown();
    const parts: HTMLElement[] = [];
    this.splitters = [];
    shown.forEach((slot, index) => {
      if (index > 0) parts.push(this.splitter(shown[index - 1], slot));
      parts.push(slot.element);
      this.pairUp(slot, shown);
    });
    // What is put elsewhere would begin at its top again.
    const views = this.slots.flatMap(({ linked }) => (linked?.pane.element.isConnected ? [linked.pane.view] : []));
    const places = views.map((view) => view.scrollSnapshot());
    keepingFocus(this.element, () => place(this.element, parts));
    views.forEach((view, at) => view.dispatch({ effects: places[at] }));
    this.tabs();
    this.fit();
    for (const { linked } of shown) {
      linked?.pane.moveAway();
      linked?.pane.view.requestMeasure();
    }
    this.onChange(null);
  }

  /** The tabs of the panes, where one is shown. */
  tabs(): void {
    const shown = this.shown();
    fill(this.panes, ...(this.mode === "narrow" ? this.slots.map((slot) => this.tab(slot, shown[0])) : []));
    this.switcher.hidden = this.mode !== "narrow";
    for (const slot of shown) this.pairUp(slot, shown);
  }

  /** Offers what is out of sight in the head of the first pane, with the reason where there is one. */
  private pairUp(slot: Slot, shown: readonly Slot[]): void {
    const behind = this.mode !== "narrow" && slot === shown[0] ? this.slots.filter((other) => !shown.includes(other)) : [];
    slot.pair.hidden = behind.length === 0;
    fill(slot.pair, ...behind.map((other) => h("button", { type: "button", class: "tab", title: other.reason, onclick: () => this.bringToFront(other) }, other.label)));
  }

  private tab(slot: Slot, front: Slot): HTMLElement {
    return h(
      "button",
      { type: "button", role: "tab", class: "tab", "aria-selected": String(slot === front), onclick: () => this.bringToFront(slot) },
      slot.label,
    );
  }

  /** Gives the machine code its width first, and what is left to the others; or each what the reader chose. */
  fit(): void {
    const code = this.of("code")?.linked;
    const before = code?.width ?? 0;
    this.divide();
    // What was not on the screen has a width from now on.
    if (before === 0 && (code?.width ?? 0) > 0) this.divide();
  }

  private divide(): void {
    const shown = this.shown();
    const most = MOST[shown.length > 2 ? 0 : 1];
    const tracks = shown.map((slot) => {
      if (this.isSized) return `minmax(0,${slot.share}fr)`;
      const need = slot.kind === "code" && shown.length > 1 ? (slot.linked?.width ?? 0) : 0;
      return need > 0 ? `minmax(0,min(${need}px,${most}%,100% - ${LEFT}px))` : `minmax(0,${PARTS[slot.kind]})`;
    });
    const columns = tracks.join(" 5px ");
    this.element.style.gridTemplateColumns = columns;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const { element, value } of this.splitters) element.setAttribute("aria-valuenow", String(value()));
    });
  }

  private frame = 0;

  /** Between two slots. */
  private splitter(left: Slot, right: Slot): HTMLElement {
    const value = (): number => {
      const widths = [left, right].map((slot) => slot.element.offsetWidth);
      return Math.round((100 * widths[0]) / Math.max(1, widths[0] + widths[1]));
    };
    const element = h("div", {
      class: "splitter",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": `Width of ${NAMES[left.kind]}`,
      "aria-valuemin": 10,
      "aria-valuemax": 90,
      "aria-valuenow": 50,
      title: "Drag, or arrow keys; a double click gives the machine code its own width",
    });
    const set = (share: number): void => {
      if (!this.isSized) for (const slot of this.slots) slot.share = slot.element.offsetWidth;
      this.isSized = true;
      const bounded = Math.min(90, Math.max(10, share));
      const both = left.share + right.share;
      left.share = (both * bounded) / 100;
      right.share = both - left.share;
      this.fit();
      element.setAttribute("aria-valuenow", String(Math.round(bounded)));
      const all = this.slots.reduce((sum, slot) => sum + slot.share, 0);
      if (this.mode === "wide" && this.slots.length === 3) remember("widths", this.slots.map((slot) => ((100 * slot.share) / all).toFixed(1)).join());
    };
    element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
      if (step === undefined) return;
      set(Number(element.getAttribute("aria-valuenow")) + step);
      event.preventDefault();
      event.stopPropagation();
    });
    element.addEventListener("dblclick", () => {
      this.isSized = false;
      if (this.mode === "wide") remember("widths", "");
      this.fit();
    });
    this.splitters.push({ element, value });
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      const move = (to: PointerEvent): void => {
        const first = left.element.getBoundingClientRect();
        const last = right.element.getBoundingClientRect();
        set((100 * (to.clientX - first.left)) / (last.right - first.left));
      };
      element.addEventListener("pointermove", move);
      element.addEventListener("lostpointercapture", () => element.removeEventListener("pointermove", move), { once: true });
      event.preventDefault();
    });
    return element;
  }
}
