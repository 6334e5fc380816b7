import type { KernelWords, SearchIndex } from "./document/search";
import type { Index, ProgramInfo } from "./document/schema";
import { keyOf } from "./frame/arrange";
import { isWord, type Query } from "./frame/query";

/** What is found in all kernels of a document, without reading one of them: in names, opcodes, functions and source text. */

/** A source text, searched as a whole: where its lines begin. */
export class SourceText {
  private readonly lower: string;
  private readonly starts: number[] = [0];

  constructor(readonly text: string) {
    this.lower = text.toLowerCase();
    // Letters whose small form is longer would shift what follows.
    if (this.lower.length !== text.length) this.lower = text;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.starts.push(at + 1);
  }

  /** The lines that a query finds, ascending, from 1. */
  linesOf(query: Query): number[] {
    const lines: number[] = [];
    if (query.kind === "text") {
      for (let at = this.lower.indexOf(query.text), line = 0; at >= 0; at = this.lower.indexOf(query.text, this.starts[line] ?? this.lower.length)) {
        while (line < this.starts.length && this.starts[line] <= at) line++;
        lines.push(line);
        if (line >= this.starts.length) break;
      }
    } else if (query.kind === "pattern") {
      for (let line = 0; line < this.starts.length; line++) if (query.pattern.test(this.text.slice(this.starts[line], (this.starts[line + 1] ?? this.text.length + 1) - 1))) lines.push(line + 1);
    }
    return lines;
  }
}

/** A program of the list, and what its kernels are found by: that of the document that it came with; null where none is known. */
export interface Searched {
  program: ProgramInfo;
  words: { search: SearchIndex; kernels: ReadonlyMap<string, KernelWords> } | null;
}

/** A program with its part of the words of the document that has it. */
export function searched(program: ProgramInfo, document: Pick<Index, "programs">, search: SearchIndex | null): Searched {
  const kernels = search?.kernels[document.programs.findIndex(({ id }) => id === program.id)];
  return { program, words: search === null || kernels === undefined ? null : { search, kernels } };
}

/**
 * How often each kernel of the list has what is looked for, by its key; kernels that do not have it are not there. Null where
 * kernels that are not read cannot tell. Without `texts` nothing is looked for in sources.
 */
export function findAll(listed: readonly Searched[], texts: ReadonlyMap<string, SourceText>, query: Query): Map<string, number> | null {
  if (query.kind === "register") return null;
  const lines = new Map<string, number[]>();
  for (const [chunk, text] of isWord(query) ? [] : texts) {
    const numbers = text.linesOf(query);
    if (numbers.length > 0) lines.set(chunk, numbers);
  }
  const test = testing(query);
  const matches = new Map<SearchIndex, Matches>();
  const matchesIn = (search: SearchIndex): Matches => {
    const known = matches.get(search) ?? { opcodes: search.opcodes.map((name) => test.opcode(name)), functions: search.functions.map((name) => test.name(name)) };
    matches.set(search, known);
    return known;
  };
  const hits = new Map<string, number>();
  for (const { program, words } of listed) {
    const { kernels } = program;
    if (kernels.name.length === 0 && query.kind === "text" && (query.text === "failed" ? !program.ok : test.name(program.name))) hits.set(keyOf(program, -1), 1);
    const chunks = new Map(program.files.map(({ path, chunk }) => [path, chunk]));
    kernels.name.forEach((name, row) => {
      const own = words?.kernels.get(name);
      const isNamed = test.name(name) || test.name(kernels.shown[row] ?? name);
      let count = isNamed ? 1 : 0;
      if (query.kind === "text" && query.text === "spills") count = kernels.spill_bytes[row] ?? kernels.spill_messages[row] ?? 0;
      if (words !== null && own !== undefined) count += inWords(own, query, matchesIn(words.search)) + inLines(own, query, words.search.files, chunks, lines);
      if (count > 0) hits.set(keyOf(program, row), count);
    });
  }
  return hits;
}

/** Which opcodes and functions of a document's lists a query finds. */
interface Matches {
  opcodes: boolean[];
  functions: boolean[];
}

/** What a query finds in a kernel's name and functions, and among opcodes. */
function testing(query: Query): { name(name: string): boolean; opcode(name: string): boolean } {
  const never = (): boolean => false;
  switch (query.kind) {
    case "text": {
      if (query.text === "dpas" || query.text === "math") return { name: never, opcode: (name) => name.startsWith(query.text) };
      if (isWord(query)) return { name: never, opcode: never };
      const includes = (name: string): boolean => name.toLowerCase().includes(query.text);
      return { name: includes, opcode: query.text.length > 1 ? includes : never };
    }
    case "pattern":
      return { name: (name) => query.pattern.test(name), opcode: (name) => query.pattern.test(name) };
    case "opcode":
      return { name: never, opcode: (name) => name.toLowerCase().startsWith(query.text) };
    case "function":
      return { name: (name) => name.toLowerCase().includes(query.text), opcode: never };
    default:
      return { name: never, opcode: never };
  }
}

function inWords(words: KernelWords, query: Query, { opcodes, functions }: Matches): number {
  if (query.kind === "text" && query.text === "atomic") return words.atomics;
  if (query.kind === "text" && query.text === "barrier") return words.barriers;
  let count = 0;
  for (let at = 0; at + 1 < words.opcodes.length; at += 2) if (opcodes[words.opcodes[at]]) count += words.opcodes[at + 1];
  for (const name of words.functions) if (functions[name]) count++;
  return count;
}

/** Lines that were found, as far as a kernel has code of them or beside them. */
function inLines(words: KernelWords, query: Query, files: string[], chunks: ReadonlyMap<string, string | null>, lines: ReadonlyMap<string, number[]>): number {
  let count = 0;
  for (const { file, runs } of words.lines) {
    const chunk = chunks.get(files[file]);
    const numbers = query.kind === "line" ? [query.line] : chunk == null ? undefined : lines.get(chunk);
    if (numbers === undefined) continue;
    let run = 0;
    for (const line of numbers) {
      while (run + 2 < runs.length && runs[run] + runs[run + 1] <= line) run += 2;
      if (line >= runs[run] && line < runs[run] + runs[run + 1]) count++;
    }
  }
  return count;
}

/** The chunks of all programs' source texts, each text once. */
export function sourceChunks({ programs }: Pick<Index, "programs">): string[] {
  return Array.from(new Set(programs.flatMap(({ files }) => files.flatMap(({ chunk }) => (chunk === null ? [] : [chunk])))));
}
