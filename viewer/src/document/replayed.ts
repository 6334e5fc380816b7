import { figure, list, object, text, textOrNull } from "./checked";
import type { Figure } from "./schema";

/** How memory differs from what the recorded launch left in it. */
export interface Difference {
  count: number;
  /** The number of the first element that differs, and both its values. */
  first: number;
  recorded: string;
  result: string;
  /** The largest distance of floating-point numbers; null where there is none. */
  ulp: Figure;
  relative: Figure;
}

interface Compared {
  memory: string;
  /** Null where words of 32 bits are compared. */
  type: string | null;
  elements: number;
  difference: Difference | null;
}

/** What `kernlens replay --json` has of a launch (docs/json.md), of the recorded build and an edited one. */
export interface Replayed {
  /** As `kernlens replay` says it. */
  answer: string;
  title: string;
  isSimulated: boolean;
  isCpu: boolean;
  recorded: Compared[];
  edited: Compared[];
  ratio: { median: number; isDifferent: boolean } | null;
  notCompared: string[];
  notes: string[];
}

export function replayedOf(written: unknown): Replayed {
  const launch = object(written, "replayed");
  const [recorded, edited] = list(launch.builds, "builds").map((each) => list(object(each, "builds").results, "results").map(comparedOf));
  const ratio = launch.ratio === null ? null : object(launch.ratio, "ratio");
  return {
    answer: text(launch.answer, "answer"),
    title: `Launch ${number(launch.number, "number")} of ${text(launch.kernel, "kernel")} on ${text(launch.device, "device")} (${text(launch.platform, "platform")})`,
    isSimulated: launch.simulated === true,
    isCpu: launch.cpu === true,
    recorded: recorded ?? [],
    edited: edited ?? [],
    ratio: ratio === null ? null : { median: number(ratio.median, "median"), isDifferent: ratio.different === true },
    notCompared: list(launch.not_compared, "not_compared").map((each) => text(each, "not_compared")),
    notes: list(launch.notes, "notes").map((each) => text(each, "notes")),
  };
}

function comparedOf(written: unknown): Compared {
  const compared = object(written, "results");
  const difference = compared.difference === null ? null : object(compared.difference, "difference");
  return {
    memory: text(compared.memory, "memory"),
    type: textOrNull(compared.type, "type"),
    elements: number(compared.elements, "elements"),
    difference: difference === null ? null : {
      count: number(difference.count, "count"),
      first: number(difference.first, "first"),
      recorded: text(difference.recorded, "recorded"),
      result: text(difference.result, "result"),
      ulp: figure(difference.ulp, "ulp"),
      relative: figure(difference.relative, "relative"),
    },
  };
}

function number(value: unknown, what: string): number {
  return figure(value, what) ?? Number.NaN;
}

/** The answer in a word or two: what a version's badge says. Nothing is called equal that was not compared. */
export function badgeOf({ isSimulated, recorded, edited, ratio }: Replayed): { words: string; kind: "equal" | "differs" | "unknown" } {
  if (isSimulated || edited.length === 0) return { words: isSimulated ? "not run" : "not compared", kind: "unknown" };
  const first = edited.find(({ difference }) => difference !== null);
  if (first?.difference != null) return { words: `differs at ${nameOf(first.memory)}[${first.difference.first}]`, kind: "differs" };
  if (recorded.some(({ difference }) => difference !== null)) return { words: "equal, the recorded build is not", kind: "unknown" };
  return { words: ratio === null ? "equal" : `equal, ${ratio.isDifferent ? "" : "≈"}${ratio.median.toFixed(2)}x`, kind: "equal" };
}

/** The short name of memory: that of the kernel's parameter, where it is known. */
export function nameOf(memory: string): string {
  return /\((\w+)\)$/.exec(memory)?.[1] ?? memory;
}

interface DifferingRow {
  build: string;
  memory: string;
  cells: string[];
}

export const DIFFERING_HEADINGS = ["build", "buffer", "count", "first", "kept value", "value here", "largest difference"];

/** The memory that differs, a row each: the edited build's first. */
export function differingRows({ recorded, edited }: Replayed): DifferingRow[] {
  const of = (build: string, results: readonly Compared[]): DifferingRow[] =>
    results.flatMap(({ memory, type, elements, difference }) => {
      if (difference === null) return [];
      const { count, first, ulp, relative } = difference;
      const largest = ulp === null ? "-" : `${ulp} ulp${relative === null ? "" : `, ${Number(relative.toPrecision(3))} relative`}`;
      return [{ build, memory, cells: [`${count} of ${elements} ${type === null ? "words of 32 bits" : `${type}s`}`, `[${first}]`, difference.recorded, difference.result, largest] }];
    });
  return [...of("edited", edited), ...of("recorded", recorded)];
}

/** What the answer is worth: sentences below it. */
export function notesOf({ isCpu, ratio, notes, notCompared, isSimulated }: Replayed): string[] {
  if (isSimulated) return [...notes, "the device is simulated: nothing was computed, so nothing was compared or timed"];
  return [
    ...notes,
    ...(isCpu && ratio !== null ? ["the times are those of this CPU, and say nothing about a GPU"] : []),
    notCompared.length === 0 ? "all memory that was kept was compared" : `not compared: ${notCompared.join(", ")}`,
  ];
}
