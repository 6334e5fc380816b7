import { cpp } from "@codemirror/lang-cpp";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";

const COLOURS = HighlightStyle.define([
  { tag: [tags.keyword, tags.typeName, tags.standard(tags.typeName), tags.modifier], class: "t-k" },
  { tag: tags.comment, class: "t-c" },
  { tag: [tags.number, tags.bool], class: "t-n" },
  { tag: [tags.string, tags.character], class: "t-s" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName))], class: "t-f" },
  { tag: [tags.processingInstruction, tags.macroName], class: "t-w" },
]);

/** The language of source files: its colours, and how it is indented while it is edited. */
export const LANGUAGE: Extension = [cpp(), syntaxHighlighting(COLOURS)];
