import type { Extension } from "@codemirror/state";

/** Nothing is typed in a notebook. */
export const TYPING: Extension = [];
