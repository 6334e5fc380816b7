import { type Extension, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** Folds of a text that never changes, by the names of CodeMirror's own, which bring all that languages need. */
interface Fold {
  from: number;
  to: number;
}

class Dots extends WidgetType {
  constructor(private readonly text: string) {
    super();
  }

  override toDOM(): HTMLElement {
    const element = document.createElement("span");
    element.className = "cm-foldPlaceholder";
    element.textContent = this.text;
    return element;
  }
}

export const foldEffect = StateEffect.define<Fold>();
export const unfoldEffect = StateEffect.define<Fold>();
const FOLDED = Decoration.replace({ widget: new Dots("…") });

export const foldState = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(folds, { effects }) {
    for (const effect of effects) {
      if (effect.is(foldEffect)) folds = folds.update({ add: [FOLDED.range(effect.value.from, effect.value.to)], sort: true });
      else if (effect.is(unfoldEffect)) folds = folds.update({ filter: (from) => from !== effect.value.from });
    }
    return folds;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function codeFolding(_: { placeholderText: string }): Extension {
  return foldState;
}
