import type { Kernel } from "../document/kernel";
import type { Configuration } from "../document/options";
import { sentenceOf } from "../document/source";
import { h, plural } from "../dom";
import type { Built, Page } from "../page";
import { OfferButtons } from "./offers";
import { sourceTitle } from "./sides";
import { type Row, sweepOf } from "./sweep_rows";

/** A sweep that is compiled here, of the program of the kernel that is shown: what it is for, and its rows as they come. */
export class Builds {
  readonly element = h("div", { class: "builds" });
  /** Of what was compiled here; null where nothing was. */
  rows: Row[] | null = null;
  private readonly offers = new OfferButtons(true, (configurations) => this.abort === null && void this.compile(configurations));
  private readonly state = h("span", { role: "status" });
  private readonly stop = h("button", { class: "tool", type: "button", hidden: true, onclick: () => this.abort?.abort() }, "Stop");
  private readonly clear = h("button", { class: "tool", type: "button", hidden: true, onclick: () => this.rest() }, "Clear");
  private abort: AbortController | null = null;

  constructor(
    private readonly page: Page,
    private readonly changed: () => void,
  ) {
    this.element.append(this.offers.element, h("p", {}, this.state, " ", this.stop, " ", this.clear));
  }

  /** Whether the kernel's source can be compiled for anything. */
  async offer({ program }: Kernel): Promise<boolean> {
    const offers = (await this.page.compiler?.offers(program)) ?? null;
    if (offers === null) return false;
    this.offers.show(offers);
    if (this.abort === null) this.state.textContent = `Each build compiles ${sourceTitle(program)}, the source of the kernel that is shown.`;
    return true;
  }

  private async compile(configurations: Configuration[]): Promise<void> {
    const { compiler, kernel, index } = this.page;
    if (compiler === null || kernel === null || index === null) return;
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.rows = [];
    this.stop.hidden = false;
    this.clear.hidden = true;
    let [done, failed] = [0, 0];
    const say = (words: string): void => {
      this.state.textContent = `${words} ${done} of ${plural(configurations.length, "build")}${failed > 0 ? `, ${failed} failed` : ""}`;
    };
    say("Compiling:");
    try {
      for await (const built of compiler.builds(configurations, signal)) {
        done++;
        failed += Number(built.index === null);
        this.rows.push(...(built.index === null ? failedRows(kernel, built) : rowsOf(built, kernel, index.figures)));
        say("Compiling:");
        this.changed();
      }
      say("Compiled:");
    } catch (problem) {
      say(signal.aborted ? "Stopped:" : `${sentenceOf(problem)} Compiled:`);
    }
    this.abort = null;
    this.stop.hidden = true;
    this.clear.hidden = false;
    this.changed();
  }

  private rest(): void {
    this.rows = null;
    this.changed();
  }
}

/** The rows of a build, under the names that were asked for: a document calls devices and toolchains by titles of its own. */
function rowsOf({ configuration, index }: Built, { program }: Kernel, figures: Parameters<typeof sweepOf>[0]["figures"]): Row[] {
  const { device, toolchain, options } = configuration;
  return sweepOf({ figures, programs: index?.programs ?? [] }).map((row) => ({ ...row, source: sourceTitle(program), device, toolchain, options }));
}

function failedRows({ program }: Kernel, { configuration, reason }: Built): Row[] {
  const { device, toolchain, options } = configuration;
  return program.kernels.name.map((kernel) => ({ source: sourceTitle(program), device, toolchain, options, compiler: null, kernel, figures: null, reason }));
}
