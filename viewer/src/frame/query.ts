import { Pattern } from "./pattern";

/** What to look for, in words that a reader typed. */
export type Query =
  | { kind: "text"; text: string }
  | { kind: "pattern"; pattern: Pattern }
  | { kind: "opcode"; text: string }
  | { kind: "line"; line: number }
  | { kind: "register"; name: string }
  | { kind: "function"; text: string };

/** Words that name what kernels do; each is a query of its own. */
export const WORDS = ["spills", "atomic", "dpas", "barrier", "math", "failed"] as const;

export function isWord(query: Query): boolean {
  return query.kind === "text" && (WORDS as readonly string[]).includes(query.text);
}

/** Reads what was typed; null for nothing, a sentence where it cannot be read. */
export function queryOf(typed: string): Query | string | null {
  const text = typed.trim();
  if (text === "") return null;
  const [, prefix, rest] = /^(re|op|line|reg|send|fn):\s*(.*)$/i.exec(text) ?? [];
  // A register's name is not looked for in the names of kernels: `r42` is one of this kernel's, as `reg:r42`.
  if (prefix === undefined && /^r\d{1,3}$/i.test(text)) return { kind: "register", name: text.toLowerCase() };
  if (prefix === undefined) return { kind: "text", text: text.toLowerCase() };
  if (rest === "" && prefix !== "send") return null;
  switch (prefix.toLowerCase()) {
    case "re":
      try {
        return { kind: "pattern", pattern: new Pattern(rest) };
      } catch (problem) {
        return (problem as Error).message;
      }
    case "op":
      return { kind: "opcode", text: rest.toLowerCase() };
    case "send":
      return { kind: "opcode", text: rest === "" ? "send" : `send.${rest.toLowerCase()}` };
    case "fn":
      return { kind: "function", text: rest.toLowerCase() };
    case "line":
      return /^\d+$/.test(rest) ? { kind: "line", line: Number(rest) } : "line: needs a number, as line:486.";
    default:
      return /^[a-z]+\d+$/i.test(rest) ? { kind: "register", name: rest.toLowerCase() } : "reg: needs a register, as reg:r32.";
  }
}
