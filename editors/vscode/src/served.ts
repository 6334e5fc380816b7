import { createHash } from "node:crypto";
import type { Server } from "./server";

/** What is read of the server's answers (src/kernlens/explorer/openapi.json): only this, and checked where it is read. */

export interface ProgramInfo {
  id: string;
  ok: boolean;
  device: string | null;
  toolchain: string | null;
  options: string | null;
  paths: string[];
  /** Names of its kernels. */
  kernels: string[];
}

export interface Diagnostic {
  path: string;
  line: number;
  column: number;
  severity: string;
  message: string;
}

export interface Row {
  line: number;
  kernel: string;
  instructions: number;
  wait_cycles: number | null;
}

export interface FileLines {
  path: string;
  sha256: string | null;
  lines: Row[];
}

export interface Lines {
  diagnostics: Diagnostic[];
  files: FileLines[];
}

export interface Choices {
  devices: { name: string; title: string; toolchains: string[] }[];
  toolchains: { name: string; versions: string }[];
  options: string[];
}

/** For what a source is compiled. */
export interface Configuration {
  device: string;
  toolchain: string;
  options: string;
}

/** The end of a compile. */
export interface Result {
  ok: boolean;
  reason: string | null;
  diagnostics: Diagnostic[];
  programs: ProgramInfo[];
}

interface WrittenProgram extends Omit<ProgramInfo, "paths" | "kernels"> {
  files: { path: string }[];
  kernels: { shown: string[] };
}

function programsIn(index: unknown): ProgramInfo[] {
  return (index as { programs: WrittenProgram[] }).programs.map(({ id, ok, device, toolchain, options, files, kernels }) => ({
    id,
    ok,
    device,
    toolchain,
    options,
    paths: files.map(({ path }) => path),
    kernels: kernels.shown,
  }));
}

export async function programs(server: Server): Promise<ProgramInfo[]> {
  return programsIn(await server.json("/api/index"));
}

export async function lines(server: Server, program: string): Promise<Lines> {
  return (await server.json(`/api/lines?program=${encodeURIComponent(program)}`)) as Lines;
}

export async function choices(server: Server): Promise<Choices> {
  return (await server.json("/api/choices")) as Choices;
}

/** A source as it is now, and the program that it is of. */
export interface Edited {
  path: string;
  text: string;
  program: string;
}

/** Compiles a text; null if a newer compile of the session took its place. Throws Problem. */
export async function compile(server: Server, session: string, serial: number, edited: Edited, configurations: Configuration[], signal: AbortSignal): Promise<Result | null> {
  const results: Result[] = [];
  for await (const event of server.compile({ session, serial, source: edited, configurations }, signal)) {
    const told = event as { event: string; index: unknown } & Omit<Result, "programs">;
    if (told.event !== "result") continue;
    const { ok, reason, diagnostics, index } = told;
    results.push({ ok, reason, diagnostics, programs: index === null ? [] : programsIn(index) });
  }
  if (results.length < configurations.length) return null;
  // What fails for any device is told first.
  const worst = results.find(({ ok }) => !ok) ?? results[0];
  return { ...worst, programs: results.flatMap((result) => result.programs) };
}

/** What the server calls the SHA-256 of a text. */
export function digest(text: string): string {
  return createHash("sha256").update(text.replaceAll("\r\n", "\n")).digest("hex");
}
