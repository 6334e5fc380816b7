import { StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

import type { Diagnostic } from "../document/schema";
import { visible } from "../dom";

const setProblems = StateEffect.define<DecorationSet>();

/** The compiler's messages, which move with the text. */
export const problems = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, transaction) => transaction.effects.reduce((_, effect) => (effect.is(setProblems) ? effect.value : _), marks.map(transaction.changes)),
  provide: (field) => EditorView.decorations.from(field),
});

/** Underlines what the compiler complains of; errors stand below their lines, with what it proposes. */
export function show(view: EditorView, diagnostics: readonly Diagnostic[]): void {
  const { doc } = view.state;
  const marks = diagnostics.flatMap((diagnostic, index) => {
    const { line, column, severity, message } = diagnostic;
    if (line < 1 || line > doc.lines) return [];
    const { from, to } = doc.line(line);
    const start = Math.max(from, Math.min(to - 1, from + Math.max(0, column - 1)));
    const word = /^\w+/.exec(doc.sliceString(start, to));
    const end = Math.min(to, start + (word?.[0].length ?? 1));
    const isError = severity === "error";
    const under = start < end ? [Decoration.mark({ class: isError ? "problem error" : "problem", attributes: { title: visible(`${severity}: ${message}`) } }).range(start, end)] : [];
    return isError ? [...under, Decoration.widget({ widget: new Message(diagnostic, before(doc, diagnostic)), block: true, side: index + 1 }).range(to)] : under;
  });
  view.dispatch({ effects: setProblems.of(Decoration.set(marks, true)) });
}

/** The text that a proposal replaces, where it is proposed. */
function before(doc: Text, { line, column, fix }: Diagnostic): string {
  const { text } = doc.line(line);
  return fix === null ? "" : text.slice(column - 1, column - 1 + fix.length);
}

class Message extends WidgetType {
  constructor(
    private readonly diagnostic: Diagnostic,
    private readonly replaced: string,
  ) {
    super();
  }

  override eq({ diagnostic, replaced }: Message): boolean {
    const { line, column, message, fix } = this.diagnostic;
    return line === diagnostic.line && column === diagnostic.column && message === diagnostic.message && replaced === this.replaced && fix?.text === diagnostic.fix?.text;
  }

  override toDOM(view: EditorView): HTMLElement {
    const { message, fix } = this.diagnostic;
    const element = document.createElement("div");
    element.className = "said";
    element.textContent = visible(message);
    if (fix === null) return element;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = "Apply";
    button.title = visible(fix.length === 0 ? `Insert ${fix.text}` : `Write ${fix.text} in place of ${this.replaced}`);
    button.addEventListener("click", () => this.apply(view, element));
    element.append(" ", button);
    return element;
  }

  /** Does what the compiler proposes, if that is still there; else the button goes. */
  private apply(view: EditorView, element: HTMLElement): void {
    const { column, fix } = this.diagnostic;
    const line = view.state.doc.lineAt(view.posAtDOM(element));
    if (fix === null) return;
    const from = line.from + column - 1;
    const to = from + fix.length;
    if (to > line.to || view.state.sliceDoc(from, to) !== this.replaced) return element.querySelector("button")?.remove();
    view.dispatch({ changes: { from, to, insert: fix.text }, selection: { anchor: from + fix.text.length }, userEvent: "input.complete" });
    element.querySelector("button")?.remove();
    view.focus();
  }

  override ignoreEvent(): boolean {
    return true;
  }
}
