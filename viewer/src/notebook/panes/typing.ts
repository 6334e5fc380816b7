import { EditorSelection, type Extension } from "@codemirror/state";
import { type Command, type EditorView, keymap } from "@codemirror/view";

function goTo(view: EditorView, position: number): boolean {
  view.dispatch({ selection: EditorSelection.cursor(position), scrollIntoView: true, userEvent: "select" });
  return true;
}

function vertical(forward: boolean, isPage: boolean): Command {
  return (view) => goTo(view, view.moveVertically(view.state.selection.main, forward, isPage ? view.scrollDOM.clientHeight : undefined).head);
}

/** The keys of a text that is read: those of CodeMirror's own need a parser of the text. */
export const MOVING: Extension = keymap.of([
  { key: "ArrowDown", run: vertical(true, false) },
  { key: "ArrowUp", run: vertical(false, false) },
  { key: "PageDown", run: vertical(true, true) },
  { key: "PageUp", run: vertical(false, true) },
  { key: "Mod-Home", run: (view) => goTo(view, 0) },
  { key: "Mod-End", run: (view) => goTo(view, view.state.doc.length) },
]);

/** Nothing is typed in a notebook. */
export const TYPING: Extension = [];
