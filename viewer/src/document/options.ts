/** For what a source is compiled. */
export interface Configuration {
  device: string;
  toolchain: string;
  options: string;
  all_passes: boolean;
  /** Other build options are tried, in place of one compile. */
  trials?: boolean;
  /** It runs on the kept launch of a kernel, in place of a compile; so many runs are timed. */
  replay?: { kernel: string; runs: number };
}

/** What can be compiled for, and options to choose from. */
export interface Choices {
  devices: { name: string; title: string; toolchains: string[] }[];
  toolchains: { name: string; versions: string }[];
  options: string[];
  /** By the program's id the kernels whose launches were kept, and the device that runs them, else the reason why none does;
   * null if nothing was kept. */
  replay?: { device: string | null; reason: string | null; kernels: Record<string, string[]> } | null;
}

/** The option by which kernlens has line tables written: it is there unless somebody left it out. */
const LINES = "-gline-tables-only";

/** Options without the one that nobody chose, for places where builds are told apart. */
export function withoutLines(options: string): string {
  return options.split(/\s+/).filter((word) => word !== LINES && word !== "").join(" ");
}
