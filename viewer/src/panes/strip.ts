import { largest, plural } from "../dom";
import type { Linked } from "./linked";
import { Canvas } from "./ruler";

/** Live registers over the whole kernel, against the register file: a click goes there, `g p` to the peak. */
export class Strip {
  readonly canvas: Canvas;
  readonly peak: number;

  constructor(
    private readonly code: Linked,
    private readonly live: Int32Array,
  ) {
    this.peak = code.kernel.code.peak?.row ?? live.indexOf(live.reduce((most, value) => Math.max(most, value), 0));
    const { peak } = this;
    this.canvas = new Canvas("strip", (context, width, height, colours) => this.draw(context, width, height, colours));
    const { element } = this.canvas;
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", `Live registers: ${plural(live[peak] ?? 0, "register")} at the peak`);
    element.title = "Live registers over the kernel: click goes there, g p to the peak; marks at the left are long waits, at the right spills";
    element.addEventListener("click", (event) => {
      const box = element.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * live.length);
      this.code.pane.show(this.code.lineOf(Math.min(Math.max(0, row), live.length - 1)));
    });
    this.code.pane.view.scrollDOM.addEventListener("scroll", () => this.canvas.schedule(), { passive: true });
  }

  private draw(context: CanvasRenderingContext2D, width: number, height: number, colours: Record<string, string>): void {
    if (this.live.length === 0) return;
    const registers = this.code.kernel.program.kernels.registers[this.code.kernel.row] ?? this.live[this.peak];
    const whole = Math.max(registers, this.live[this.peak], 1);
    context.fillStyle = colours.lv;
    for (let y = 0; y < height; y++) {
      const from = Math.floor((y / height) * this.live.length);
      const to = Math.max(from + 1, Math.floor(((y + 1) / height) * this.live.length));
      let most = 0;
      for (let row = from; row < to; row++) most = Math.max(most, this.live[row]);
      context.fillRect(0, y, (most / whole) * width, 1);
    }
    const { waits, spills } = this.code.kernel.code;
    const tick = Math.max(1, devicePixelRatio);
    // Where many share a place, the more there are the darker it is.
    const ticks = (rows: ArrayLike<number>, colour: string, x: number): void => {
      const at = new Float64Array(Math.ceil(height / tick));
      for (let each = 0; each < rows.length; each++) at[Math.floor((rows[each] / this.live.length) * at.length)]++;
      const most = largest(at, 1);
      context.fillStyle = colour;
      at.forEach((many, place) => {
        if (many === 0) return;
        context.globalAlpha = most === 1 ? 1 : 0.25 + 0.75 * (many / most);
        context.fillRect(x, place * tick, width / 5, tick);
      });
      context.globalAlpha = 1;
    };
    ticks(waits?.long ?? [], colours.wait, 0);
    ticks(spills, colours.warn, width - width / 5);
    const { view } = this.code.pane;
    const share = (top: number): number => {
      const line = view.state.doc.lineAt(view.lineBlockAtHeight(top).from).number - 1;
      let row = this.code.rowAt(line);
      if (row < 0) row = this.code.rowAt(line + 1);
      return row / this.live.length;
    };
    const top = share(view.scrollDOM.scrollTop) * height;
    const end = view.scrollDOM.scrollTop + view.scrollDOM.clientHeight;
    const bottom = end >= view.contentHeight ? height : share(end) * height;
    context.globalAlpha = 0.16;
    context.fillStyle = colours.accent;
    context.fillRect(0, top, width, Math.max(4, bottom - top));
    context.globalAlpha = 1;
    context.fillStyle = colours.warn;
    context.fillRect(0, Math.round((this.peak / this.live.length) * height), width, 2);
  }
}
