import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** What is folded away, and what stands in its place. */
interface Fold {
  from: number;
  to: number;
  words: string;
}

class Words extends WidgetType {
  constructor(private readonly words: string) {
    super();
  }

  override eq(other: Words): boolean {
    return other.words === this.words;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("span");
    element.className = "cm-foldPlaceholder";
    element.textContent = this.words;
    return element;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

export const foldEffect = StateEffect.define<Fold>();
/** Opens the fold that begins here. */
export const unfoldEffect = StateEffect.define<number>();

const folds = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, { effects, selection, state }) {
    for (const effect of effects) {
      if (effect.is(foldEffect)) now = now.update({ add: [Decoration.replace({ widget: new Words(effect.value.words) }).range(effect.value.from, effect.value.to)], sort: true });
      else if (effect.is(unfoldEffect)) now = now.update({ filter: (from) => from !== effect.value });
    }
    if (selection === undefined) return now;
    const { head } = state.selection.main;
    // The cursor is never in what is not shown.
    return now.update({ filter: (from, to) => head <= from || head >= to });
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Folds of a text that never changes. */
export const FOLDING: Extension = folds;

export function isFoldedAt(view: EditorView, at: number): boolean {
  let isFolded = false;
  view.state.field(folds).between(at, at, (from) => {
    isFolded ||= from === at;
  });
  return isFolded;
}
