import type { Figure, Index, KernelColumns, ProgramInfo } from "../document/schema";
import { plural } from "../dom";

export interface Entry {
  program: ProgramInfo;
  row: number;
  name: string;
  shown: string;
  instructions: Figure;
  simd: Figure;
  /** The device's nanoseconds for all its launches. */
  time: Figure;
  /** Whether any source line of it is known. */
  hasLines: boolean;
  spillBytes: Figure;
  /** What `spillOf` says. */
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
      time: timeOf(program.kernels, row),
      hasLines: !program.reasons.has(String(row)),
      spillBytes: program.kernels.spill_bytes[row],
      spill: spillOf(program.kernels, row),
      spills: spillWords(program.kernels, row),
    })),
  );
}

/** The device's time of a kernel's launches; null where no capture timed them. */
export function timeOf({ figures }: Pick<KernelColumns, "figures">, row: number): Figure {
  return figures.get("device_time")?.[row] ?? null;
}

/** The bytes that a kernel's spills take; where they are not known, those that they write. */
export function spillOf({ spill_bytes, spill_store_bytes }: Pick<KernelColumns, "spill_bytes" | "spill_store_bytes">, row: number): number {
  return spill_bytes[row] ?? spill_store_bytes[row] ?? 0;
}

/** What a kernel spills, in words: bytes, or messages where the binary does not state the bytes; "" if nothing. */
export function spillWords({ spill_bytes, spill_messages }: Pick<KernelColumns, "spill_bytes" | "spill_messages">, row: number): string {
  const bytes = spill_bytes[row];
  if (bytes !== null) return bytes > 0 ? `${plural(bytes, "byte")} of scratch for spills` : "";
  const messages = spill_messages[row] ?? 0;
  return messages > 0 ? `${plural(messages, "spill and fill", "spills and fills")} in the code; the binary does not state the bytes` : "";
}

/** What decides where a kernel stands in the order. */
export type Ranked = Pick<Entry, "spill" | "instructions" | "time">;

/** Longest first: what took most of the device's time, then the worst; where no time is known, worst first. */
export function slower(left: Ranked, right: Ranked): number {
  return (right.time ?? -1) - (left.time ?? -1) || worse(left, right);
}

/** Worst first: what spills most, then what has most instructions. */
export function worse(left: Pick<Ranked, "spill" | "instructions">, right: Pick<Ranked, "spill" | "instructions">): number {
  return right.spill - left.spill || (right.instructions ?? 0) - (left.instructions ?? 0);
}

/** The kernel that a document opens on: the slowest; where no time is known the worst of those with lines, which tell most. */
export function firstOf(entries: readonly Entry[]): Entry | undefined {
  const isTimed = entries.some(({ time }) => time !== null);
  return [...entries].sort((left, right) => (isTimed ? 0 : Number(right.hasLines) - Number(left.hasLines)) || slower(left, right))[0];
}
