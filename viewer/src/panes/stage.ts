import type { Extension } from "@codemirror/state";

import type { Kernel, Stage } from "../document/kernel";
import { gaps } from "./gaps";
import { Cell, cells, part, shadeClass } from "./gutter";
import { grammarOf, highlight } from "./highlight";
import { Linked, type Surroundings } from "./linked";
import { Pane } from "./pane";

/** Half of SPIR-V's lines give names, decorations and places, which other panes and the gutter show. */
function namesFolded(stage: Stage): Extension {
  const isOther = (text: string): boolean => !/^\s*Op(?:Name|MemberName|Decorate|MemberDecorate|GroupDecorate|Source|String|Line|NoLine|ModuleProcessed)\b/.test(text);
  return gaps(Uint8Array.from(stage.lines, (text) => Number(isOther(text))), "of names and decorations", { before: 0, after: 0 });
}

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
      // Its text is indented so that all of its equal signs stand below one another, 30 columns from the edge.
      lines: stage.name.startsWith("spirv") ? stage.lines.map((text) => text.trimStart()) : stage.lines,
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
        ...(stage.name.startsWith("spirv") ? [namesFolded(stage)] : []),
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
