import type { FigureInfo, ProgramInfo } from "./schema";

/** Whether the code is a listing of another vendor's disassembler: its device has no general registers of one size, which IGA's
 * operands, lanes and scoreboard go with. */
export function isListed({ device, register_bytes }: Pick<ProgramInfo, "device" | "register_bytes">): boolean {
  return device !== null && register_bytes === null;
}

/** Files in other languages than OpenCL C, by their names. */
const OTHERS = /\.(py|cuh?|hip|c(pp|c|xx|\+\+)|mm?|rs|jl|f\d*|go|mojo|mlir|ttg?ir|ll|ptx|s|asm)$/i;

/** Whether a file is in OpenCL C, as far as its name tells: most applications give their sources none. */
export function isOpenCl(path: string): boolean {
  return !OTHERS.test(path);
}

/** Whether a program is a processor's: its source is tried on GPUs, which is what it is written for. */
export function isProcessor({ device }: Pick<ProgramInfo, "device">): boolean {
  return device === "x86-64";
}

/** The unit of times. */
export const NANOSECONDS = "nanoseconds";

/** Whether a figure is of one run, as a capture timed it, and says nothing of the code: no kernels are compared by it. */
export function isOfRun({ unit }: FigureInfo): boolean {
  return unit === NANOSECONDS || unit === "launches";
}
