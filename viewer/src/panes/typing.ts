import { defaultKeymap, history, historyKeymap, standardKeymap } from "@codemirror/commands";
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

/** The keys of a text that is read. */
export const MOVING: Extension = keymap.of(standardKeymap);

/** What an editor does beyond a text that is read: all its keys, and undo. */
export const TYPING: Extension = [keymap.of([...defaultKeymap, ...historyKeymap]), history()];
