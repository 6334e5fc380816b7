import { figure, list, object, text, textOrNull } from "../document/checked";
import { isOfRun } from "../document/family";
import type { Figure, Index } from "../document/schema";
import { sourceTitle } from "./sides";

/** A row of the answer of `kernlens sweep --json` (docs/json.md); `figures` is null for one that failed. */
export interface Row {
  source: string;
  device: string;
  toolchain: string;
  compiler: string | null;
  options: string;
  kernel: string | null;
  figures: Map<string, Figure> | null;
  reason: string | null;
}

/** Each kernel of the list with the figures that its index has. */
export function sweepOf({ programs, figures }: Pick<Index, "figures" | "programs">): Row[] {
  const keys = [...figures.filter((each) => !isOfRun(each)).map(({ key }) => key), "memory", "peak"];
  return programs.flatMap((program) => {
    const { device, toolchain, options, kernels, versions } = program;
    return kernels.name.map((kernel, row) => ({
      source: sourceTitle(program),
      device: device ?? "?",
      toolchain: toolchain ?? "?",
      compiler: versions.join(" · "),
      options: options ?? "",
      kernel,
      figures: new Map(keys.map((key) => [key, kernels.figures.get(key)?.[row] ?? null])),
      reason: null,
    }));
  });
}

export function rowsOf(written: unknown): Row[] {
  return list(object(written, "the sweep").rows, "rows").map((each) => {
    const row = object(each, "rows");
    const figures = row.figures === null ? null : new Map(Object.entries(object(row.figures, "figures")).map(([key, value]) => [key, figure(value, key)]));
    const words = { source: text(row.source, "source"), device: text(row.device, "device"), toolchain: text(row.toolchain, "toolchain"), options: text(row.options, "options") };
    return { ...words, figures, compiler: textOrNull(row.compiler, "compiler"), kernel: textOrNull(row.kernel, "kernel"), reason: textOrNull(row.reason, "reason") };
  });
}

export function columnOf({ device, toolchain, options }: Row): string {
  return JSON.stringify([device, toolchain, options]);
}
