import type { Kernel } from "./document/kernel";
import { isWord, type Query } from "./frame/query";
import { registerOf } from "./machine/parse";
import { CodePane } from "./panes/code";
import type { Linked } from "./panes/linked";

/** The lines of a pane that a query finds, ascending. */
export function find(kernel: Kernel, linked: Linked, query: Query): Int32Array {
  const lines: number[] = [];
  const add = (line: number, isFound: boolean): void => void (isFound && lines.push(line));
  if (query.kind === "line") {
    for (let line = 0; line < linked.pane.lineCount; line++) {
      const key = linked.keyAt(line);
      add(line, linked.kind === "source" ? line + 1 === query.line : key >= 0 && kernel.places.keyLine[key] === query.line);
    }
    return Int32Array.from(lines);
  }
  if (linked instanceof CodePane) {
    const { code } = kernel;
    for (let row = 0; row < code.count; row++) add(linked.lineOf(row), inCode(linked, row, query));
    return Int32Array.from(lines);
  }
  if (query.kind === "function") {
    const pattern = new RegExp(`\\b${escaped(query.text)}\\w*\\s*\\(`, "i");
    eachLine(linked, (text, line) => add(line, pattern.test(text)));
    return Int32Array.from(lines);
  }
  if (query.kind === "opcode" || query.kind === "register") {
    if (linked.kind === "source") return new Int32Array(0);
    const word = query.kind === "opcode" ? query.text : query.name;
    const pattern = new RegExp(`\\b${escaped(word)}${query.kind === "register" ? "\\b" : ""}`, "i");
    eachLine(linked, (text, line) => add(line, pattern.test(text)));
    return Int32Array.from(lines);
  }
  eachLine(linked, (text, line) => add(line, matches(text, query)));
  return Int32Array.from(lines);
}

function inCode(pane: CodePane, row: number, query: Query): boolean {
  const parsed = pane.parsed[row];
  if (query.kind === "opcode") return parsed.opcode.toLowerCase().startsWith(query.text);
  if (query.kind === "register")
    return parsed.operands.some((operand) => {
      const register = registerOf(operand);
      return register !== null && `${register.file}${register.number}` === query.name;
    });
  if (query.kind === "text" && isWord(query)) return does(pane, row, query.text);
  if (query.kind === "function") return pane.kernel.code.functions.get(row)?.toLowerCase().includes(query.text) === true;
  return matches(pane.kernel.code.lines[row], query);
}

/** Whether an instruction does what a word says. */
function does(pane: CodePane, row: number, word: string): boolean {
  const message = pane.kernel.code.messages.get(row);
  switch (word) {
    case "atomic":
      return message?.action === "atomic";
    case "spills":
      return message?.spill === true;
    case "barrier":
      return message?.operation === "barrier";
    case "failed":
      return false;
    default:
      return pane.parsed[row].opcode.startsWith(word);
  }
}

function escaped(word: string): string {
  return word.replace(/[^\w]/g, "\\$&");
}

function matches(text: string, query: Query): boolean {
  if (query.kind === "text") return text.toLowerCase().includes(query.text);
  // A pattern that never ends on a long line would stop the page: lines are looked at as far as they are coloured.
  return query.kind === "pattern" && query.pattern.test(text.slice(0, 2000));
}

function eachLine(linked: Linked, visit: (text: string, line: number) => void): void {
  let line = 0;
  for (const text of linked.pane.view.state.doc.iterLines()) visit(text, line++);
}
