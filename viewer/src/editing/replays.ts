import type { HttpSource } from "../document/http";
import type { Choices } from "../document/options";
import { badgeOf, type Replayed, replayedOf } from "../document/replayed";
import { DocumentError, sentenceOf } from "../document/source";
import { fill, h } from "../dom";
import { replayedAnswer } from "../frame/replayed";
import type { Badge } from "../frame/versions";
import { compile, waitingWords } from "./compiles";
import type { Edit } from "./edit";
import type { Version } from "./versions";

/** Pairs of runs that are timed, as `kernlens replay` does. */
const RUNS = 20;

type What = "verify" | "time";
const DOING: Record<What, string> = { verify: "verifying", time: "timing" };

/** What came of it; a text: why there is no answer. */
type Answer = Replayed | string;

interface Running {
  what: What;
  version: Version;
  kernel: string;
  since: number;
  words: string;
  abort: AbortController;
}

/** A version run on the launch that the recording keeps of the kernel, in turn with the recorded build: two buttons, how far it
 * is, and the answer on the version that is shown. */
export class Replays {
  readonly element = h("div", { class: "replays", role: "group", "aria-label": "Replay of the kept launch", hidden: true });
  private readonly buttons: Record<What, HTMLButtonElement>;
  private readonly state = h("span", { class: "state", role: "status" });
  private readonly result = h("div", {});
  /** By version and kernel: what was replayed stays as long as its version does. */
  private readonly answers = new WeakMap<Version, Map<string, Answer>>();
  private drawn: Answer | null = null;
  /** A newer request of a session ends the older one, and edits are compiled meanwhile. */
  private readonly session = crypto.randomUUID();
  private serial = 0;
  private running: Running | null = null;
  private clock = 0;
  private shown: { edit: Edit; kernel: string; choices: Choices } | null = null;

  constructor(
    private readonly source: HttpSource,
    /** An answer is there. */
    private readonly changed: () => void,
  ) {
    const button = (what: What, title: string): HTMLButtonElement => h("button", { class: "tool", type: "button", title, "data-key": what, onclick: () => this.press(what) });
    this.buttons = {
      verify: button("verify", "Run this version on the kept launch, and compare all memory with what the launch left"),
      time: button("time", `Verify, and time this version against the recorded build: ${RUNS} pairs of runs`),
    };
    this.element.append(h("p", {}, this.buttons.verify, " ", this.buttons.time, " ", this.state), this.result);
  }

  /** Shows what can be asked of the current version of an edit, and what was answered. */
  show(edit: Edit, kernel: string, choices: Choices): void {
    this.shown = { edit, kernel, choices };
    this.draw();
  }

  /** What a version's badge says of a kernel; null if it was not replayed. */
  badge(version: Version, kernel: string): Badge | null {
    const answer = this.answers.get(version)?.get(kernel);
    return answer === undefined || typeof answer === "string" ? null : { ...badgeOf(answer), title: answer.answer };
  }

  private press(what: What): void {
    const { running, shown } = this;
    if (running !== null) {
      running.abort.abort();
      return this.rest();
    }
    if (shown === null || obstacle(shown) !== null) return;
    const { edit, kernel } = shown;
    const begun: Running = { what, version: edit.versions.current, kernel, since: performance.now(), words: DOING[what], abort: new AbortController() };
    this.running = begun;
    this.answers.get(begun.version)?.delete(kernel);
    this.clock = window.setInterval(() => this.tell(), 100);
    this.changed();
    void this.run(edit, begun);
  }

  private async run(edit: Edit, running: Running): Promise<void> {
    const { version, kernel, abort } = running;
    const answer = await this.ask(edit, running).catch(sentenceOf);
    if (abort.signal.aborted) return;
    const answers = this.answers.get(version) ?? new Map<string, Answer>();
    this.answers.set(version, answers.set(kernel, answer));
    this.rest();
  }

  private async ask(edit: Edit, running: Running): Promise<Replayed> {
    const { what, version, kernel, abort } = running;
    const configuration = { ...version.configuration, replay: { kernel, runs: what === "time" ? RUNS : 0 } };
    const request = { session: this.session, serial: ++this.serial, source: edit.asSource(version), configurations: [configuration] };
    for await (const event of compile(this.source, request, abort.signal)) {
      if (event.event === "closing") throw new DocumentError("The server is ending.", "Start kernlens serve again.");
      if (event.event === "queued") running.words = waitingWords(event.place);
      else if (event.event === "started" || event.event === "stage") running.words = DOING[what];
      else if (event.event === "result" && event.replayed == null) throw new DocumentError(event.reason ?? "The launch could not run.");
      else if (event.event === "result") return replayedOf(event.replayed);
    }
    throw new DocumentError("The server ended the replay before it had a result.", "Try again.");
  }

  private rest(): void {
    clearInterval(this.clock);
    this.running = null;
    this.changed();
    this.draw();
  }

  private draw(): void {
    const { shown, running, buttons } = this;
    this.element.hidden = shown?.choices.replay == null;
    if (shown === null || this.element.hidden) return;
    const why = obstacle(shown);
    for (const what of ["verify", "time"] as const) {
      const isOwn = running?.what === what;
      buttons[what].textContent = isOwn ? "Stop" : what === "verify" ? "Verify" : "Time";
      buttons[what].disabled = running === null ? why !== null : !isOwn;
    }
    const answer = this.answers.get(shown.edit.versions.current)?.get(shown.kernel) ?? null;
    this.tell(why ?? (typeof answer === "string" ? answer : ""), typeof answer === "string");
    if (answer === this.drawn) return;
    this.drawn = answer;
    fill(this.result, answer === null || typeof answer === "string" ? null : replayedAnswer(answer));
  }

  /** How far it is, else these words. */
  private tell(words = "", isFailure = false): void {
    const { running } = this;
    const seconds = running === null ? "" : ((performance.now() - running.since) / 1000).toFixed(1);
    const told = running === null ? words : `${running.words} version ${running.version.number} of ${running.kernel}, ${seconds} s`;
    if (this.state.textContent !== told) this.state.textContent = told;
    this.state.classList.toggle("failed", running === null && isFailure);
  }
}

/** Why the current version of an edit cannot be replayed; null if it can. */
export function obstacle({ edit, kernel, choices }: { edit: Pick<Edit, "base" | "versions" | "isStale">; kernel: string; choices: Choices }): string | null {
  const { replay } = choices;
  if (replay == null) return "The recording keeps no launches.";
  if (!Object.hasOwn(replay.kernels, edit.base.id) || !replay.kernels[edit.base.id].includes(kernel)) return `No launch of ${kernel} was kept: kernlens capture --launch ${kernel} keeps one.`;
  if (replay.device === null) return `No device here runs it: ${replay.reason ?? "none was found"}.`;
  if (edit.versions.current.errors > 0) return `Version ${edit.versions.current.number} does not compile.`;
  return edit.isStale ? "What was typed is not compiled yet." : null;
}
