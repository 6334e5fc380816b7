import { Annotation, Compartment, EditorSelection, EditorState, type Extension, Text } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, type KeyBinding, keymap } from "@codemirror/view";

import { lastAtMost } from "../document/csr";
import { lineClasses, refresh } from "./classes";
import { type Canvas, Ruler } from "./ruler";
import { MOVING, TYPING } from "./typing";

export interface PaneOptions {
  root: ShadowRoot;
  /** The pane's accessible name. */
  label: string;
  /** One of the fixed classes of style/code.css. */
  kind: string;
  lines: string[];
  classOf(line: number): string;
  extensions: Extension[];
  onHover(line: number): void;
  onPin(line: number): void;
  onCursor(line: number): void;
  /** What a click on this element of a line does, where it does not pin the line. */
  meaning?(word: Element, line: number): (() => void) | null;
}

const READING = [EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ "aria-readonly": "true" })];

/** What an editor tells of: another text, Ctrl+Enter, Alt+Enter; and that letters are typed now, or keys again. */
export interface EditActions {
  change(): void;
  compile(): void;
  pin(): void;
  turned(): void;
}

/** A change of the text that nobody typed. */
const isOurs = Annotation.define<boolean>();

/** One text in CodeMirror: read-only until it is edited, lines counted from 0, with a ruler of marks at its right. */
export class Pane {
  readonly element: HTMLElement;
  readonly view: EditorView;
  readonly ruler: Ruler;
  /** Lines that a search found, ascending. */
  private hits: Int32Array | null = null;
  private readonly canvases: Canvas[] = [];
  private readonly size = new ResizeObserver(() => this.moveAway());
  /** Where the text begins on the screen, null after anything moved: asking has the page laid out within the hover. */
  private top: number | null = null;
  private pointer = -1;
  private frame = 0;
  private hovered = -1;
  /** The line that is on its way into sight; -1 without one. */
  private aimed = -1;
  private quiet = false;
  private readonly mode = new Compartment();
  /** What is typed here is compiled, and the text may be another than that which was read. */
  isEdited = false;
  isEditable = false;
  /** Whether letters are typed into the text: from `type` until Esc, or until the keyboard is elsewhere. */
  isTyping = false;
  private actions: EditActions | null = null;
  private readonly editor = new Compartment();

  constructor(private readonly options: PaneOptions) {
    this.element = document.createElement("div");
    this.element.className = `code ${options.kind}`;
    const state = EditorState.create({
      doc: Text.of(options.lines.length > 0 ? options.lines : [""]),
      extensions: [
        this.mode.of(READING),
        EditorView.contentAttributes.of({ tabindex: "0", role: "textbox", "aria-multiline": "true", "aria-label": options.label }),
        drawSelection({ cursorBlinkRate: 0 }),
        highlightActiveLine(),
        // Escapes, and what turns the direction of a line so that it reads otherwise than the compiler reads it.
        highlightSpecialChars({ addSpecialChars: /[\u202a-\u202c\u2068]/ }),
        MOVING,
        this.editor.of([]),
        lineClasses((line) => (this.isFound(line) ? `${options.classOf(line)} found` : options.classOf(line))),
        EditorView.updateListener.of((update) => {
          if (update.geometryChanged) this.top = null;
          if (update.geometryChanged || update.viewportChanged) this.ruler.canvas.schedule();
          if (update.selectionSet && !this.quiet) {
            const line = this.cursor;
            if (line !== update.startState.doc.lineAt(update.startState.selection.main.head).number - 1) options.onCursor(line);
          }
        }),
        ...options.extensions,
      ],
    });
    this.view = new EditorView({ state, parent: this.element, root: options.root });
    this.ruler = new Ruler(this.view, (line) => this.show(line));
    this.attach(this.ruler.canvas);
    // What moves a pane up or down makes it larger or smaller, too (but for an exchange: layout.ts).
    this.size.observe(this.element);
    const scroller = this.view.scrollDOM;
    scroller.addEventListener("mousemove", (event) => this.moved(event.clientY), { passive: true });
    scroller.addEventListener("mouseleave", () => this.leave(), { passive: true });
    scroller.addEventListener(
      "scroll",
      () => {
        this.top = null;
        this.ruler.canvas.schedule();
      },
      { passive: true },
    );
    // A line that is drawn anew under a pressed button, as the one that the cursor comes to, gets no click from the browser.
    scroller.addEventListener("mousedown", (event) => this.press(event), { capture: true });
    // What no mouse does is a click alone.
    scroller.addEventListener("click", (event) => event.detail === 0 && this.press(event, true));
  }

  get lineCount(): number {
    return this.view.state.doc.lines;
  }

  /** The first line in sight, behind what is folded there. */
  get first(): number {
    const { view } = this;
    const { from, to } = view.lineBlockAtHeight(view.scrollDOM.scrollTop);
    const { doc } = view.state;
    const line = doc.lineAt(from);
    return to <= line.to ? line.number - 1 : Math.min(doc.lineAt(to).number, doc.lines - 1);
  }

  get isAtTop(): boolean {
    return this.view.scrollDOM.scrollTop <= 0;
  }

  /** Brings a line to the top, or the fold that it is in. */
  scrollTo(line: number): void {
    const at = this.view.state.doc.line(Math.min(Math.max(0, line), this.lineCount - 1) + 1);
    this.view.dispatch({ effects: EditorView.scrollIntoView(at.from, { y: "start", x: "start" }) });
  }

  get isFocused(): boolean {
    return this.view.hasFocus;
  }

  /** The line of the cursor. */
  get cursor(): number {
    return this.view.state.doc.lineAt(this.view.state.selection.main.head).number - 1;
  }

  /** Puts a canvas at the pane's right, which lives as long as the pane. */
  attach(canvas: Canvas): void {
    this.canvases.push(canvas);
    this.element.append(canvas.element);
  }

  /** The pane is elsewhere on the screen. */
  moveAway(): void {
    this.top = null;
  }

  recolour(): void {
    for (const canvas of this.canvases) canvas.recolour();
  }

  focus(): void {
    this.view.focus();
  }

  /** Puts the cursor in a line, without telling so, and brings it into view. */
  show(line: number, where: "center" | "nearest" | "start" = "center"): void {
    const at = this.view.state.doc.line(Math.min(Math.max(0, line), this.lineCount - 1) + 1);
    this.quiet = true;
    this.aimed = line;
    // The editor scrolls when it measures next.
    this.view.requestMeasure({ read: () => (this.aimed = -1) });
    this.view.dispatch({
      selection: EditorSelection.cursor(at.from),
      effects: EditorView.scrollIntoView(at.from, { y: where, x: "start" }),
    });
    this.quiet = false;
  }

  /** Moves the cursor as a key would. */
  move(line: number): void {
    if (line < 0 || line >= this.lineCount) return;
    const at = this.view.state.doc.line(line + 1);
    this.view.dispatch({ selection: EditorSelection.cursor(at.from), scrollIntoView: true });
  }

  /** Marks the lines that a search found. */
  mark(hits: Int32Array | null): void {
    if (hits === this.hits) return;
    this.hits = hits;
    this.refresh();
  }

  private isFound(line: number): boolean {
    return this.hits !== null && this.hits[lastAtMost(this.hits, line)] === line;
  }

  /** What lines look like has changed. */
  refresh(): void {
    this.view.dispatch({ effects: refresh.of(null) });
  }

  /** Whether a line is in sight, whole. */
  sees(line: number): boolean {
    if (line === this.aimed) return true;
    const { scrollTop, clientHeight } = this.view.scrollDOM;
    const block = this.view.lineBlockAt(this.view.state.doc.line(line + 1).from);
    return block.top >= scrollTop && block.bottom <= scrollTop + clientHeight;
  }

  /** Lets the text be edited, once `type` is called: until then it is read, and no key writes into it. */
  edit(actions: EditActions): void {
    this.isEditable = true;
    this.actions = actions;
    this.element.classList.add("editable");
    this.view.contentDOM.addEventListener("focusout", () => queueMicrotask(() => this.isElsewhere && this.rest()));
    this.view.dispatch({
      effects: this.editor.reconfigure([
        TYPING,
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.every((transaction) => transaction.annotation(isOurs) === true)) actions.change();
        }),
      ]),
    });
  }

  /** Lets letters be typed where the cursor is. */
  type(): void {
    this.turn(true);
    // An element that had the keyboard as it was read gets no letters yet.
    this.view.contentDOM.blur();
    this.view.focus();
  }

  /** Lets no letter be typed any more. */
  rest(): void {
    this.turn(false);
  }

  /** Another window does not take the keyboard away from what is typed in. */
  private get isElsewhere(): boolean {
    return this.view.root.activeElement !== this.view.contentDOM;
  }

  private turn(isTyping: boolean): void {
    const { actions } = this;
    if (actions === null || this.isTyping === isTyping) return;
    this.isTyping = isTyping;
    this.element.classList.toggle("typed-in", isTyping);
    const bind = (key: string, act: () => void): KeyBinding => ({
      key,
      run: () => {
        act();
        return true;
      },
    });
    const keys = keymap.of([bind("Mod-Enter", actions.compile), bind("Alt-Enter", actions.pin), bind("Escape", () => this.rest())]);
    this.view.dispatch({ effects: this.mode.reconfigure(isTyping ? keys : READING) });
    actions.turned();
  }

  /** Makes the text another, by what differs alone: cursor, folds and marks stay with the rest. */
  setText(text: string): void {
    const now = this.view.state.doc.toString();
    if (now === text) return;
    let from = 0;
    const least = Math.min(now.length, text.length);
    while (from < least && now[from] === text[from]) from++;
    let same = 0;
    while (same < least - from && now[now.length - 1 - same] === text[text.length - 1 - same]) same++;
    this.view.dispatch({ changes: { from, to: now.length - same, insert: text.slice(from, text.length - same) }, annotations: isOurs.of(true) });
  }

  /** The pane is wider than it was: what its lines begin with comes back into sight, as far as the cursor stays there. */
  showCursor(): void {
    this.view.scrollDOM.scrollLeft = 0;
    this.view.dispatch({ effects: EditorView.scrollIntoView(this.view.state.selection.main.head, { x: "nearest", y: "nearest" }) });
  }

  /** Puts the cursor in a line, which stays where it is on the screen. */
  place(line: number): void {
    const { from, text } = this.view.state.doc.line(line + 1);
    this.view.dispatch({ selection: EditorSelection.cursor(from + text.length - text.trimStart().length) });
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.size.disconnect();
    for (const canvas of this.canvases) canvas.destroy();
    this.view.destroy();
  }

  lineAtY(clientY: number, top = this.view.documentTop): number {
    const height = clientY - top;
    if (height < 0 || height > this.view.contentHeight) return -1;
    return this.view.state.doc.lineAt(this.view.lineBlockAtHeight(height).from).number - 1;
  }

  /** At most one change of what is lit in a frame of the screen, and none while the line is the same. */
  private moved(clientY: number): void {
    this.pointer = clientY;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.top ??= this.view.documentTop;
      const line = this.lineAtY(this.pointer, this.top);
      if (line === this.hovered) return;
      this.hovered = line;
      this.options.onHover(line);
    });
  }

  private leave(): void {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    this.hovered = -1;
    this.options.onHover(-1);
  }

  /** What a click does is what stands under the pointer as the button goes down: the panes may move before it comes up. */
  private press({ target, button, detail, clientX, clientY }: MouseEvent, isWhole = false): void {
    // What stands between lines, and arrows, have clicks of their own.
    if (!(target instanceof Element) || target.closest(".said, button, .arrow") !== null || button !== 0 || (detail === 0 && !isWhole)) return;
    const line = this.lineAtY(clientY);
    if (line < 0) return;
    const act = this.options.meaning?.(target, line) ?? (() => this.options.onPin(line));
    if (isWhole) return act();
    // Selecting text by dragging does nothing: at the window the editor has its selection.
    const release = (event: MouseEvent): void => {
      if (Math.hypot(event.clientX - clientX, event.clientY - clientY) <= STILL && this.view.state.selection.main.empty) act();
    };
    window.addEventListener("mouseup", release, { once: true });
  }
}

/** Pixels that a hand may move while it clicks. */
const STILL = 6;
