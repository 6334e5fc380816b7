import { isProcessor } from "../document/family";
import type { HttpSource } from "../document/http";
import type { Choices, Configuration } from "../document/options";
import type { ProgramInfo } from "../document/schema";
import { DocumentError } from "../document/source";
import type { Built, Offers } from "../page";
import { compile, likeOf } from "./compiles";
import type { Edit } from "./edit";

/** Configurations of one request, at most (explorer/compile_request.py). */
const AT_ONCE = 16;

/** Whether a compiler here is for a program's device, as far as devices are known yet. Any is for what a processor runs. */
export function isCompiledHere(program: ProgramInfo, choices: Choices | null): boolean {
  return choices === null || program.device === null || isProcessor(program) || choices.devices.some(({ name }) => name === program.device);
}

export function offersOf(program: ProgramInfo, choices: Choices | null): Offers | null {
  const like = choices === null ? null : likeOf(program, choices);
  return choices === null || like === null ? null : { choices, like };
}

/** Compiles what is edited, as it is now, for each of these configurations, in a session of its own: an edit that is compiled meanwhile ends none. */
export async function* buildsOf(source: HttpSource, begun: Promise<Edit | null>, configurations: readonly Configuration[], signal: AbortSignal): AsyncGenerator<Built> {
  const edit = await begun;
  if (edit === null) return;
  const text = edit.asSource(edit.draft);
  const session = crypto.randomUUID();
  for (let first = 0; first < configurations.length && !signal.aborted; first += AT_ONCE) {
    const asked = configurations.slice(first, first + AT_ONCE);
    for await (const event of compile(source, { session, serial: first + 1, source: text, configurations: asked }, signal)) {
      if (event.event === "closing") throw new DocumentError("The server is ending.", "Start kernlens serve again.");
      if (event.event !== "result") continue;
      const configuration = asked[event.configuration];
      for (const program of event.index?.programs ?? []) program.options = configuration.options;
      yield { configuration, index: event.ok ? event.index : null, reason: event.ok ? null : (event.reason ?? "it does not compile") };
    }
  }
}
