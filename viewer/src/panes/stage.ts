import type { Extension } from "@codemirror/state";

import type { Kernel, Stage } from "../document/kernel";
import { gaps } from "./gaps";
import { Cell, cells, part, shadeClass } from "./gutter";
import { grammarOf, highlight } from "./highlight";
import { Linked, type Surroundings } from "./linked";
import { Pane } from "./pane";

/** Rows that say nothing but the source line of those behind them, which stands beside each of these: half of SPIR-V's. */
const PLACES = /^\s*(?:OpLine|OpNoLine|\.?LOC \d+)\b/;

/** A third of SPIR-V's lines give names and decorations, which other panes show. */
function namesFolded(lines: readonly string[]): Extension {
  const isOther = (text: string): boolean => !/^\s*Op(?:Name|MemberName|Decorate|MemberDecorate|GroupDecorate|Source|String|ModuleProcessed)\b/.test(text);
  return gaps(Uint8Array.from(lines, (text) => Number(isOther(text))), "of names and decorations", { before: 0, after: 0 });
}

/** One stage's text of the kernel. */
export class StagePane extends Linked {
  readonly kind = "stage";
  readonly title: string;
  readonly pane: Pane;
  /** Rows that are drawn, by line; and the line of each row, of one that is not drawn the next. */
  private readonly drawn: Int32Array;
  private readonly lineOfRow: Int32Array;

  constructor(
    kernel: Kernel,
    readonly stage: Stage,
    title: string,
    around: Surroundings,
  ) {
    super(kernel, stage);
    this.title = title;
    const isSpirv = stage.name.startsWith("spirv");
    const isBinary = isSpirv || stage.name.startsWith("visa");
    const drawn: number[] = [];
    this.lineOfRow = new Int32Array(stage.lines.length);
    stage.lines.forEach((text, row) => {
      this.lineOfRow[row] = drawn.length;
      if (!isBinary || !PLACES.test(text)) drawn.push(row);
    });
    this.drawn = Int32Array.from(drawn);
    // SPIR-V is indented so that all of its equal signs stand below one another, 30 columns from the edge.
    const lines = drawn.map((row) => (isSpirv ? stage.lines[row].trimStart() : stage.lines[row]));
    const grammar = grammarOf(stage.name);
    const shadeAt = (line: number): number => around.shade(stage.key[this.drawn[line]]);
    this.pane = new Pane({
      root: around.root,
      kind: "stage",
      label: title,
      lines,
      classOf: (line) => this.classesOf(this.drawn[line], shadeAt(line)),
      extensions: [
        cells("numbers", (line) => {
          const shade = shadeAt(line);
          return new Cell(`${line} ${shade}`, this.classesOf(this.drawn[line], shade), () => [
            part("ln", this.numberAt(line)),
            part(`bar ${shadeClass(shade)}`),
            part("from", this.lineLabel(this.drawn[line])),
          ]);
        }),
        ...(grammar === null ? [] : [highlight(grammar)]),
        ...(isSpirv ? [namesFolded(lines)] : []),
      ],
      onHover: (line) => around.hover(this, line),
      onPin: (line) => around.pin(this, line),
      onCursor: (line) => around.cursor(this, line),
    });
  }

  override rowAt(line: number): number {
    return this.drawn[line] ?? -1;
  }

  override lineOf(row: number): number {
    return Math.max(0, Math.min(this.lineOfRow[row] ?? 0, this.drawn.length - 1));
  }

  override numberAt(line: number): string {
    return String(this.stage.numbers[this.drawn[line]] ?? "");
  }
}
