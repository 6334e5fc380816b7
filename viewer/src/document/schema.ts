/** The `explore` document, schema 2, as docs/formats/explore.md describes it, as far as it is shown. The index and small chunks
 * are read by read.ts, kernels' chunks by kernel.ts. */

export interface Index {
  title: string;
  /** Every opcode of the programs' devices, in words. */
  opcodes: Map<string, string>;
  figures: FigureInfo[];
  /** Whether the page begins with inlined library code on the user's own lines. */
  own_lines: boolean;
  /** The chunk that all kernels are searched by, without reading them. */
  search: string | null;
  /** The lines to start at, of all kernels that were observed; empty where none was. */
  start: StartLine[];
  programs: ProgramInfo[];
  chunks: Map<string, ChunkEntry>;
}

/** A line to start at: the id of its program, the kernel's row in it, and what is said of it. */
export interface StartLine {
  program: string;
  row: number;
  line: { path: string; line: number } | null;
  title: string;
  sentence: string;
  action: string | null;
  text: string | null;
}

/** In a page: where the frame that the chunk is packed in is in its block, in bytes; elsewhere null. */
export interface ChunkEntry {
  offset: number | null;
  packed: number | null;
  /** The chunk's bytes of what the frame unpacks to; all without it. */
  part?: { start: number; size: number };
}

/** Kernels that the list shows together, under what their names share (name_groups.py). */
export interface Group {
  /** What tells it from the same group of another build; "" where there is only one build. */
  build: string;
  title: string;
  /** Said beside the title, softer. */
  words: string;
  /** The beginning and the end of all its kernels' names. */
  before: string;
  after: string;
}

export interface ProgramInfo {
  id: string;
  name: string;
  device: string | null;
  device_title: string | null;
  /** The size of a general register; null if the device is not known. */
  register_bytes: number | null;
  toolchain: string | null;
  versions: string[];
  /** The build's own; null if they are not known. */
  options: string | null;
  command: string | null;
  ok: boolean;
  reason: string | null;
  /** The chunk with the build's log. */
  log: string | null;
  files: FileInfo[];
  kernels: KernelColumns;
  /** What the list shows of a name, by row, where it is shorter than the name in its group. */
  rows: Map<string, string>;
  /** What tells a kernel from another of its name, by its row. */
  beside: Map<string, string>;
  /** Why a kernel has no lines, by its row. */
  reasons: Map<string, string>;
  stages: StageInfo[];
  /** Why there are no stages. */
  no_stages: string | null;
  /** The chunk of each kernel's single passes; null if they were not recorded. */
  passes: string[] | null;
  /** What the compiler said of a build that failed. */
  diagnostics: Diagnostic[];
  /** Compiled in place, from a source that was edited here. */
  edited: boolean;
  /** Its number among the versions of the program that was edited; 0 if it is not one of those. */
  version: number;
}

/** A message of the compiler about a place, its line and column from 1; the path is "", line and column are 0 where it names none. */
export interface Diagnostic {
  path: string;
  line: number;
  column: number;
  severity: string;
  message: string;
  /** The text that the compiler proposes in place of so many characters from the column on. */
  fix: { length: number; text: string } | null;
}

export interface FileInfo {
  path: string;
  chunk: string | null;
  /** Why there is no text. */
  missing: string | null;
}

export type Figure = number | null;

/** One entry per kernel in each column; null where a figure is not known. */
export interface KernelColumns {
  name: string[];
  /** Names as a reader knows them: C++ names written out. */
  shown: string[];
  chunk: string[];
  group: Group[];
  simd: Figure[];
  registers: Figure[];
  spill_bytes: Figure[];
  /** Messages that spill and fill, and the bytes that they write: counted in the code where the binary does not state the bytes. */
  spill_messages: Figure[];
  spill_store_bytes: Figure[];
  instructions: Figure[];
  /** The most registers that are live at once: of kernels that were decoded for the index. */
  peak: Figure[];
  /** All columns of numbers, those above too, by their keys. */
  figures: Map<string, Figure[]>;
}

/** What a figure is, as the tables of the command line say it. */
export interface FigureInfo {
  key: string;
  heading: string;
  unit: string;
}

export interface StageInfo {
  name: string;
  attempt: number | null;
  title: string;
  sentence: string;
  /** The chunk with the tables (metadata) of the whole stage. */
  meta: string | null;
}

/** What messages do. */
export interface MessageKind {
  /** Bytes at most; null if the descriptor is computed. */
  bytes: number | null;
  spill: boolean;
  words: string;
  /** What it does to which memory, and its own name for that; null where that is not known. */
  action: string | null;
  memory: string | null;
  operation: string | null;
}

/** A single pass of the compiler; `changed` is null where only a part of the program was dumped. */
export interface Pass {
  pass: string;
  attempt: number | null;
  /** Neighbours that changed nothing are one entry. */
  names: string[];
  changed: boolean | null;
  added: number;
  removed: number;
  /** The source lines whose instructions it changed. */
  lines: { path: string; line: number }[];
  diff: string | null;
  missing: string | null;
}

/** The compiler's single passes over one kernel, in their order. */
export interface Passes {
  passes: Pass[];
  /** Seconds by phase and name, of all runs of a pass in its phase together, over the whole program. */
  times: Map<string, number>;
  /** Why there are none. */
  no_times: string | null;
  /** Why passes were not compared. */
  missing: string | null;
}
