import { damaged, integer, list, MOST, object, texts } from "./checked";
import type { Index } from "./schema";

/** What the kernels of a document are found by, without reading them: the chunk `search` (docs/formats/explore.md). */
export interface SearchIndex {
  opcodes: string[];
  functions: string[];
  files: string[];
  /** The kernels of each program, by the program's id and their rows. */
  kernels: Map<string, KernelWords[]>;
}

export interface KernelWords {
  /** Pairs: an opcode, and how many instructions have it. */
  opcodes: Int32Array;
  functions: Int32Array;
  atomics: number;
  barriers: number;
  /** Runs of lines with code, in pairs of first line and count, by file. */
  lines: { file: number; runs: Int32Array }[];
}

/** Takes the chunk over; throws DocumentError if it does not fit the index that it came with. */
export function readSearch(written: unknown, index: Index): SearchIndex {
  const entry = object(written, "search");
  const lists = { opcodes: texts(entry.opcodes, "search.opcodes"), functions: texts(entry.functions, "search.functions"), files: texts(entry.files, "search.files") };
  const programs = list(entry.kernels, "search.kernels");
  return {
    ...lists,
    kernels: new Map(
      programs.map((each, number) => {
        const kernels = list(each, "search.kernels");
        const program = index.programs[number];
        if (kernels.length !== program?.kernels.name.length) damaged(`search.kernels has ${kernels.length} kernels of program ${number + 1}`);
        return [program.id, kernels.map((kernel) => words(kernel, lists))];
      }),
    ),
  };
}

function words(written: unknown, { opcodes, functions, files }: Pick<SearchIndex, "opcodes" | "functions" | "files">): KernelWords {
  const entry = object(written, "search.kernels");
  const counts = list(entry.opcodes ?? [], "search.kernels.opcodes");
  return {
    opcodes: Int32Array.from(counts, (each, at) => integer(each, 0, at % 2 === 0 ? opcodes.length - 1 : MOST, "search.kernels.opcodes")),
    functions: Int32Array.from(list(entry.functions ?? [], "search.kernels.functions"), (each) => integer(each, 0, functions.length - 1, "search.kernels.functions")),
    atomics: integer(entry.atomics ?? 0, 0, MOST, "search.kernels.atomics"),
    barriers: integer(entry.barriers ?? 0, 0, MOST, "search.kernels.barriers"),
    lines: list(entry.lines ?? [], "search.kernels.lines").map((each) => {
      const [file, ...runs] = list(each, "search.kernels.lines").map((number) => integer(number, 0, MOST, "search.kernels.lines"));
      return { file: integer(file, 0, files.length - 1, "search.kernels.lines"), runs: Int32Array.from(runs) };
    }),
  };
}
