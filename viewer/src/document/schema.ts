/** The `explore` document, schema 2, as docs/formats/explore.md describes it: an index and the chunks that it names. */

export interface Index {
  schema: number;
  kernlens: string;
  title: string;
  redacted: string[];
  /** Every opcode of the programs' devices, in words. */
  opcodes: Record<string, string>;
  figures: FigureInfo[];
  programs: ProgramInfo[];
  chunks: Record<string, ChunkEntry>;
}

/** In a page also where the chunk is in its block, in bytes. */
export interface ChunkEntry {
  kind: string;
  offset?: number;
  packed?: number;
}

export interface ProgramInfo {
  id: string;
  name: string;
  format: string | null;
  device: string | null;
  device_title: string | null;
  /** Name, title and version of the device. */
  device_words: string;
  /** The size of a register, null where the device is not known. */
  register_bytes: number | null;
  toolchain: string | null;
  versions: string[];
  options: string;
  command: string | null;
  ok: boolean;
  reason: string | null;
  /** The chunk with the build's log. */
  log: string | null;
  files: FileInfo[];
  kernels: KernelColumns;
  /** Why a kernel has no lines, by its row. */
  reasons: Record<string, string>;
  stages: StageInfo[];
  /** Why there are no stages. */
  no_stages: string | null;
  passes: string | null;
  /** Compiled in place, from a source that was edited here. */
  edited?: boolean;
}

export interface FileInfo {
  path: string;
  origin: string | null;
  lines: number | null;
  chunk: string | null;
  /** Why there is no text. */
  missing: string | null;
}

export type Figure = number | null;

/** One entry per kernel in each column; null where a figure is not known. All of `Index.figures` are columns. */
export interface KernelColumns {
  name: string[];
  /** Names as a reader knows them: C++ names written out. */
  shown: string[];
  chunk: string[];
  simd: Figure[];
  registers: Figure[];
  spill_bytes: Figure[];
  instructions: Figure[];
  /** Bytes that messages move, and the most registers that are live at once: of kernels that were decoded for the index. */
  memory: Figure[];
  peak: Figure[];
  /** 1 if there is a line table. */
  lines: number[];
  [figure: string]: (Figure | string)[];
}

/** What a figure is, as the tables of the command line say it. */
export interface FigureInfo {
  key: string;
  heading: string;
  unit: string | null;
  meaning: string;
}

export interface StageInfo {
  name: string;
  attempt: number | null;
  scope: "program" | "kernel";
  title: string;
  sentence: string;
  /** The chunk with the tables (metadata) of the whole stage. */
  meta: string | null;
}

/** Files are numbered within a kernel; `line` is delta coded, `caller` the place of the call it was inlined by, or -1. */
export interface PlaceColumns {
  file: number[];
  line: number[];
  column: number[];
  caller: number[];
}

/** A row per instruction. Delta coded: `offset`, `place`, `id`, `block`, and `row` of what is told of few rows. */
export interface CodeChunk {
  text: string;
  size: number[];
  offset?: number[];
  opcode: string[];
  op: number[];
  place: number[];
  flags: number[];
  id: number[] | null;
  block: number[];
  depth: number[];
  /** The row of a branch, then the rows that it can go to. */
  targets: number[][];
  /** A row waits, by a scoreboard token, for the row so many rows before. */
  wait: { row: number[]; back: number[] };
  /** For each row whose text has a distance how many rows before it the one is that it waits for; 0 where that is not known. */
  distance: (number | number[])[];
  message: { row: number[]; kind: number[]; kinds: MessageKind[] };
  /** Registers that are live at each row. */
  live: number[] | null;
  peak: { row: number; registers: number } | null;
  /** Whether more may be live than is told, as where a register names a register. */
  is_lower_bound?: boolean | null;
  /** A row reads what the row so many rows before wrote to this general register. */
  use: { row: number[]; back: number[]; register: number[] } | null;
}

export interface MessageKind {
  target: string | null;
  operation: string | null;
  action: string | null;
  memory: string | null;
  bytes: number | null;
  spill: boolean;
  answer: number | null;
  addresses: number | null;
  data: number | null;
  words: string;
}

/** A row per line of text. Delta coded: `line`, `place` (-2: no instruction), `id`; `ids`: how many vISA instructions. */
export interface StageChunk {
  stage: string;
  attempt: number | null;
  text: string;
  line: number[];
  place: number[];
  id: number[] | null;
  ids: number[] | null;
  functions: [string, number][];
  missing: string | null;
}

export interface KernelChunk {
  name: string;
  files: string[];
  places: PlaceColumns;
  code: CodeChunk | null;
  warning: string | null;
  stages: StageChunk[];
  missing: Record<string, string>;
}

/** A source file, or a build's log. */
export interface TextChunk {
  text: string;
}

/** The metadata tables of a program's stages. */
export interface MetaChunk {
  attempt: number | null;
  stages: { stage: string; text: string }[];
}

/** The compiler's single passes, in their order; `changed` is null where only a part of the program was dumped. */
export interface PassesChunk {
  passes: { pass: string; attempt: number | null; names: string[]; seconds: number | null; changed: boolean | null; added: number | null; removed: number | null; diff: string | null; missing: string | null }[];
  /** Why passes were not compared. */
  missing: string | null;
}
