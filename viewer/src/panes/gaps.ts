import { type EditorState, type Extension, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** Opens the gap that holds this position. */
export const openGap = StateEffect.define<number>();

class Gap extends WidgetType {
  constructor(private readonly lines: number) {
    super();
  }

  override eq(other: Gap): boolean {
    return other.lines === this.lines;
  }

  override toDOM(view: EditorView): HTMLElement {
    const button = document.createElement("button");
    button.className = "gap";
    button.type = "button";
    button.tabIndex = -1;
    button.textContent = `${this.lines} lines without code`;
    button.title = "None of this kernel's code comes from these lines: click to see them";
    // Else the browser puts its selection here, which opens the gap before the click has found it.
    button.addEventListener("mousedown", (event) => event.preventDefault());
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      view.dispatch({ effects: openGap.of(view.posAtDOM(button)) });
    });
    return button;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

/** Folds away what is far from every line that has code; `has` has an entry per line. */
export function gaps(has: Uint8Array): Extension {
  const BEFORE = 2;
  const AFTER = 1;
  const LEAST = 4;
  const make = (state: EditorState): DecorationSet => {
    const ranges = [];
    let from = 0;
    for (let line = 0; line <= has.length; line++) {
      if (line < has.length && has[line] === 0) continue;
      const first = from === 0 ? 0 : from + AFTER;
      const last = line === has.length ? line - 1 : line - BEFORE - 1;
      if (last - first + 1 >= LEAST && from + (line - from) > from) {
        const start = state.doc.line(first + 1).from;
        const end = state.doc.line(last + 1).to;
        ranges.push(Decoration.replace({ widget: new Gap(last - first + 1), block: true }).range(start, end));
      }
      from = line + 1;
    }
    return Decoration.set(ranges);
  };
  return StateField.define<DecorationSet>({
    create: (state) => (has.some((value) => value !== 0) ? make(state) : RangeSet.empty),
    update: (ranges, transaction) => {
      for (const effect of transaction.effects) {
        if (effect.is(openGap)) ranges = ranges.update({ filter: (from, to) => effect.value < from || effect.value > to });
      }
      const { head } = transaction.state.selection.main;
      // The cursor is never in what is not shown.
      if (transaction.selection) ranges = ranges.update({ filter: (from, to) => head < from || head > to });
      return ranges.map(transaction.changes);
    },
    provide: (field) => EditorView.decorations.from(field),
  });
}
