import type { Figure, Index, ProgramInfo } from "../document/schema";

export interface Entry {
  program: ProgramInfo;
  row: number;
  name: string;
  shown: string;
  instructions: Figure;
  simd: Figure;
  spill: Figure;
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
      spill: program.kernels.spill_bytes[row],
    })),
  );
}

/** Worst first: what spills most, then what has most instructions. A figure that is not known is no reason to look there. */
export function worse(left: Pick<Entry, "spill" | "instructions">, right: Pick<Entry, "spill" | "instructions">): number {
  return (right.spill ?? 0) - (left.spill ?? 0) || (right.instructions ?? 0) - (left.instructions ?? 0);
}
