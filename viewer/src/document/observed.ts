import { column, damaged, integers, list, MOST, object, texts } from "./checked";
import type { Places } from "./places";

/** What an interpreter counted of a kernel on data, by key: of its source, and no time. */
export interface Observed {
  /** What the counts are; faults that it saw. */
  sentences: string[];
  faults: string[];
  words: Map<number, string[]>;
  /** Runs by work-items, bytes of global memory, and lanes that idle on average. */
  runs: Float64Array;
  moved: Float64Array;
  idle: Float64Array;
}

export function observedOf(written: unknown, places: Places, files: number): Observed | null {
  if (written == null) return null;
  const chunk = object(written, "observed");
  const words = list(chunk.words, "observed.words");
  const { length } = words;
  const file = integers(chunk.file, length, 0, files - 1, "observed.file");
  const line = column(chunk.line, length, 0, MOST, "observed.line");
  const weights = (what: string): Float64Array => {
    const entries = list(chunk[what], "observed");
    const values = new Float64Array(places.keys);
    for (let at = 0; at < length; at++) {
      const value = entries[at];
      const key = places.keyOf(file[at], line[at]);
      if (typeof value !== "number" || !(value >= 0 && value < 2 ** 63)) damaged(`observed.${what} holds no count`);
      if (key >= 0) values[key] += value;
    }
    return values;
  };
  const byKey = new Map(words.map((each, at): [number, string[]] => [places.keyOf(file[at], line[at]), texts(each, "observed.words")]));
  return { sentences: texts(chunk.sentences, "observed"), faults: texts(chunk.faults, "observed"), words: byKey, runs: weights("runs"), moved: weights("moved"), idle: weights("idle") };
}
