import type { EditorView } from "@codemirror/view";

/** Lines to mark, and how: all of one kind have one colour. */
export interface Marks {
  lines: Int32Array;
  colour: "lit" | "hit";
}

/** The narrow canvas at a pane's right: where lit lines are in the whole text. A click goes there. */
export class Ruler {
  readonly canvas: Canvas;
  private marks: Marks[] = [];

  constructor(
    private readonly view: EditorView,
    show: (line: number) => void,
  ) {
    this.canvas = new Canvas("ruler", (context, width, height, colours) => this.draw(context, width, height, colours));
    const { element } = this.canvas;
    element.setAttribute("aria-hidden", "true");
    element.addEventListener("click", (event) => {
      const box = element.getBoundingClientRect();
      show(this.lineAt((event.clientY - box.top) / box.height));
    });
  }

  set(marks: Marks[]): void {
    if (marks.length === 0 && this.marks.length === 0) return;
    this.marks = marks;
    this.canvas.schedule();
  }

  private lineAt(share: number): number {
    const { view } = this;
    const block = view.lineBlockAtHeight(share * view.contentHeight);
    return view.state.doc.lineAt(block.from).number - 1;
  }

  private draw(context: CanvasRenderingContext2D, width: number, height: number, colours: Record<string, string>): void {
    const { view } = this;
    const doc = view.state.doc;
    for (const { lines, colour } of this.marks) {
      context.fillStyle = colours[`mark-${colour}`];
      let last = -1;
      // Far more marks than pixels: by share of lines, which folds move a little, is near enough and costs nothing.
      const exact = lines.length < 100;
      for (const line of lines) {
        if (line < 0 || line >= doc.lines) continue;
        const share = exact ? view.lineBlockAt(doc.line(line + 1).from).top / view.contentHeight : line / doc.lines;
        const y = Math.floor(share * height);
        if (y === last) continue;
        last = y;
        context.fillRect(0, y, width, Math.max(2, devicePixelRatio * 2));
      }
    }
  }
}

/**
 * A canvas that fills its box, drawn at most once in a frame. Its size and its colours are remembered: to ask for them while
 * lines light up would have the browser lay out the whole page within the hover.
 */
export class Canvas {
  readonly element = document.createElement("canvas");
  private readonly observer: ResizeObserver;
  private frame = 0;
  private style: Record<string, string> = {};

  constructor(
    name: string,
    private readonly draw: (context: CanvasRenderingContext2D, width: number, height: number, colours: Record<string, string>) => void,
  ) {
    this.element.className = name;
    this.observer = new ResizeObserver(([entry]) => {
      this.element.width = Math.round(entry.contentRect.width * devicePixelRatio);
      this.element.height = Math.round(entry.contentRect.height * devicePixelRatio);
      this.recolour();
    });
    this.observer.observe(this.element);
    DARKNESS.addEventListener("change", this.recolour);
  }

  schedule(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const { width, height } = this.element;
      const context = width > 0 && height > 0 ? this.element.getContext("2d") : null;
      if (context === null) return;
      context.clearRect(0, 0, width, height);
      this.draw(context, width, height, this.style);
    });
  }

  /** The theme may be another. */
  readonly recolour = (): void => {
    const style = getComputedStyle(this.element);
    for (const name of COLOURS) this.style[name] = style.getPropertyValue(`--${name}`);
    this.schedule();
  };

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    DARKNESS.removeEventListener("change", this.recolour);
  }
}

const DARKNESS = matchMedia("(prefers-color-scheme: dark)");
const COLOURS = ["mark-lit", "mark-hit", "lv", "accent", "warn", "wait"];
