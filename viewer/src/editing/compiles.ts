import { gone, type HttpSource } from "../document/http";
import { type Choices, type Configuration, withoutLines } from "../document/options";
import { readDiagnostics, readIndex } from "../document/read";
import type { Diagnostic, Index, ProgramInfo } from "../document/schema";
import { plural } from "../dom";

export interface Result {
  event: "result";
  configuration: number;
  ok: boolean;
  reason: string | null;
  log: string;
  seconds: number;
  command: string | null;
  diagnostics: Diagnostic[];
  /** The document of the result alone. */
  index: Index | null;
  /** Of trials: what document/tried.ts reads; null if the source does not compile as it is. */
  tried?: unknown;
  /** Of a replay: what document/replayed.ts reads; null if it could not run. */
  replayed?: unknown;
}

export type CompileEvent =
  | { event: "queued"; configuration: number; place: number }
  | { event: "started"; configuration: number }
  | { event: "stage"; configuration: number; done: number; of: number }
  | { event: "tried"; configuration: number; tried: unknown }
  | { event: "alive" | "superseded" | "closing" | "end" }
  | Result;

export interface Request {
  session: string;
  serial: number;
  source: { path: string; text: string; program: string; others?: { path: string; text: string }[] };
  configurations: Configuration[];
}

/** The configuration that a program was built with, or the nearest that there is here; null if there is no compiler. */
export function likeOf(program: ProgramInfo, { devices, toolchains }: Choices): Configuration | null {
  const device = devices.find(({ name }) => name === program.device) ?? devices[0];
  if (device === undefined) return null;
  const able = toolchains.filter(({ name }) => device.toolchains.includes(name));
  const toolchain = able.find(({ name, versions }) => name === program.toolchain || versions === program.toolchain) ?? able[0];
  return { device: device.name, toolchain: toolchain.name, options: withoutLines(program.options ?? ""), all_passes: false };
}

/** What a compile that is queued does. */
export function waitingWords(place: number): string {
  return place > 1 ? `waiting behind ${plural(place - 1, "compile")},` : "waiting";
}

/** The events of a compile, a line of JSON each, as they come. Throws ServerGone if they end before the last. */
export async function* compile(source: HttpSource, request: Request, signal: AbortSignal): AsyncGenerator<CompileEvent> {
  const answer = await source.post("/api/compile", request, signal);
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await next(reader, signal);
    if (done) throw gone("ended while it compiled");
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") continue;
      const event = JSON.parse(line) as CompileEvent;
      if (event.event === "result") {
        event.diagnostics = readDiagnostics(event.diagnostics);
        if (event.index !== null) event.index = readIndex(event.index);
      }
      yield event;
      if (LAST.has(event.event)) return;
    }
  }
}

const LAST: ReadonlySet<string> = new Set(["end", "superseded", "closing"]);

async function next(reader: ReadableStreamDefaultReader<string> | undefined, signal: AbortSignal): Promise<ReadableStreamReadResult<string>> {
  try {
    return (await reader?.read()) ?? { value: undefined, done: true };
  } catch (problem) {
    if (signal.aborted) throw problem;
    throw gone("ended while it compiled");
  }
}
