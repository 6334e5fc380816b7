import type { Pane } from "./pane";

/** Lines to mark, and how: all of one kind have one colour. */
export interface Marks {
  lines: Int32Array;
  colour: "lit" | "pin" | "hit";
}

/** The narrow canvas at a pane's right: where lit lines are in the whole text. A click goes there. */
export class Ruler {
  readonly element = document.createElement("canvas");
  private marks: Marks[] = [];
  private frame = 0;
  private readonly size: ResizeObserver;

  constructor(private readonly pane: Pane) {
    this.element.className = "ruler";
    this.element.setAttribute("aria-hidden", "true");
    this.size = new ResizeObserver(() => this.schedule());
    this.size.observe(this.element);
    this.element.addEventListener("click", (event) => {
      const box = this.element.getBoundingClientRect();
      pane.show(this.lineAt((event.clientY - box.top) / box.height));
    });
  }

  set(marks: Marks[]): void {
    if (marks.length === 0 && this.marks.length === 0) return;
    this.marks = marks;
    this.schedule();
  }

  schedule(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  destroy(): void {
    cancelAnimationFrame(this.frame);
    this.size.disconnect();
  }

  private lineAt(share: number): number {
    const { view } = this.pane;
    const block = view.lineBlockAtHeight(share * view.contentHeight);
    return view.state.doc.lineAt(block.from).number - 1;
  }

  private draw(): void {
    const context = fitted(this.element);
    if (context === null) return;
    const { width, height } = this.element;
    const { view } = this.pane;
    const style = getComputedStyle(this.element);
    const doc = view.state.doc;
    for (const { lines, colour } of this.marks) {
      context.fillStyle = style.getPropertyValue(`--mark-${colour}`);
      let last = -1;
      // Far more marks than pixels: by share of lines, which folds move a little, is near enough and costs nothing.
      const exact = lines.length < 400;
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

/** A canvas's context with its pixels as many as its box has, cleared; null while it has no box. */
export function fitted(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  const width = Math.round(canvas.clientWidth * devicePixelRatio);
  const height = Math.round(canvas.clientHeight * devicePixelRatio);
  if (width === 0 || height === 0) return null;
  if (canvas.width !== width) canvas.width = width;
  if (canvas.height !== height) canvas.height = height;
  const context = canvas.getContext("2d");
  context?.clearRect(0, 0, width, height);
  return context;
}
