import { cpp } from "@codemirror/lang-cpp";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { tags } from "@lezer/highlight";

import { NO_ROWS, rowsOf } from "../document/csr";
import type { Kernel } from "../document/kernel";
import type { FileInfo } from "../document/schema";
import type { Light } from "../lighting";
import { gaps } from "./gaps";
import { Cell, cells, part, shadeClass } from "./gutter";
import { Linked, type Surroundings } from "./linked";
import { Pane } from "./pane";

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.typeName, tags.standard(tags.typeName), tags.modifier], class: "t-k" },
  { tag: tags.comment, class: "t-c" },
  { tag: [tags.number, tags.bool], class: "t-n" },
  { tag: [tags.string, tags.character], class: "t-s" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], class: "t-f" },
  { tag: [tags.processingInstruction, tags.macroName], class: "t-w" },
]);

/** One source file. A line's key is what the other panes' rows share with it. */
export class SourcePane extends Linked {
  readonly kind = "source";
  readonly title: string;
  readonly pane: Pane;
  private readonly keys: Int32Array;
  /** No text was at hand: the lines are empty, and only their numbers are true. */
  readonly bare: boolean;

  constructor(
    kernel: Kernel,
    readonly file: number,
    info: FileInfo,
    text: string | null,
    around: Surroundings,
  ) {
    super(kernel, null);
    this.title = info.path;
    this.bare = text === null;
    const { places } = kernel;
    let last = 0;
    for (let key = 0; key < places.keys; key++) if (places.keyFile[key] === file) last = Math.max(last, places.keyLine[key]);
    const lines = text === null ? new Array<string>(Math.min(last, 200_000)).fill("") : text.split("\n");
    this.keys = new Int32Array(lines.length).fill(-1);
    const has = new Uint8Array(lines.length);
    for (let key = 0; key < places.keys; key++) {
      const line = places.keyLine[key] - 1;
      if (places.keyFile[key] !== file || line < 0 || line >= lines.length) continue;
      this.keys[line] = key;
      if (rowsOf(kernel.code.own, key).length > 0) has[line] = 1;
    }
    this.pane = new Pane({
      root: around.root,
      kind: "source",
      label: `Source ${info.path}`,
      lines,
      classOf: (line) => this.sourceClasses(line, around),
      extensions: [
        gaps(has, "without code", { before: 2, after: 1 }),
        cpp(),
        syntaxHighlighting(COLOURS),
        cells("numbers", (line) => {
          const key = this.keys[line] ?? -1;
          const shade = around.shade(key);
          const { value, share } = around.figure(key);
          return new Cell(`${line} ${shade} ${value} ${share}`, this.sourceClasses(line, around), () => [
            part("ln", String(line + 1)),
            part(`heat ${shadeClass(shade)}`, value),
            part(`heat share ${shadeClass(shade)}`, share),
          ]);
        }),
      ],
      onHover: (line) => around.hover(this, line),
      onPin: (line) => around.pin(this, line),
      onCursor: (line) => around.cursor(this, line),
    });
  }

  override keyAt(line: number): number {
    return this.keys[line] ?? -1;
  }

  override rowAt(): number {
    return -1;
  }

  override linesOf(light: Light): Int32Array {
    const { places } = this.kernel;
    if (light.key < 0 || places.keyFile[light.key] !== this.file) return NO_ROWS;
    return Int32Array.of(places.keyLine[light.key] - 1);
  }

  private sourceClasses(line: number, around: Surroundings): string {
    const key = this.keys[line] ?? -1;
    const shade = around.shade(key);
    return key < 0 ? "" : shade >= 100 ? `L${key} S${key} y${shade - 100}` : `L${key} S${key}`;
  }
}
