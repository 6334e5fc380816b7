import type { Extension } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate, WidgetType } from "@codemirror/view";

import { eachVisibleLine, refreshed } from "./classes";
import { part } from "./gutter";

/** What the scoreboard says of a row: at its right end, where there is room below the row. */
class Tokens extends WidgetType {
  constructor(private readonly tokens: readonly string[]) {
    super();
  }

  override eq(other: Tokens): boolean {
    return other.tokens.join() === this.tokens.join();
  }

  override toDOM(): HTMLElement {
    const element = part("tokens");
    for (const token of this.tokens) element.append(" ", part("token", token));
    return element;
  }
}

/** Puts tokens behind the lines in sight; `tokensAt` has those of a line, from 0. */
export function tokens(tokensAt: (line: number) => readonly string[]): Extension {
  const build = (view: EditorView): DecorationSet =>
    eachVisibleLine(view, (line, from, add, text) => {
      const shown = tokensAt(line);
      const end = from + text.length;
      if (shown.length > 0) add(end, end, Decoration.widget({ widget: new Tokens(shown), side: 1 }));
    });
  return ViewPlugin.define<{ decorations: DecorationSet; update(update: ViewUpdate): void }>(
    (view) => ({
      decorations: build(view),
      update(update) {
        if (update.docChanged || update.viewportChanged || refreshed(update)) this.decorations = build(update.view);
      },
    }),
    { decorations: (plugin) => plugin.decorations },
  );
}
