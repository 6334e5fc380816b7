import { type Extension, StateEffect } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";

/** Dispatched where what lines look like changed without their text: colours, operands, search. */
export const refresh = StateEffect.define<null>();

export function refreshed(update: ViewUpdate): boolean {
  return update.transactions.some((transaction) => transaction.effects.some((effect) => effect.is(refresh)));
}

/**
 * Gives each visible line the classes that `classOf` names for it (from 0). They change only when other lines come into view:
 * what lights up on hover is one style sheet's text (see lighting.ts), no editor's state.
 */
export function lineClasses(classOf: (line: number) => string): Extension {
  const cache = new Map<string, Decoration>();
  const decoration = (classes: string): Decoration => {
    let known = cache.get(classes);
    if (known === undefined) {
      if (cache.size > 20_000) cache.clear();
      known = Decoration.line({ class: classes });
      cache.set(classes, known);
    }
    return known;
  };
  const build = (view: EditorView): DecorationSet =>
    eachVisibleLine(view, (line, from, add) => {
      const classes = classOf(line);
      if (classes !== "") add(from, from, decoration(classes));
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

type Add = (from: number, to: number, decoration: Decoration) => void;

/** Calls `visit` once for each line that is drawn, and collects what it adds. A long line may be in two visible ranges. */
export function eachVisibleLine(
  view: EditorView,
  visit: (line: number, from: number, add: Add, text: string) => void,
): DecorationSet {
  const ranges: ReturnType<Decoration["range"]>[] = [];
  const add: Add = (from, to, decoration) => ranges.push(decoration.range(from, to));
  let last = -1;
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      if (line.number > last) visit(line.number - 1, line.from, add, line.text);
      last = line.number;
      at = line.to + 1;
    }
  }
  return Decoration.set(ranges);
}
