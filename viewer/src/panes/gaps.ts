import { type EditorState, type Extension, RangeSet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** Opens the gap that holds this position. */
export const openGap = StateEffect.define<number>();

/** Folds anew, as other lines count now. */
export const foldAgain = StateEffect.define<Uint8Array>();

class Gap extends WidgetType {
  constructor(
    private readonly lines: number,
    private readonly words: string,
  ) {
    super();
  }

  override eq(other: Gap): boolean {
    return other.lines === this.lines && other.words === this.words;
  }

  override toDOM(view: EditorView): HTMLElement {
    const button = document.createElement("button");
    button.className = "gap";
    button.type = "button";
    button.tabIndex = -1;
    button.textContent = `${this.lines} lines ${this.words}`;
    button.title = "Click to see these lines";
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

/** How many lines around those that are shown are shown with them; fewer lines than `LEAST` are not folded. */
export interface Margin {
  before: number;
  after: number;
}

const LEAST = 4;

/** Folds away what is far from every line that counts; `has` has an entry per line, `words` say what the others are. */
export function gaps(has: Uint8Array, words: string, { before, after }: Margin): Extension {
  const make = (state: EditorState, has: Uint8Array): DecorationSet => {
    if (!has.includes(1)) return RangeSet.empty;
    const ranges = [];
    let from = 0;
    for (let line = 0; line <= has.length; line++) {
      if (line < has.length && has[line] === 0) continue;
      const first = from === 0 ? 0 : from + after;
      const last = line === has.length ? line - 1 : line - before - 1;
      if (last - first + 1 >= LEAST) {
        const start = state.doc.line(first + 1).from;
        const end = state.doc.line(last + 1).to;
        ranges.push(Decoration.replace({ widget: new Gap(last - first + 1, words), block: true }).range(start, end));
      }
      from = line + 1;
    }
    return Decoration.set(ranges);
  };
  return StateField.define<DecorationSet>({
    create: (state) => make(state, has),
    update: (ranges, transaction) => {
      for (const effect of transaction.effects) {
        if (effect.is(foldAgain)) return make(transaction.state, effect.value);
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
