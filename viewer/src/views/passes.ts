import { readPasses } from "../document/read";
import type { Pass } from "../document/schema";
import { count, fill, h } from "../dom";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import type { View } from "./view";

/** Lines of a change that are drawn. */
const MOST_LINES = 6000;

/** The compiler's single passes over LLVM IR, in their order, and what each changed. */
export class PassesView implements View {
  readonly name = "passes";
  readonly title = "Passes";
  readonly hint = "What each of the compiler's passes changed";
  readonly element = h("div", { class: "passes" });
  private readonly filter = h("input", { type: "search", placeholder: "Pass, or +text in its change", "aria-label": "Filter passes by name, or by +text in what they changed" });
  private readonly list = h("ol", {});
  private readonly diff = h("div", { class: "diff mono", tabindex: "0", role: "region", "aria-label": "What the pass changed" });
  private readonly summary = h("p", { class: "dim" });
  private passes: Pass[] = [];
  private chunk: string | null = null;
  private turn = 0;
  private chosen = -1;
  private unfolded = new Set<number>();

  constructor(private readonly page: Page) {
    this.filter.addEventListener("input", () => this.draw());
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      if (step === undefined) return;
      const buttons = [...this.list.querySelectorAll("button")];
      const at = buttons.indexOf((this.element.getRootNode() as ShadowRoot).activeElement as HTMLButtonElement);
      buttons[Math.min(buttons.length - 1, Math.max(0, at + step))]?.focus();
      event.preventDefault();
      event.stopPropagation();
    });
    this.element.append(h("div", { class: "side" }, this.filter, this.summary, this.list), this.diff);
  }

  show(): void {
    const program = this.page.kernel?.program ?? null;
    const chunk = program?.passes ?? null;
    if (chunk !== null && chunk === this.chunk) return;
    this.chunk = chunk;
    this.turn++;
    this.passes = [];
    this.chosen = -1;
    this.unfolded.clear();
    if (chunk !== null) return void this.read(chunk);
    fill(this.list);
    fill(this.summary);
    const next = this.page.compiler === null ? "Record them: kernlens stages SOURCE --device D --all-passes -o X.klens" : null;
    fill(this.diff, nothing("The single passes of this program were not kept.", next));
    if (this.page.compiler !== null) this.diff.append(h("button", { class: "tool", type: "button", onclick: () => this.page.compiler?.allPasses() }, "Compile again and keep them"));
  }

  private async read(chunk: string): Promise<void> {
    const turn = ++this.turn;
    try {
      const read = readPasses(await this.page.source.chunk(chunk));
      if (turn !== this.turn) return;
      // Runs without effect are one entry of the chunk.
      const passes = read.passes.flatMap((each) => each.names.map((pass) => ({ ...each, pass })));
      this.passes = passes;
      const acting = passes.filter(acts).length;
      fill(this.summary, `${count(passes.length)} passes, ${count(acting)} changed something`);
      this.draw();
      if (read.missing !== null) return fill(this.diff, nothing(`Not all passes were compared: ${read.missing}.`));
      const asked = Number(this.page.state.more.pass ?? -1);
      this.pick(passes[asked] === undefined ? passes.findIndex(acts) : asked, "replace");
    } catch (problem) {
      if (turn === this.turn) fill(this.diff, h("div", { class: "message" }, ...failure(problem, () => void this.read(chunk))));
    }
  }

  /** Runs of passes that changed nothing are one line, until it is opened. */
  private draw(): void {
    const typed = this.filter.value.trim();
    const matches = this.matching(typed);
    const items: HTMLElement[] = [];
    for (let at = 0; at < this.passes.length; at++) {
      if (!matches(at)) continue;
      let end = at;
      while (end < this.passes.length && !acts(this.passes[end]) && matches(end)) end++;
      const first = at;
      if (end - at > 1 && typed === "" && !this.unfolded.has(first)) {
        const open = (): void => {
          this.unfolded.add(first);
          this.draw();
        };
        items.push(h("li", {}, h("button", { type: "button", class: "quiet", "aria-expanded": "false", onclick: open }, `▸ ${end - at} without effect`)));
        at = end - 1;
      } else {
        // All of a run that was opened.
        for (; at < Math.max(end, first + 1); at++) items.push(this.item(at));
        at--;
      }
    }
    fill(this.list, ...(items.length > 0 ? items : [h("li", { class: "dim" }, "No pass is called so.")]));
  }

  private matching(typed: string): (at: number) => boolean {
    if (!typed.startsWith("+")) return (at) => this.passes[at].pass.toLowerCase().includes(typed.toLowerCase());
    const text = typed.slice(1).trim().toLowerCase();
    return (at) => (this.passes[at].diff ?? "").toLowerCase().split("\n").some((line) => /^[+-]/.test(line) && line.includes(text));
  }

  private item(at: number): HTMLElement {
    const { pass, attempt, seconds, changed, added, removed } = this.passes[at];
    const effect = changed === null ? h("em", { title: "Only a part of the program was dumped here" }, "not known") : h("em", {}, acts(this.passes[at]) ? [added > 0 ? `+${added}` : "", removed > 0 ? `−${removed}` : ""].join(" ") || "moved" : "");
    const title = [pass, attempt === null ? "" : `attempt ${attempt}`, seconds === null ? "" : `${seconds.toFixed(3)} s`].filter((word) => word !== "").join(", ");
    return h(
      "li",
      { class: at === this.chosen ? "on" : null },
      h("button", { type: "button", title, "aria-pressed": String(at === this.chosen), onclick: () => this.pick(at, "push") }, h("span", { class: "number" }, String(at + 1)), h("span", { class: "name" }, pass), effect),
    );
  }

  private pick(at: number, how: "push" | "replace"): void {
    this.chosen = at;
    if (at < 0) return fill(this.diff, nothing("No pass changed anything."));
    this.page.go({ more: { ...this.page.state.more, pass: String(at) } }, how);
    this.draw();
    this.list.querySelector("li.on")?.scrollIntoView({ block: "nearest" });
    const { diff, pass, changed, missing } = this.passes[at];
    const why = changed === null ? "only a part of the program was dumped, so what it changed is not known" : (missing ?? "it changed nothing");
    if (diff === null) fill(this.diff, nothing(`${pass}: ${why}.`));
    else {
      const lines = diff.split("\n");
      fill(this.diff, ...lines.slice(0, MOST_LINES).map((line) => h("div", { class: kindOf(line) }, line === "" ? " " : line)));
      if (lines.length > MOST_LINES) this.diff.append(nothing(`${count(lines.length - MOST_LINES)} more lines are not drawn.`));
      this.diff.scrollTop = 0;
    }
  }
}

function acts({ changed }: Pass): boolean {
  return changed !== false;
}

function kindOf(line: string): string {
  if (line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---")) return "place";
  return line.startsWith("+") ? "come" : line.startsWith("-") ? "gone" : "";
}
