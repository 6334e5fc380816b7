import type { Extension } from "@codemirror/state";
import { gutter, GutterMarker } from "@codemirror/view";

import { refreshed } from "./classes";

/** A gutter's cell: parts with fixed classes, made when the line comes into view. */
export class Cell extends GutterMarker {
  override readonly elementClass: string;

  constructor(
    private readonly identity: string,
    classes: string,
    private readonly make: () => Node[],
  ) {
    super();
    this.elementClass = classes;
  }

  override eq(other: GutterMarker): boolean {
    return other instanceof Cell && other.identity === this.identity && other.elementClass === this.elementClass;
  }

  override toDOM(): Node {
    const parts = part("cell");
    parts.append(...this.make());
    return parts;
  }
}

/** A column beside the text. `cell` gets the line, from 0. */
export function cells(name: string, cell: (line: number) => Cell | null, side: "before" | "after" = "before"): Extension {
  return gutter({
    class: name,
    side,
    lineMarker: (view, block) => cell(view.state.doc.lineAt(block.from).number - 1),
    lineMarkerChange: refreshed,
    widgetMarker: () => null,
  });
}

export function part(classes: string, text = ""): HTMLElement {
  const element = document.createElement("span");
  element.className = classes;
  element.textContent = text;
  return element;
}

/** The class of a step of heat or of a hue. */
export function shadeClass(shade: number): string {
  return shade >= 100 ? `y${shade - 100}` : `h${shade}`;
}
