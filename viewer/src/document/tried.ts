import { figure, list, object, text, textOrNull } from "./checked";
import type { Figure } from "./schema";

/** What a kernel is in one compile; null is not known. */
export interface Code {
  simd: Figure;
  grfs: Figure;
  instructions: Figure;
  /** The compiler's estimate: of one thread alone, each loop once. */
  cycles: Figure;
  /** Messages that store or load spilled values. */
  spills: Figure;
  loops: Figure;
}

type PerWorkItem = "instructions" | "cycles";

/** A kernel after one change of the build options. */
interface Trial {
  title: string;
  /** In what the change alters results; null if in nothing. */
  results: string | null;
  /** From 1, the best; null for one that cannot be compared. */
  rank: number | null;
  isSame: boolean;
  /** Null if the program has no such kernel then; `note` says why. */
  code: Code | null;
  /** Figures per work-item that can be compared with those before. */
  comparable: ReadonlySet<PerWorkItem>;
  note: string | null;
}

interface TriedKernel {
  name: string;
  code: Code;
  trials: Trial[];
}

/** What `kernlens advise --try --json` has under `tried` (docs/json.md). */
export interface Tried {
  source: string;
  device: string;
  compiler: string;
  kernels: TriedKernel[];
  /** Changes with which the source does not compile. */
  failures: { title: string; reason: string }[];
}

/** A row of the table, its cells as `kernlens advise --try` prints them; `reason` stands in place of figures that there are not. */
export interface TriedRow {
  title: string;
  cells: string[];
  reason: string | null;
}

export interface TriedTable {
  headings: string[];
  rows: TriedRow[];
  /** Lines on the changes that made no difference: those of one note in one line. */
  same: string[];
  /** What the figures mean, and what changes results. */
  legend: string[];
}

export function triedOf(written: unknown): Tried {
  const document = object(written, "tried");
  const changes = new Map(
    list(document.changes, "changes").map((each) => {
      const change = object(each, "changes");
      return [text(change.change, "change"), { title: text(change.title, "title"), results: textOrNull(change.changes_results, "changes_results") }];
    }),
  );
  const changeOf = (key: unknown): { title: string; results: string | null } => changes.get(text(key, "change")) ?? { title: text(key, "change"), results: null };
  const trialOf = (written: unknown): Trial => {
    const trial = object(written, "tried");
    return {
      ...changeOf(trial.change),
      rank: figure(trial.rank, "rank"),
      isSame: trial.is_same_code === true,
      code: trial.figures === null ? null : codeOf(trial.figures),
      comparable: new Set(FIGURES.filter((name) => figure(trial[`${name}_per_work_item_ratio`], name) !== null)),
      note: textOrNull(trial.note, "note"),
    };
  };
  return {
    source: text(document.source, "source"),
    device: text(document.device, "device"),
    compiler: text(document.toolchain, "toolchain"),
    kernels: list(document.kernels, "kernels").map((each) => {
      const kernel = object(each, "kernels");
      return { name: text(kernel.kernel, "kernel"), code: codeOf(kernel.as_it_is), trials: list(kernel.tried, "tried").map(trialOf) };
    }),
    failures: list(document.failures, "failures").map((each) => {
      const failure = object(each, "failures");
      return { title: changeOf(failure.change).title, reason: text(failure.reason, "reason") };
    }),
  };
}

function codeOf(written: unknown): Code {
  const code = object(written, "figures");
  return {
    simd: figure(code.simd, "simd"),
    grfs: figure(code.grf_count, "grf_count"),
    instructions: figure(code.instructions, "instructions"),
    cycles: figure(code.cycles, "cycles"),
    spills: figure(code.spill_messages, "spill_messages"),
    loops: figure(code.loops, "loops"),
  };
}

const FIGURES: readonly PerWorkItem[] = ["instructions", "cycles"];
const HEADINGS = ["tried", "instrs", "cycles", "SIMD", "GRFs", "spills", "loops", "note"];
const CYCLES = HEADINGS.indexOf("cycles");

/** The table of a kernel: as it is, what was tried with the best first, what cannot be compared, and what failed; null if the
 * source has no such kernel. */
export function tableOf({ kernels, failures }: Tried, name: string): TriedTable | null {
  const kernel = kernels.find((each) => each.name === name);
  if (kernel === undefined) return null;
  const { code, trials } = kernel;
  const hasCycles = kernels.some((each) => each.code.cycles !== null);
  const differing = trials.filter((trial) => trial.code !== null && !trial.isSame);
  const shown = [...differing.filter(({ rank }) => rank !== null).sort((left, right) => (left.rank ?? 0) - (right.rank ?? 0)), ...differing.filter(({ rank }) => rank === null)];
  const row = (title: string, [instructions, cycles]: string[], { simd, grfs, spills, loops }: Code, note: string): TriedRow => {
    const cells = [title, instructions, cycles, ...[simd, grfs, spills, loops].map((value) => (value === null ? "-" : String(value))), note];
    return { title, cells: cells.filter((_, at) => hasCycles || at !== CYCLES), reason: null };
  };
  const rows = [
    row(
      "as it is",
      FIGURES.map((name) => figureWords(perWorkItem(code, name))),
      code,
      "",
    ),
    ...shown.map((trial) => row(
        marked(trial),
        FIGURES.map((name) => changed(trial, code, name)),
        trial.code ?? code,
        trial.note ?? "",
      )),
    ...trials.filter((trial) => trial.code === null).map(({ title, note }) => ({ title, cells: [], reason: note ?? "" })),
    ...failures.map(({ title, reason }) => ({ title, cells: [], reason })),
  ];
  const same = new Map<string | null, string[]>();
  for (const { isSame, note, title } of trials) if (isSame) same.set(note, [...(same.get(note) ?? []), title]);
  const sameLines = [...same].map(([note, titles]) => (note === null ? `same code: ${titles.join(", ")}` : `${titles.join(", ")}: ${note}`));
  return { headings: HEADINGS.filter((_, at) => hasCycles || at !== CYCLES), rows, same: sameLines, legend: legendOf(shown, hasCycles) };
}

function marked({ title, results }: Trial): string {
  return results === null ? title : `${title} !`;
}

function perWorkItem(code: Code, name: PerWorkItem): number {
  return (code[name] ?? Number.NaN) / (code.simd || Number.NaN);
}

/** By how much a change makes a figure larger or smaller. */
function changed({ code, comparable }: Trial, before: Code, name: PerWorkItem): string {
  if (code === null || !comparable.has(name)) return "-";
  return `${CHANGE.format((perWorkItem(code, name) / perWorkItem(before, name) - 1) * 100)}%`;
}

/** One digit after the point, ties to the even one, as kernlens prints numbers. */
const TENTHS = { minimumFractionDigits: 1, maximumFractionDigits: 1, roundingMode: "halfEven", useGrouping: false } as const;
const FIGURE = new Intl.NumberFormat("en-US", TENTHS);
const CHANGE = new Intl.NumberFormat("en-US", { ...TENTHS, signDisplay: "always" });

function figureWords(value: number): string {
  return Number.isFinite(value) ? FIGURE.format(value) : "-";
}

function legendOf(shown: readonly Trial[], hasCycles: boolean): string[] {
  const figures = hasCycles ? "Instructions and cycles" : "Instructions";
  const words = [
    `${figures} are compared per work-item (divided by SIMD), and only where loops and private memory are the same. Spills are messages that store or load spilled values.`,
    "What is in a loop counts once, however often it runs.",
  ];
  if (hasCycles) words.push("Cycles are IGC's estimate of one thread alone, loops once: not time.");
  if (shown.some(({ note }) => note?.includes("threads"))) words.push("Fewer threads hide less of the waits for memory.");
  const titles = new Map<string, string[]>();
  for (const { title, results } of shown) if (results !== null) titles.set(results, [...(titles.get(results) ?? []), title]);
  return [words.join(" "), ...[...titles].map(([results, of]) => `! changes results: ${of.join(", ")}: ${results}`)];
}
