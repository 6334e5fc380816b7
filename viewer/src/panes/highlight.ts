import type { Extension } from "@codemirror/state";
import { Decoration, type DecorationSet, ViewPlugin, type ViewUpdate } from "@codemirror/view";

import { eachVisibleLine, refreshed } from "./classes";

/** Longer lines (macros, logs) are coloured up to here. */
const MOST = 2000;

/** One expression whose groups are named after what they find; see style/code.css for the colours. */
export type Grammar = RegExp;

const MARKS: Record<string, Decoration> = {};
for (const name of ["k", "c", "n", "f", "r", "w", "s", "m"]) MARKS[name] = Decoration.mark({ class: `t-${name}` });

/** A general register has a class of its number, by which it lights up wherever it stands. */
function registerMark(word: string): Decoration {
  const number = /^[-~(]*r(\d{1,3})/.exec(word)?.[1];
  if (number === undefined) return MARKS.r;
  REGISTERS[number] ??= Decoration.mark({ class: `t-r g${number}` });
  return REGISTERS[number];
}

const REGISTERS: Record<string, Decoration> = {};

/** Colours the lines in view, each by itself: right after any jump, as these languages have no token over two lines. */
export function highlight(grammar: Grammar): Extension {
  const build = (update: Pick<ViewUpdate, "view">): DecorationSet =>
    eachVisibleLine(update.view, (_, from, add, text) => {
      for (const match of text.slice(0, MOST).matchAll(grammar)) {
        for (const name in match.groups) {
          if (match.groups[name] === undefined) continue;
          const mark = name === "r" && grammar === GEN ? registerMark(match[0]) : MARKS[name];
          if (match[0] !== "") add(from + match.index, from + match.index + match[0].length, mark);
          break;
        }
      }
    });
  return ViewPlugin.define<{ decorations: DecorationSet; update(update: ViewUpdate): void }>(
    (view) => ({
      decorations: build({ view }),
      update(update) {
        if (update.docChanged || update.viewportChanged || refreshed(update)) this.decorations = build(update);
      },
    }),
    { decorations: (plugin) => plugin.decorations },
  );
}

/** k keyword, c comment, n number, f function, r register or value, w scoreboard, s string, m modifier. */
export const LLVM: Grammar =
  /(?<c>;.*$|![\w.]*\d*\b)|(?<s>c?"[^"]*")|(?<f>@[-\w.$]+|@"[^"]*")|(?<r>%[-\w.$]+)|(?<n>\b(?:0x[0-9A-Fa-f]+|-?\d+(?:\.\d+(?:e[-+]?\d+)?)?)\b)|(?<k>\b(?:define|declare|call|tail|ret|br|switch|label|phi|select|load|store|alloca|getelementptr|inbounds|extractelement|insertelement|shufflevector|extractvalue|insertvalue|bitcast|addrspacecast|trunc|zext|sext|fptrunc|fpext|fptosi|fptoui|sitofp|uitofp|ptrtoint|inttoptr|icmp|fcmp|fadd|fsub|fmul|fdiv|frem|fneg|add|sub|mul|sdiv|udiv|srem|urem|shl|lshr|ashr|and|or|xor|atomicrmw|cmpxchg|fence|unreachable|freeze|to|align|type|metadata)\b)|(?<m>\b(?:void|half|float|double|i\d+|ptr|nsw|nuw|fast|nnan|ninf|nsz|arcp|contract|reassoc|undef|poison|null|true|false|zeroinitializer)\b)/g;

export const SPIRV: Grammar =
  /(?<c>;.*$)|(?<s>"(?:[^"\\]|\\.)*")|(?<k>\bOp[A-Z]\w*)|(?<r>%[\w]+)|(?<n>\b(?:0x[0-9A-Fa-f]+|-?\d+(?:\.\d+)?)\b)/g;

export const VISA: Grammar =
  /(?<c>\/\/.*$)|(?<s>"[^"]*")|(?<k>^\s*(?:\([^)]*\)\s*)?\.?[a-z][\w.]*)|(?<n>\b0x[0-9A-Fa-f]+\b|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]))|(?<m>\(M\d[^)]*\)|\([^)]*\)|<[^>]*>|:[a-z]+\b)|(?<r>\b[VATPS]\d+\b|%[\w]+)/g;

/** Machine code as the pane lays it out (predicate, opcode, lanes, operands, a message's words), and as IGA writes it. */
export const GEN: Grammar =
  /(?<m>^\([^)]*\)|\(\d+\|M\d+\)|<[\d;,]+>|:[a-z]+\b|(?<=^(?:\([^)]*\)|\s{3})\s+[a-z][\w.]*\s+)\d+(?:·\d+)?(?=\s|$))|(?<w>\((?:W&)?~?f\d[^)]*\))|(?<k>(?<=^(?:\([^)]*\))?\s*)[a-z][\w.]*)|(?<f>→[\da-f]+|\bL\d+\b)|(?<n>\b0x[0-9A-Fa-f]+|(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]))|(?<r>[-~(]*\b(?:r|acc|f|a|s|cr|sr|ce|ip|tm|dbg|mme|n)\d+(?:\.\d+)?|\bnull\b)|(?<c>\/\/.*$|(?<=\s)[A-Za-z]{3,}(?: [\w/]+)*$)/g;

/** Stages by the beginning of their names. */
export function grammarOf(stage: string): Grammar | null {
  if (stage.startsWith("spirv")) return SPIRV;
  if (stage.startsWith("llvm")) return LLVM;
  if (stage.startsWith("visa")) return VISA;
  return null;
}
