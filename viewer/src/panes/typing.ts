import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

/** What an editor does beyond a text that is read: all its keys, and undo. */
export const TYPING: Extension = [keymap.of([...defaultKeymap, ...historyKeymap]), history()];
