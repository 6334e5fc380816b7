import { readPasses } from "../document/read";
import type { Pass, Passes } from "../document/schema";
import { count, fill, h, plural, sentence } from "../dom";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import type { View } from "./view";

/** Lines of a change that are drawn. */
const MOST_LINES = 6000;

/** A run of a pass: `0121-OPT-SimplifytheCFG` is the number, the phase and the name. */
interface Run extends Pass {
  number: number;
  phase: string;
  title: string;
  /** Seconds of all runs in the phase, and how many they are; null where that is not known. */
  seconds: number | null;
  runs: number;
}

/** The compiler's single passes over the kernel's LLVM IR, in their order, with what each changed and how long it took. */
export class PassesView implements View {
  readonly name = "passes";
  readonly title = "Passes";
  readonly hint = "What each of the compiler's passes changed in this kernel";
  readonly element = h("div", { class: "passes" });
  private readonly summary = h("p", {});
  private readonly times = h("p", { class: "dim" });
  private readonly filter = h("input", { type: "search", placeholder: "Pass, or +text in its change", "aria-label": "Filter passes by name, or by +text in what they changed" });
  private readonly touched = h("input", { type: "text", class: "touched", placeholder: "any", "aria-label": "Touched line: a number, or file:number", inputmode: "numeric" });
  private readonly pinned = h("button", { class: "tool", type: "button", onclick: () => this.takePinned() });
  private readonly only = h("button", { class: "tool", type: "button", "aria-pressed": "true", onclick: () => this.turnOnly() }, "Only what changed");
  private readonly heads = h("div", { class: "passes-heads", "aria-hidden": "true" }, ...["", "pass", "phase", "−", "+", "time"].map((word) => h("span", {}, word)));
  private readonly list = h("ol", {});
  private readonly diff = h("div", { class: "diff mono", tabindex: "0", role: "region", "aria-label": "What the pass changed" });
  private runs: Run[] = [];
  private chunk: string | null = null;
  private turn = 0;
  private chosen = -1;

  constructor(private readonly page: Page) {
    this.filter.addEventListener("input", () => this.draw());
    this.touched.addEventListener("input", () => {
      const { touch: _, ...more } = this.page.state.more;
      const typed = this.touched.value.trim();
      this.page.go({ more: typed === "" ? more : { ...more, touch: typed } }, "replace");
      this.draw();
    });
    this.list.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
      if (step === undefined) return;
      const buttons = [...this.list.querySelectorAll("button")];
      const at = buttons.indexOf((this.element.getRootNode() as ShadowRoot).activeElement as HTMLButtonElement);
      buttons[Math.min(buttons.length - 1, Math.max(0, at + step))]?.focus();
      event.preventDefault();
      event.stopPropagation();
    });
    const fields = h("div", { class: "choice" }, h("label", {}, "Touched line ", this.touched), this.pinned, this.filter, this.only);
    this.element.append(h("div", { class: "passes-head" }, this.summary, fields, this.times), h("div", { class: "side" }, this.heads, this.list), this.diff);
  }

  show(): void {
    const { kernel, state } = this.page;
    this.touched.value = state.more.touch ?? "";
    this.pinned.hidden = state.line === null;
    if (state.line !== null) fill(this.pinned, `Line ${state.line.line}, pinned`);
    const chunk = kernel === null ? null : (kernel.program.passes?.[kernel.row] ?? null);
    if (chunk !== null && chunk === this.chunk) return this.draw();
    this.chunk = chunk;
    this.turn++;
    this.runs = [];
    this.chosen = -1;
    this.element.classList.toggle("empty", chunk === null);
    for (const part of [this.list, this.summary, this.times]) fill(part);
    if (chunk !== null) return void this.read(chunk);
    const next = this.page.compiler === null ? "Record them: kernlens stages SOURCE --device D --all-passes -o X.klens" : null;
    fill(this.diff, nothing("The single passes of this program were not recorded.", next));
    if (this.page.compiler !== null) this.diff.append(h("button", { class: "tool", type: "button", onclick: () => this.page.compiler?.allPasses() }, "Compile again and record them"));
  }

  private async read(chunk: string): Promise<void> {
    const turn = ++this.turn;
    fill(this.diff, h("p", { class: "dim waiting" }, "comparing what the passes left"));
    try {
      const read = readPasses(await this.page.source.chunk(chunk));
      if (turn !== this.turn) return;
      this.runs = runsOf(read);
      const name = this.page.kernel?.program.kernels.shown[this.page.kernel.row] ?? "";
      const acting = this.runs.filter(acts).length;
      fill(this.summary, h("b", {}, `${plural(acting, "pass", "passes")} changed ${name}`), h("span", { class: "dim" }, ` of ${count(this.runs.length)} that ran`));
      fill(this.times, read.no_times === null ? "Times are the compiler's own, of the whole program: all runs of a pass in its phase together, in a compile without dumps." : `No times: ${read.no_times}.`);
      this.element.classList.toggle("untimed", read.no_times !== null);
      this.draw();
      if (read.missing !== null) return fill(this.diff, nothing(`Not all passes were compared: ${read.missing}.`));
      const asked = Number(this.page.state.more.pass ?? -1);
      this.pick(this.runs[asked] === undefined ? this.runs.findIndex(this.isWanted()) : asked, "replace");
    } catch (problem) {
      if (turn === this.turn) fill(this.diff, h("div", { class: "message" }, ...failure(problem, () => void this.read(chunk))));
    }
  }

  private takePinned(): void {
    const { line } = this.page.state;
    if (line === null) return;
    this.touched.value = `${line.path.slice(line.path.lastIndexOf("/") + 1)}:${line.line}`;
    this.touched.dispatchEvent(new Event("input"));
  }

  private turnOnly(): void {
    this.only.setAttribute("aria-pressed", String(this.only.getAttribute("aria-pressed") !== "true"));
    this.draw();
  }

  /** What the fields leave. */
  private isWanted(): (run: Run) => boolean {
    const typed = this.filter.value.trim().toLowerCase();
    const isCalled = typed.startsWith("+") ? ({ diff }: Run) => (diff ?? "").toLowerCase().split("\n").some((line) => /^[+-]/.test(line) && line.includes(typed.slice(1).trim())) : ({ pass }: Run) => pass.toLowerCase().includes(typed);
    const match = /^(?:(.*):)?\s*(\d{1,9})$/.exec(this.touched.value.trim());
    const isTouching = match === null ? () => true : ({ lines }: Run) => lines.some(({ path, line }) => line === Number(match[2]) && (match[1] === undefined || path === match[1] || path.endsWith(`/${match[1]}`)));
    const isAll = this.only.getAttribute("aria-pressed") !== "true" || (typed !== "" && !typed.startsWith("+"));
    return (run) => (isAll || acts(run)) && isCalled(run) && isTouching(run);
  }

  private draw(): void {
    const isWanted = this.isWanted();
    const items = this.runs.flatMap((run, at) => (isWanted(run) ? [this.item(run, at)] : []));
    const line = this.touched.value.trim();
    fill(this.list, ...(items.length > 0 || this.runs.length === 0 ? items : [h("li", { class: "dim none" }, line === "" ? "No pass fits." : `No pass touched line ${line}.`)]));
  }

  private item(run: Run, at: number): HTMLElement {
    const { pass, attempt, changed, added, removed, number, phase, title, seconds, runs } = run;
    const time = seconds === null ? "" : `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 1)} ms`;
    const words = [pass, attempt === null || attempt === 1 ? "" : `attempt ${attempt}`, seconds === null ? "" : `${time} in ${plural(runs, "run")} of this phase`].filter((word) => word !== "").join(", ");
    const moved = changed === null ? "?" : changed && added + removed === 0 ? "moved" : "";
    return h(
      "li",
      { class: at === this.chosen ? "on" : null },
      h(
        "button",
        { type: "button", title: changed === null ? `${words}: only a part of the program was dumped here` : words, "data-key": at, "aria-pressed": String(at === this.chosen), onclick: () => this.pick(at, "push") },
        h("span", { class: "number" }, String(number)),
        h("span", { class: "name" }, title),
        h("span", { class: "phase" }, phase),
        h("em", { class: "removed" }, removed > 0 ? `−${count(removed)}` : ""),
        h("em", { class: "added" }, added > 0 ? `+${count(added)}` : moved),
        h("em", { class: "time" }, time, runs > 1 && seconds !== null ? h("small", {}, ` /${runs}`) : null),
      ),
    );
  }

  private pick(at: number, how: "push" | "replace"): void {
    this.chosen = at;
    if (at < 0) return fill(this.diff, nothing("No pass changed anything here."));
    this.page.go({ more: { ...this.page.state.more, pass: String(at) } }, how);
    this.draw();
    this.list.querySelector("li.on")?.scrollIntoView({ block: "nearest" });
    const { diff, pass, changed, missing } = this.runs[at];
    const why = changed === null ? "only a part of the program was dumped, so what it changed is not known" : (missing ?? "it changed nothing in this kernel");
    if (diff === null) fill(this.diff, nothing(`${pass}: ${sentence(why)}`));
    else {
      const lines = diff.split("\n");
      fill(this.diff, ...lines.slice(0, MOST_LINES).map((line) => h("div", { class: kindOf(line) }, line === "" ? " " : line)));
      if (lines.length > MOST_LINES) this.diff.append(nothing(`${count(lines.length - MOST_LINES)} more lines are not drawn.`));
      this.diff.scrollTop = 0;
    }
  }
}

/** Each run of a pass by itself; those without effect are one entry of the document. */
function runsOf({ passes, times }: Passes): Run[] {
  const runs = passes.flatMap((each) =>
    each.names.map((pass): Run => {
      const [, number, phase, title] = /^(\d+)-(\w+?)-(.*)$/.exec(pass) ?? ["", "0", "", pass];
      return { ...each, pass, number: Number(number), phase, title, seconds: times.get(`${phase}-${title}`) ?? null, runs: 1 };
    }),
  );
  const counts = new Map<string, number>();
  for (const { phase, title } of runs) counts.set(`${phase}-${title}`, (counts.get(`${phase}-${title}`) ?? 0) + 1);
  return runs.map((run) => ({ ...run, runs: counts.get(`${run.phase}-${run.title}`) ?? 1 }));
}

function acts({ changed }: Pass): boolean {
  return changed !== false;
}

function kindOf(line: string): string {
  if (line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---")) return "place";
  return line.startsWith("+") ? "come" : line.startsWith("-") ? "gone" : "";
}
