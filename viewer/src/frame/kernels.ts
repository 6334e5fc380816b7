import type { Figure, Index, KernelColumns, ProgramInfo } from "../document/schema";
import { plural } from "../dom";

export interface Entry {
  program: ProgramInfo;
  row: number;
  name: string;
  shown: string;
  instructions: Figure;
  simd: Figure;
  spillBytes: Figure;
  /** The bytes that spills take; where they are not known, those that they write. */
  spill: number;
  /** The spills in words; "" if there are none. */
  spills: string;
}

/** All kernels of a document. */
export function entriesOf(index: Pick<Index, "programs">): Entry[] {
  return index.programs.flatMap((program) =>
    program.kernels.name.map((name, row) => ({
      program,
      row,
      name,
      shown: program.kernels.shown[row] ?? name,
      instructions: program.kernels.instructions[row],
      simd: program.kernels.simd[row],
      spillBytes: program.kernels.spill_bytes[row],
      spill: program.kernels.spill_bytes[row] ?? program.kernels.spill_store_bytes[row] ?? 0,
      spills: spillWords(program.kernels, row),
    })),
  );
}

/** What a kernel spills, in words: bytes, or messages where the binary does not state the bytes; "" if nothing. */
export function spillWords({ spill_bytes, spill_messages }: Pick<KernelColumns, "spill_bytes" | "spill_messages">, row: number): string {
  const bytes = spill_bytes[row];
  if (bytes !== null) return bytes > 0 ? `${plural(bytes, "byte")} spilled` : "";
  const messages = spill_messages[row] ?? 0;
  return messages > 0 ? `${plural(messages, "spill and fill", "spills and fills")} in the code; the binary does not state the bytes` : "";
}

/** Worst first: what spills most, then what has most instructions. */
export function worse(left: Entry, right: Entry): number {
  return right.spill - left.spill || (right.instructions ?? 0) - (left.instructions ?? 0);
}
