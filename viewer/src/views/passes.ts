import { readPasses } from "../document/read";
import { acts, type Pipelines, pipelinesOf, type Run, runsOf } from "../comparison/pipelines";
import { withoutNumbers } from "../comparison/texts";
import { count, fill, h, plural, sentence } from "../dom";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import { Picker } from "./picker";
import { type Choice, choiceOf, choicesOf } from "./sides";
import type { View } from "./view";

/** Lines of a change that are drawn. */
const MOST_LINES = 6000;

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
  private readonly heads = h("div", { class: "passes-heads", "aria-hidden": "true" });
  private readonly list = h("ol", {});
  private readonly diff = h("div", { class: "diff mono", tabindex: "0", role: "region", "aria-label": "What the pass changed" });
  private readonly against = new Picker("Against", (choice) => void this.compare(choice));
  private readonly alone = h("button", { class: "tool", type: "button", onclick: () => void this.compare(null) }, "This one alone");
  private other: Pipelines | null = null;
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
    const fields = h("div", { class: "choice" }, h("label", {}, "Touched line ", this.touched), this.pinned, this.filter, this.only, this.against.element, this.alone);
    this.element.append(h("div", { class: "passes-head" }, this.summary, fields, this.times), h("div", { class: "side" }, this.heads, this.list), this.diff);
  }

  show(): void {
    const { kernel, state } = this.page;
    this.touched.value = state.more.touch ?? "";
    this.pinned.hidden = state.line === null;
    if (state.line !== null) fill(this.pinned, `Line ${state.line.line}, pinned`);
    const chunk = kernel === null ? null : (kernel.program.passes?.[kernel.row] ?? null);
    this.offer();
    if (chunk !== null && chunk === this.chunk) return this.draw();
    this.chunk = chunk;
    this.other = null;
    this.turn++;
    this.runs = [];
    this.chosen = -1;
    this.element.classList.toggle("empty", chunk === null);
    for (const part of [this.list, this.summary, this.times]) fill(part);
    if (chunk !== null) return void this.read(chunk);
    const next = this.page.compiler === null ? "Record them: kernlens stages SOURCE --device D --all-passes -o X.klens" : null;
    fill(this.diff, nothing("The single passes of this program were not recorded.", next));
    if (this.page.compiler !== null) this.diff.append(h("button", { class: "tool", type: "button", onclick: () => void this.page.compiler?.configure({ all_passes: true }) }, "Compile again and record them"));
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
      const against = this.choices().find(({ key }) => key === this.page.state.more.against);
      if (against !== undefined) return void this.compare(against);
      this.pick(this.runs[asked] === undefined ? this.runs.findIndex(this.isWanted()) : asked, "replace");
    } catch (problem) {
      if (turn === this.turn) fill(this.diff, h("div", { class: "message" }, ...failure(problem, () => void this.read(chunk))));
    }
  }

  /** Kernels whose single passes are here, but for the one that is shown. */
  private choices(): Choice[] {
    const { index, kernel, compiler } = this.page;
    if (index === null || kernel === null) return [];
    const all = choicesOf(index, compiler);
    const here = choiceOf(all, kernel.program, kernel.row);
    return all.filter((choice) => choice !== here && choice.entry.program.passes?.[choice.entry.row] != null);
  }

  private offer(): void {
    const choices = this.choices();
    this.against.element.hidden = choices.length === 0;
    this.against.show(choices, choices.find(({ key }) => key === this.page.state.more.against) ?? null);
    this.alone.hidden = this.page.state.more.against === undefined;
  }

  /** Puts the passes of another build beside these, and goes to the first that does something else. */
  private async compare(choice: Choice | null): Promise<void> {
    const { against: _, pass: __, ...more } = this.page.state.more;
    this.page.go({ more: choice === null ? more : { ...more, against: choice.key } }, "replace");
    this.other = null;
    this.chosen = -1;
    this.offer();
    if (choice === null) {
      this.chunk = null;
      return this.show();
    }
    // The own passes are on their way, and look at the address when they are here.
    if (this.runs.length === 0) return;
    const turn = ++this.turn;
    try {
      const read = readPasses(await this.page.source.chunk(choice.entry.program.passes?.[choice.entry.row] ?? ""));
      if (turn !== this.turn) return;
      this.other = pipelinesOf(this.runs, runsOf(read));
      fill(this.times, `Left ${this.titleHere()}, right ${choice.detail}. ${this.partingWords(this.other)} Numbered names (%12, !34) are not compared.`);
      this.draw();
      this.pick(this.other.parting, "replace");
    } catch (problem) {
      if (turn === this.turn) fill(this.diff, h("div", { class: "message" }, ...failure(problem, () => void this.compare(choice))));
    }
  }

  private titleHere(): string {
    const { index, kernel, compiler } = this.page;
    return index === null || kernel === null ? "" : (choiceOf(choicesOf(index, compiler), kernel.program, kernel.row)?.detail ?? "this build");
  }

  private partingWords({ rows, parting, alike, isUncertain }: Pipelines): string {
    const unknown = isUncertain ? " What some passes before it changed is not known." : "";
    if (parting < 0) return isUncertain ? "No pass is known to change the code in another way." : "No pass changes the code in another way on the two sides.";
    const { old, now } = rows[parting];
    const does = old === null ? "runs on the right alone" : now === null ? "runs on the left alone" : "changes the code in another way";
    return `They part at ${(old ?? now)?.pass}, which ${does}; ${alike === 0 ? "no pass before it changes anything" : `the ${plural(alike, "pass", "passes")} before it with a change ${alike === 1 ? "does" : "do"} the same`}.${unknown}`;
  }

  private pairItem(at: number): HTMLElement {
    const { old, now, isSame } = this.other?.rows[at] ?? { old: null, now: null, isSame: null };
    const isOther = isSame === false;
    const run = old ?? now;
    const moved = (each: Run | null): HTMLElement => h("em", {}, each === null ? "–" : each.changed === null ? "?" : acts(each) ? `−${count(each.removed)} +${count(each.added)}` : "");
    const words = `${run?.pass}${!isOther ? "" : at === this.other?.parting ? ": here they part" : ": another change"}`;
    return h("li", { class: `pair${at === this.chosen ? " on" : ""}${isOther ? " parted" : ""}` }, h("button", { type: "button", title: words, "data-key": at, "aria-pressed": String(at === this.chosen), onclick: () => this.pick(at, "push") }, h("span", { class: "number" }, !isOther ? "" : at === this.other?.parting ? "▶" : "≠"), h("span", { class: "name" }, run?.title ?? ""), h("span", { class: "phase" }, run?.phase ?? ""), moved(old), moved(now)));
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
    this.heads.classList.toggle("pair", this.other !== null);
    fill(this.heads, ...(this.other === null ? ["", "pass", "phase", "−", "+", "time"] : ["", "pass", "phase", "left", "right"]).map((word) => h("span", {}, word)));
    const items = this.other === null ? this.runs.flatMap((run, at) => (isWanted(run) ? [this.item(run, at)] : [])) : this.other.rows.flatMap(({ old, now }, at) => ([old, now].some((run) => run !== null && isWanted(run)) ? [this.pairItem(at)] : []));
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
    if (at < 0) return fill(this.diff, nothing(this.other === null ? "No pass changed anything here." : "Nothing differs."));
    this.page.go({ more: { ...this.page.state.more, pass: String(at) } }, how);
    this.draw();
    this.list.querySelector("li.on")?.scrollIntoView({ block: "nearest" });
    if (this.other !== null) {
      const { old, now } = this.other.rows[at];
      const own = [old, now].map((run) => new Set((run?.diff ?? "").split("\n").map(withoutNumbers)));
      const mark = (run: Run | null, side: number, lines: HTMLElement[]): HTMLElement[] => {
        if (run !== null && [old, now].every((each) => each?.diff != null)) for (const line of lines) line.classList.toggle("unlike", !line.classList.contains("place") && !own[1 - side].has(withoutNumbers(line.textContent)));
        return lines;
      };
      fill(this.diff, h("div", { class: "two" }, ...[old, now].map((run, side) => h("div", {}, ...(run === null ? [nothing(`This pass does not run on the ${side === 0 ? "left" : "right"}.`)] : mark(run, side, changeLines(run)))))));
      this.diff.scrollTop = 0;
      this.diff.querySelector(".unlike")?.scrollIntoView({ block: "center" });
      return;
    }
    fill(this.diff, ...changeLines(this.runs[at]));
    this.diff.scrollTop = 0;
  }
}

/** What a pass changed, or why that is not there. */
function changeLines({ diff, pass, changed, missing }: Run): HTMLElement[] {
  const why = changed === null ? "only a part of the program was dumped, so what it changed is not known" : (missing ?? "it changed nothing in this kernel");
  if (diff === null) return [nothing(`${pass}: ${sentence(why)}`)];
  const lines = diff.split("\n");
  const drawn = lines.slice(0, MOST_LINES).map((line) => h("div", { class: kindOf(line) }, line === "" ? " " : line));
  return lines.length > MOST_LINES ? [...drawn, nothing(`${count(lines.length - MOST_LINES)} more lines are not drawn.`)] : drawn;
}

function kindOf(line: string): string {
  if (line.startsWith("@@") || line.startsWith("+++") || line.startsWith("---")) return "place";
  return line.startsWith("+") ? "come" : line.startsWith("-") ? "gone" : "";
}
