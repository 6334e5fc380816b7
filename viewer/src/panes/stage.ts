import type { Kernel, Stage } from "../document/kernel";
import { Cell, cells, part, shadeClass } from "./gutter";
import { grammarOf, highlight } from "./highlight";
import { Linked, type Surroundings } from "./linked";
import { Pane } from "./pane";

/** One stage's text of the kernel. */
export class StagePane extends Linked {
  readonly kind = "stage";
  readonly title: string;
  readonly pane: Pane;

  constructor(
    kernel: Kernel,
    readonly stage: Stage,
    title: string,
    around: Surroundings,
  ) {
    super(kernel, stage);
    this.title = title;
    const grammar = grammarOf(stage.name);
    this.pane = new Pane({
      root: around.root,
      kind: "stage",
      label: title,
      lines: stage.lines,
      classOf: (line) => this.classesOf(line, around.shade(stage.key[line])),
      extensions: [
        cells("numbers", (line) => {
          const shade = around.shade(stage.key[line]);
          return new Cell(`${line} ${shade}`, this.classesOf(line, shade), () => [
            part("ln", String(stage.numbers[line] ?? "")),
            part(`bar ${shadeClass(shade)}`),
            part("from", this.lineLabel(line)),
          ]);
        }),
        ...(grammar === null ? [] : [highlight(grammar)]),
      ],
      onHover: (line) => around.hover(this, line),
      onPin: (line) => around.pin(this, line),
      onCursor: (line) => around.cursor(this, line),
    });
  }

  override numberAt(line: number): string {
    return String(this.stage.numbers[line]);
  }
}
