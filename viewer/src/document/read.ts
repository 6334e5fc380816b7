import { damaged, figure, integer, integers, list, MOST, object, text, textOrNull, texts, textsByName } from "./checked";
import { startOf } from "./start";
import type { ChunkEntry, Diagnostic, FileInfo, Figure, Group, Index, KernelColumns, Passes, ProgramInfo, StageInfo } from "./schema";
import { DocumentError } from "./source";

const SCHEMA = 2;

/** Takes an index over. A program that is damaged stands in it as one that failed, with the reason; throws DocumentError if the
 * index itself is damaged, or of another schema. */
export function readIndex(written: unknown): Index {
  const index = object(written, "the index");
  if (index.schema !== SCHEMA) throw new DocumentError(`This document is of schema ${String(index.schema).slice(0, 40)}, and this page reads schema ${SCHEMA}.`, "Make it anew with the kernlens that is installed.");
  const groups = list(index.groups ?? [], "groups").map(group);
  return {
    title: text(index.title, "title"),
    opcodes: textsByName(index.opcodes, "opcodes"),
    figures: list(index.figures, "figures").map((each) => {
      const { key, heading, unit = "" } = object(each, "figures");
      return { key: text(key, "figures"), heading: text(heading, "figures"), unit: text(unit, "figures") };
    }),
    search: textOrNull(index.search, "search"),
    own_lines: index.own_lines === true,
    start: startOf(index.start ?? []),
    programs: list(index.programs, "programs").map((each, number) => program(each, number, groups)),
    chunks: new Map(Object.entries(object(index.chunks, "chunks")).map(([id, entry]) => [id, place(entry)])),
  };
}

function place(written: unknown): ChunkEntry {
  const { offset, packed, start, size } = object(written, "chunks");
  const bytes = (value: unknown): number | null => (value === undefined ? null : integer(value, 0, MOST, "chunks"));
  const [first, length] = [bytes(start), bytes(size)];
  const part = first === null || length === null ? undefined : { start: first, size: length };
  return { offset: bytes(offset), packed: bytes(packed), part };
}

/** Where a document groups nothing. */
const TOGETHER: Group = { build: "", title: "", words: "", before: "", after: "" };

function group(written: unknown): Group {
  const entry = object(written, "groups");
  const of = (key: keyof Group): string => text(entry[key], `groups.${key}`);
  return { build: of("build"), title: of("title"), words: of("words"), before: of("before"), after: of("after") };
}

function program(written: unknown, number: number, groups: Group[]): ProgramInfo {
  try {
    return readProgram(written, groups);
  } catch (problem) {
    if (!(problem instanceof DocumentError)) throw problem;
    const unknown = { device: null, device_title: null, register_bytes: null, toolchain: null, versions: [], options: null, command: null, log: null, no_stages: null, passes: null };
    return { ...unknown, id: `damaged ${number}`, name: `program ${number + 1}`, ok: false, reason: problem.message, files: [], kernels: columns(0, new Map()), rows: new Map(), beside: new Map(), reasons: new Map(), stages: [], diagnostics: [], edited: false, version: 0 };
  }
}

function readProgram(written: unknown, groups: Group[]): ProgramInfo {
  const entry = object(written, "a program");
  return {
    id: text(entry.id, "id"),
    name: text(entry.name, "name"),
    device: textOrNull(entry.device, "device"),
    device_title: textOrNull(entry.device_title, "device_title"),
    register_bytes: figure(entry.register_bytes, "register_bytes"),
    toolchain: textOrNull(entry.toolchain, "toolchain"),
    versions: texts(entry.versions, "versions"),
    options: textOrNull(entry.options, "options"),
    command: textOrNull(entry.command, "command"),
    ok: entry.ok === true,
    reason: textOrNull(entry.reason, "reason"),
    log: textOrNull(entry.log, "log"),
    files: list(entry.files, "files").map(file),
    kernels: kernels(entry.kernels, groups),
    rows: textsByName(entry.rows ?? {}, "rows"),
    beside: textsByName(entry.beside ?? {}, "beside"),
    reasons: textsByName(entry.reasons, "reasons"),
    stages: list(entry.stages, "stages").map(stage),
    no_stages: textOrNull(entry.no_stages, "no_stages"),
    passes: entry.passes === null || entry.passes === undefined ? null : texts(entry.passes, "passes"),
    diagnostics: readDiagnostics(entry.diagnostics ?? []),
    edited: false,
    version: 0,
  };
}

function file(written: unknown): FileInfo {
  const entry = object(written, "files");
  return { path: text(entry.path, "files"), chunk: textOrNull(entry.chunk, "files"), missing: textOrNull(entry.missing, "files") };
}

/** The compiler's messages, of a program or of the result of a compile. */
export function readDiagnostics(written: unknown): Diagnostic[] {
  const what = "diagnostics";
  return list(written, what).map((each) => {
    const entry = object(each, what);
    const fix = entry.fix === null ? null : object(entry.fix, what);
    return {
      path: text(entry.path, what),
      line: integer(entry.line, 0, MOST, what),
      column: integer(entry.column, 0, MOST, what),
      severity: text(entry.severity, what),
      message: text(entry.message, what),
      fix: fix === null ? null : { length: integer(fix.length, 0, MOST, what), text: text(fix.text, what) },
    };
  });
}

function stage(written: unknown): StageInfo {
  const entry = object(written, "stages");
  const words = { name: text(entry.name, "stages"), title: text(entry.title, "stages"), sentence: text(entry.sentence, "stages") };
  return { ...words, attempt: figure(entry.attempt, "stages"), meta: textOrNull(entry.meta, "stages") };
}

function kernels(written: unknown, groups: Group[]): KernelColumns {
  const { group, ...entry } = object(written, "kernels");
  const words = { name: texts(entry.name, "kernels.name"), shown: texts(entry.shown, "kernels.shown"), chunk: texts(entry.chunk, "kernels.chunk") };
  const count = words.name.length;
  const all = new Map<string, Figure[]>();
  for (const [key, value] of Object.entries(entry)) {
    const column = list(value, `kernels.${key}`);
    if (column.length !== count) damaged(`kernels.${key} has ${column.length} entries, not ${count}`);
    if (!Object.hasOwn(words, key)) all.set(key, column.map((each) => figure(each, `kernels.${key}`)));
  }
  return { ...columns(count, all), ...words, group: groupsOf(words.shown, group, groups) };
}

function groupsOf(names: string[], written: unknown, groups: Group[]): Group[] {
  if (written === undefined) return names.map(() => TOGETHER);
  return Array.from(integers(written, names.length, 0, groups.length - 1, "kernels.group"), (number, row) => {
    const { before, after } = groups[number];
    const name = names[row];
    if (name.length < before.length + after.length || !name.startsWith(before) || !name.endsWith(after)) damaged(`the kernel ${row + 1} is not of its group`);
    return groups[number];
  });
}

/** A figure that the document does not have is known of no kernel. */
function columns(count: number, figures: Map<string, Figure[]>): KernelColumns {
  const of = (key: string): Figure[] => figures.get(key) ?? new Array<Figure>(count).fill(null);
  const known = { simd: of("simd"), registers: of("grf_count"), spill_bytes: of("spill_bytes"), spill_messages: of("spill_messages"), spill_store_bytes: of("spill_store_bytes"), instructions: of("instructions"), peak: of("peak") };
  return { name: [], shown: [], chunk: [], group: [], ...known, figures };
}

/** A source file, or a build's log. */
export function readText(written: unknown): string {
  return text(object(written, "a text").text, "a text");
}

/** The metadata table of a stage; "" if the chunk has none of it. */
export function readTable(written: unknown, name: string): string {
  const tables = list(object(written, "tables").stages, "tables").map((each) => object(each, "tables"));
  return text(tables.find((each) => each.stage === name)?.text ?? "", "tables");
}

/** The passes over one kernel. */
export function readPasses(written: unknown): Passes {
  const chunk = object(written, "passes");
  const files = texts(chunk.files, "passes");
  const passes = list(chunk.passes, "passes").map((each) => {
    const entry = object(each, "passes");
    const numbers = { attempt: figure(entry.attempt, "passes"), added: figure(entry.added, "passes") ?? 0, removed: figure(entry.removed, "passes") ?? 0 };
    const words = { pass: text(entry.pass, "passes"), names: texts(entry.names, "passes"), diff: textOrNull(entry.diff, "passes"), missing: textOrNull(entry.missing, "passes") };
    const lines = list(entry.lines, "passes").map((place) => {
      const [file, line] = list(place, "passes");
      return { path: files[integer(file, 0, files.length - 1, "passes")], line: integer(line, 0, MOST, "passes") };
    });
    return { ...numbers, ...words, lines, changed: typeof entry.changed === "boolean" ? entry.changed : null };
  });
  const times = new Map(Object.entries(object(chunk.times, "passes")).map(([name, seconds]) => [name, figure(seconds, "passes") ?? 0]));
  return { passes, times, no_times: textOrNull(chunk.no_times, "passes"), missing: textOrNull(chunk.missing, "passes") };
}
