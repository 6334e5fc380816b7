import { isOpenCl } from "../document/family";
import type { HttpSource } from "../document/http";
import type { Kernel } from "../document/kernel";
import type { Choices } from "../document/options";
import { readText } from "../document/read";
import type { FileInfo, ProgramInfo } from "../document/schema";
import { DocumentError, sentenceOf } from "../document/source";
import { type Tried, triedOf } from "../document/tried";
import { fill, h } from "../dom";
import { triedTable } from "../frame/tried";
import { type CompileEvent, compile, likeOf, waitingWords } from "./compiles";

/** The file that a program is compiled from, as far as its text is there; null if it is not, or in another language than
 * what is compiled here. Headers are included by others. */
export function mainFile({ files }: ProgramInfo): FileInfo | null {
  if (!files.every(({ path }) => isOpenCl(path))) return null;
  const known = files.filter(({ chunk }) => chunk !== null);
  return known.find(({ path }) => !/\.h\w*$/i.test(path)) ?? known[0] ?? null;
}

/** How far trials are, in words; null for an event that says nothing of it. */
export function progressWords(event: CompileEvent): string | null {
  if (event.event === "queued") return waitingWords(event.place);
  if (event.event === "started") return "compiling";
  return event.event === "stage" ? `compiled ${event.done} of ${event.of},` : null;
}

/** Build options tried on the source of a program: a button, how far it is, and the table of the kernel that is shown. */
export class Trials {
  /** By program: what was tried stays as long as its program does. */
  private static readonly all = new WeakMap<ProgramInfo, Trials>();
  readonly element: HTMLElement;
  private readonly button = h("button", { class: "tool", type: "button", onclick: () => this.press() });
  private readonly state = h("span", { class: "state", role: "status" });
  private readonly result = h("div", {});
  /** A newer request of a session ends the older one, and edits are compiled meanwhile. */
  private readonly session = crypto.randomUUID();
  private serial = 0;
  private abort: AbortController | null = null;
  private clock = 0;
  private doing = "";
  private tried: Tried | null = null;
  private kernel = "";

  constructor(
    private readonly source: HttpSource,
    private readonly program: ProgramInfo,
  ) {
    this.button.title = "Compile the source with other build options, and compare this kernel per work-item";
    this.element = h("section", { class: "trials", "aria-label": "Build options" }, h("p", {}, this.button, " ", this.state), this.result);
    this.draw();
  }

  static of(program: ProgramInfo, source: HttpSource): Trials {
    const trials = Trials.all.get(program) ?? new Trials(source, program);
    Trials.all.set(program, trials);
    return trials;
  }

  /** Shows what came of it for this kernel of the program. */
  show({ name }: Kernel): HTMLElement {
    this.kernel = name;
    this.draw();
    return this.element;
  }

  private press(): void {
    const { abort } = this;
    if (abort !== null) {
      this.rest();
      abort.abort();
      return this.say("stopped", false);
    }
    const since = performance.now();
    this.abort = new AbortController();
    this.tried = null;
    this.doing = "compiling";
    const tick = (): void => this.say(`${this.doing} ${((performance.now() - since) / 1000).toFixed(1)} s`, false);
    this.clock = window.setInterval(tick, 100);
    tick();
    this.draw();
    void this.run(this.abort.signal, since);
  }

  private async run(signal: AbortSignal, since: number): Promise<void> {
    try {
      const tried = await this.ask(signal);
      if (signal.aborted) return;
      this.know(tried);
      this.rest();
      this.say(`compiled in ${((performance.now() - since) / 1000).toFixed(2)} s`, false);
    } catch (problem) {
      if (signal.aborted) return;
      this.rest();
      this.say(sentenceOf(problem), true);
    }
  }

  private async ask(signal: AbortSignal): Promise<Tried> {
    const { source, program, session } = this;
    const file = mainFile(program);
    if (file === null || file.chunk === null) throw new DocumentError("There is no source text here to compile.");
    const choices = (await source.json("/api/choices")) as Choices;
    const configuration = likeOf(program, choices);
    if (configuration === null || configuration.device !== program.device)
      throw new DocumentError(`No compiler here is for ${program.device ?? "a device that is not known"}.`, "Compare and Sweep compile the source for other devices.");
    const text = readText(await source.chunk(file.chunk));
    const request = { session, serial: ++this.serial, source: { path: file.path, text, program: program.id }, configurations: [{ ...configuration, trials: true }] };
    for await (const event of compile(source, request, signal)) {
      if (event.event === "closing") throw new DocumentError("The server is ending.", "Start kernlens serve again.");
      if (event.event === "tried") this.know(triedOf(event.tried));
      else if (event.event !== "result") this.doing = progressWords(event) ?? this.doing;
      else if (event.tried == null) throw new DocumentError(event.reason ?? "The source does not compile as it is.");
      else return triedOf(event.tried);
    }
    throw new DocumentError("The server ended the compile before it had a result.", "Try again.");
  }

  /** Shows what is known so far. */
  private know(tried: Tried): void {
    this.tried = tried;
    this.draw();
  }

  private rest(): void {
    clearInterval(this.clock);
    this.abort = null;
    this.draw();
  }

  private draw(): void {
    this.button.textContent = this.abort === null ? "Try options" : "Stop";
    fill(this.result, this.tried === null ? null : triedTable(this.tried, this.kernel));
  }

  private say(words: string, isFailure: boolean): void {
    this.state.textContent = words;
    this.state.classList.toggle("failed", isFailure);
  }
}
