import { h } from "../dom";

/** What to look for, in words that a reader typed. */
export type Query =
  | { kind: "text"; text: string }
  | { kind: "pattern"; pattern: RegExp }
  | { kind: "opcode"; text: string }
  | { kind: "line"; line: number }
  | { kind: "register"; name: string };

/** Reads what was typed; null for nothing, a sentence where it cannot be read. */
export function queryOf(typed: string): Query | string | null {
  const text = typed.trim();
  if (text === "") return null;
  const [, prefix, rest] = /^(re|op|line|reg|send):\s*(.*)$/i.exec(text) ?? [];
  if (prefix === undefined) return { kind: "text", text: text.toLowerCase() };
  if (rest === "" && prefix !== "send") return null;
  switch (prefix.toLowerCase()) {
    case "re":
      try {
        return { kind: "pattern", pattern: new RegExp(rest, "i") };
      } catch {
        return "This is no regular expression yet.";
      }
    case "op":
      return { kind: "opcode", text: rest.toLowerCase() };
    case "send":
      return { kind: "opcode", text: rest === "" ? "send" : `send.${rest.toLowerCase()}` };
    case "line":
      return /^\d+$/.test(rest) ? { kind: "line", line: Number(rest) } : "line: needs a number, as line:486.";
    default:
      return /^[a-z]+\d+$/i.test(rest) ? { kind: "register", name: rest.toLowerCase() } : "reg: needs a register, as reg:r32.";
  }
}

export interface SearchActions {
  find(query: Query | null): void;
  step(by: number): void;
  leave(): void;
}

/** The field in the header. */
export class SearchField {
  readonly element: HTMLElement;
  readonly input = h("input", { type: "search", placeholder: "Find in all panes", "aria-label": "Find in all panes", spellcheck: "false", autocomplete: "off" });
  private readonly told = h("span", { class: "found" });
  private timer = 0;

  constructor(private readonly actions: SearchActions) {
    this.element = h("div", { class: "find", role: "search" }, h("span", { "aria-hidden": "true" }, "⌕"), this.input, this.told, h("kbd", { "aria-hidden": "true" }, "/"));
    this.input.addEventListener("input", () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => this.look(), 120);
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        clearTimeout(this.timer);
        this.look();
        this.actions.step(event.shiftKey ? -1 : 1);
        event.preventDefault();
      } else if (event.key === "Escape") {
        this.input.value = "";
        this.look();
        this.actions.leave();
        event.stopPropagation();
      }
    });
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  tell(sentence: string): void {
    this.told.textContent = sentence;
  }

  private sought = "";

  private look(): void {
    if (this.input.value === this.sought) return;
    this.sought = this.input.value;
    const query = queryOf(this.input.value);
    if (typeof query === "string") {
      this.tell(query);
      this.actions.find(null);
    } else {
      this.tell("");
      this.actions.find(query);
    }
  }
}
