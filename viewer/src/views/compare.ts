import type { Kernel } from "../document/kernel";
import { withoutLines } from "../document/options";
import { readText } from "../document/read";
import { count, fill, h } from "../dom";
import { type Entry, entriesOf } from "../frame/kernels";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import { align, normal, type Pair } from "./align";
import { signed, table, type View } from "./view";

/** Rows of machine code that are drawn at once. */
const MOST_ROWS = 3000;

/** A source line of both sides, 0 where one has it not, with the instructions that have it as their own. */
interface Line {
  path: string;
  left: number;
  right: number;
  text: string;
  rows: [Int32Array, Int32Array];
  /** Instructions that one side alone has. */
  changed: number;
}

/** Two kernels by source line: what each line costs on both sides, and its instructions side by side. */
export class CompareView implements View {
  readonly name = "compare";
  readonly title = "Compare";
  readonly hint = "Two kernels, by source line (c)";
  readonly element = h("div", { class: "compare" });
  private readonly left = h("select", { "aria-label": "Left side" });
  private readonly right = h("select", { "aria-label": "Right side" });
  private readonly facts = h("div", { class: "differences" });
  private readonly lines = h("div", { class: "lines", tabindex: "0" });
  private readonly code = h("div", { class: "sides", tabindex: "0" });
  private entries: Entry[] = [];
  private turn = 0;
  private chosen = -1;

  constructor(private readonly page: Page) {
    const swap = h("button", { class: "tool", type: "button", title: "Exchange the sides", onclick: () => this.choose(this.right.value, this.left.value) }, "⇄ Swap");
    this.element.append(h("div", { class: "choice" }, this.left, swap, this.right), this.facts, this.lines, this.code);
    for (const select of [this.left, this.right]) select.addEventListener("change", () => this.choose(this.left.value, this.right.value));
  }

  show(): void {
    const { index, state } = this.page;
    if (index === null) return;
    this.entries = entriesOf(index);
    for (const select of [this.left, this.right]) fill(select, ...this.entries.map((entry, at) => h("option", { value: at }, wordsOf(entry))));
    if (this.entries.length < 2) {
      this.turn++;
      fill(this.facts);
      fill(this.code);
      return fill(this.lines, nothing("There is only one kernel here, and nothing to compare it with.", "Open two: kernlens serve old.klens new.klens"));
    }
    const left = this.find(state.more.a) ?? this.entries.findIndex(({ program, row }) => program.id === this.page.kernel?.program.id && row === this.page.kernel.row);
    const right = this.find(state.more.b) ?? this.other(Math.max(0, left));
    this.left.value = String(Math.max(0, left));
    this.right.value = String(right);
    void this.compare();
  }

  private find(word: string | undefined): number | null {
    const at = this.entries.findIndex((entry) => keyOf(entry) === word);
    return at < 0 ? null : at;
  }

  /** The same kernel of another build; else the next kernel. */
  private other(left: number): number {
    const { name, program } = this.entries[left];
    const same = this.entries.findIndex((entry) => entry.name === name && entry.program !== program);
    return same >= 0 ? same : (left + 1) % this.entries.length;
  }

  private choose(left: string, right: string): void {
    this.left.value = left;
    this.right.value = right;
    const more = { ...this.page.state.more, a: keyOf(this.entries[Number(left)]), b: keyOf(this.entries[Number(right)]) };
    this.page.go({ more }, "push");
    void this.compare();
  }

  private async compare(): Promise<void> {
    const turn = ++this.turn;
    const entries = [this.entries[Number(this.left.value)], this.entries[Number(this.right.value)]] as const;
    fill(this.facts, differences(...entries));
    fill(this.lines, h("p", { class: "dim waiting" }, "reading both kernels"));
    fill(this.code);
    try {
      const [left, right] = await Promise.all(entries.map((entry) => this.page.load(entry)));
      const lines = await linesOf(this.page, left, right);
      if (turn === this.turn) this.draw(left, right, lines);
    } catch (problem) {
      if (turn === this.turn) fill(this.lines, h("div", { class: "message" }, ...failure(problem, () => void this.compare())));
    }
  }

  private draw(left: Kernel, right: Kernel, lines: Line[]): void {
    const changed = lines.filter((line) => line.changed > 0);
    changed.sort((left, right) => change(right) - change(left) || right.changed - left.changed);
    this.chosen = changed.length > 0 ? 0 : -1;
    const buttons: HTMLButtonElement[] = [];
    const pick = (at: number): void => {
      this.chosen = at;
      buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(index === at + 1)));
      const line = changed[at];
      fill(this.code, ...(line === undefined ? sides(left, right, all(left), all(right)) : sides(left, right, ...line.rows)));
      this.code.scrollTop = 0;
    };
    const button = (at: number, ...words: (string | Node)[]): HTMLElement => {
      const element = h("button", { type: "button", class: "link", onclick: () => pick(at) }, ...words);
      buttons.push(element);
      return element;
    };
    const whole = h("tr", {}, h("td", {}, button(-1, "all machine code")), figure(left.code.count), figure(right.code.count), delta(right.code.count - left.code.count), h("td", {}));
    const rows = changed.map((line, at) =>
      h(
        "tr",
        {},
        h("td", {}, button(at, `${base(line.path)}:${line.left || line.right}`)),
        figure(line.rows[0].length),
        figure(line.rows[1].length),
        delta(line.rows[1].length - line.rows[0].length),
        h("td", { class: "mono text", title: line.text }, line.text.trim() || (line.left === 0 ? "new line" : line.right === 0 ? "line gone" : "")),
      ),
    );
    const same = lines.length - changed.length;
    const words =
      changed.length === 0
        ? "No line differs: registers, tokens and addresses apart, both sides have the same instructions."
        : `${count(changed.length)} of ${count(lines.length)} lines with code differ, ${same === 0 ? "none is" : `${count(same)} are`} the same (register names, tokens and addresses apart).`;
    fill(this.lines, h("p", { class: "dim" }, words), table("Source lines by change", ["line", "left", "right", "change", "source"], [whole, ...rows]));
    pick(this.chosen);
    this.page.status.say(words, 0);
  }
}

function keyOf({ program, name }: Entry): string {
  return `${program.id}:${name}`;
}

function wordsOf({ program, shown }: Entry): string {
  return [program.edited ? `${shown} (edited)` : shown, program.device ?? "?", program.toolchain ?? "?", withoutLines(program.options ?? ""), program.name].filter((word) => word !== "").join(" · ");
}

function base(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function change({ rows }: Line): number {
  return Math.abs(rows[1].length - rows[0].length);
}

function figure(value: number): HTMLElement {
  return h("td", { class: "number" }, count(value));
}

function delta(value: number): HTMLElement {
  return h("td", { class: value > 0 ? "number worse" : value < 0 ? "number better" : "number" }, signed(value));
}

function optionsOf({ program }: Entry): string {
  return program.options === null ? "not known" : program.options || "none";
}

/** What the builds and the kernels' figures differ in. */
function differences(left: Entry, right: Entry): HTMLElement {
  const facts: [string, string, string][] = [
    ["device", left.program.device ?? "–", right.program.device ?? "–"],
    ["toolchain", left.program.toolchain ?? "–", right.program.toolchain ?? "–"],
    ["options", optionsOf(left), optionsOf(right)],
  ];
  for (const [key, word] of [["instructions", "instructions"], ["simd", "SIMD"], ["registers", "GRF count"], ["peak", "live GRFs"], ["spill_bytes", "bytes spilled"]] as const) {
    const [a, b] = [left, right].map(({ program, row }) => program.kernels[key][row]);
    facts.push([word, a === null ? "–" : String(a), b === null ? "–" : String(b)]);
  }
  const differing = facts.filter(([, a, b]) => a !== b);
  if (differing.length === 0) return h("p", { class: "dim" }, "Device, toolchain, options and figures are the same.");
  return h("dl", {}, ...differing.map(([word, a, b]) => h("div", {}, h("dt", {}, word), h("dd", {}, h("b", {}, a), " → ", h("b", {}, b)))));
}

function all(kernel: Kernel): Int32Array {
  return Int32Array.from({ length: kernel.code.count }, (_, row) => row);
}

/** Every source line that either side has code of. Lines of files whose text changed are paired by their text. */
async function linesOf(page: Page, left: Kernel, right: Kernel): Promise<Line[]> {
  const texts = await Promise.all([textsOf(page, left), textsOf(page, right)]);
  const lines = new Map<string, Line>();
  const partner = partners(left.files, right.files);
  left.files.forEach((path, file) => {
    const other = partner[file];
    const [before, after] = [texts[0][file], other < 0 ? null : texts[1][other]];
    const pairs = before !== null && after !== null && before !== after ? (align(before.split("\n"), after.split("\n")) ?? null) : null;
    const rightOf = new Map<number, number>();
    for (const [a, b] of pairs ?? []) if (a >= 0) rightOf.set(a + 1, b + 1);
    const source = before?.split("\n") ?? [];
    const taken = new Set<number>();
    for (let key = 0; key < left.places.keys; key++) {
      if (left.places.keyFile[key] !== file) continue;
      const number = left.places.keyLine[key];
      const there = other < 0 ? 0 : pairs === null ? number : (rightOf.get(number) ?? 0);
      const rightKey = there > 0 ? right.places.keyOf(other, there) : -1;
      if (rightKey >= 0) taken.add(rightKey);
      add(lines, path, number, there, source[number - 1] ?? "", left.code.of(key), rightKey < 0 ? EMPTY : right.code.of(rightKey));
    }
    if (other < 0) return;
    const leftOf = new Map([...rightOf].map(([a, b]) => [b, a]));
    const rightSource = after?.split("\n") ?? [];
    for (let key = 0; key < right.places.keys; key++) {
      if (right.places.keyFile[key] !== other || taken.has(key)) continue;
      const number = right.places.keyLine[key];
      add(lines, path, pairs === null ? number : (leftOf.get(number) ?? 0), number, rightSource[number - 1] ?? "", EMPTY, right.code.of(key));
    }
  });
  right.files.forEach((path, file) => {
    if (partner.includes(file)) return;
    for (let key = 0; key < right.places.keys; key++) {
      const number = right.places.keyLine[key];
      if (right.places.keyFile[key] === file) add(lines, path, 0, number, texts[1][file]?.split("\n")[number - 1] ?? "", EMPTY, right.code.of(key));
    }
  });
  for (const line of lines.values()) line.changed = changedIn(left, right, line);
  return [...lines.values()];
}

const EMPTY = new Int32Array(0);

function add(lines: Map<string, Line>, path: string, left: number, right: number, text: string, ...rows: [Int32Array, Int32Array]): void {
  if (rows[0].length + rows[1].length > 0) lines.set(`${path}:${left}:${right}`, { path, left, right, text, rows, changed: 0 });
}

/** For each file the other side's that it is: of the same path, else the only one of the same name. */
function partners(left: string[], right: string[]): number[] {
  return left.map((path) => {
    const same = right.indexOf(path);
    if (same >= 0) return same;
    const named = right.flatMap((other, at) => (base(other) === base(path) ? [at] : []));
    if (named.length === 1) return named[0];
    return left.length === 1 && right.length === 1 ? 0 : -1;
  });
}

async function textsOf(page: Page, kernel: Kernel): Promise<(string | null)[]> {
  return Promise.all(
    kernel.files.map(async (path) => {
      const chunk = kernel.program.files.find((info) => info.path === path)?.chunk ?? null;
      return chunk === null ? null : readText(await page.source.chunk(chunk));
    }),
  );
}

function changedIn(left: Kernel, right: Kernel, { rows }: Line): number {
  const pairs = paired(left, right, ...rows);
  return pairs === null ? Math.max(rows[0].length, rows[1].length) : pairs.filter(([a, b]) => a < 0 || b < 0).length;
}

function paired(left: Kernel, right: Kernel, leftRows: Int32Array, rightRows: Int32Array): Pair[] | null {
  return align(
    Array.from(leftRows, (row) => normal(left.code.lines[row])),
    Array.from(rightRows, (row) => normal(right.code.lines[row])),
  );
}

/** Both sides' instructions, what belongs together in one row. */
function sides(left: Kernel, right: Kernel, leftRows: Int32Array, rightRows: Int32Array): HTMLElement[] {
  const pairs = paired(left, right, leftRows, rightRows);
  if (pairs === null) return [nothing("The two differ too much to be set side by side as a whole.", "Choose a line: its instructions are few enough.")];
  const cell = (kernel: Kernel, row: number, kind: string): HTMLElement =>
    h("span", { class: `mono half ${kind}` }, row < 0 ? "" : `${kernel.code.offset[row].toString(16).padStart(4, "0")}  ${kernel.code.lines[row].replace(/\s+/g, " ")}`);
  const drawn: HTMLElement[] = [h("div", { class: "row head" }, h("b", {}, "left"), h("b", {}, "right"))];
  for (let at = 0; at < pairs.length && drawn.length <= MOST_ROWS; ) {
    // A run of what only one side has: its entries face one another.
    const gone: number[] = [];
    const come: number[] = [];
    for (; at < pairs.length && (pairs[at][0] < 0 || pairs[at][1] < 0); at++) (pairs[at][0] >= 0 ? gone.push(pairs[at][0]) : come.push(pairs[at][1]));
    for (let index = 0; index < Math.max(gone.length, come.length); index++) {
      const a = index < gone.length ? leftRows[gone[index]] : -1;
      const b = index < come.length ? rightRows[come[index]] : -1;
      drawn.push(h("div", { class: "row" }, cell(left, a, a < 0 ? "none" : "gone"), cell(right, b, b < 0 ? "none" : "come")));
    }
    if (at < pairs.length) {
      const [a, b] = pairs[at++];
      drawn.push(h("div", { class: "row" }, cell(left, leftRows[a], ""), cell(right, rightRows[b], "")));
    }
  }
  if (drawn.length > MOST_ROWS) drawn.push(nothing(`${count(MOST_ROWS)} rows are shown; choose a line to see the others.`));
  return drawn;
}
