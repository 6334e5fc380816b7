import { column, damaged, integer, integers, list, MOST, object, text, texts } from "./checked";
import type { Places } from "./places";

/** What an interpreter counted of a kernel on data, by key: of its source, and no time. */
export interface Observed {
  /** What the counts are; faults that it saw. */
  sentences: string[];
  faults: string[];
  /** What wastes most, with the key of its line and what to try; null where nothing wastes much. */
  cause: { key: number; words: string; action: string } | null;
  words: Map<number, string[]>;
  /** The costliest requests of each line's accesses. */
  requests: Map<number, Request[]>;
  /** Runs by work-items, bytes of global memory, and lanes that idle on average. */
  runs: Float64Array;
  moved: Float64Array;
  idle: Float64Array;
}

/** What the lanes of one sub-group access together. */
export interface Request {
  words: string;
  /** The bytes in which memory is moved; the banks of local memory, 0 for other memory and where they are not known, and their bytes. */
  unit: number;
  banks: number;
  bank: number;
  /** The bytes that each lane accesses; the active lanes, and where each begins. */
  bytes: number;
  lanes: Int32Array;
  at: Float64Array;
}

/** More lanes than any sub-group has; more bytes than any lane accesses; more units than are drawn; the largest offset. */
const MOST_LANES = 1024;
const MOST_WIDTH = 1 << 16;
const MOST_AT = 2 ** 53 - 1;

function requestOf(written: unknown): Request {
  const what = "observed.requests";
  const entry = object(written, what);
  const lanes = list(entry.lanes, what);
  const at = list(entry.at, what);
  if (lanes.length === 0 || lanes.length > MOST_LANES || at.length !== lanes.length) damaged(`${what} has ${lanes.length} lanes`);
  const offset = (each: unknown): number => (typeof each === "number" && Number.isInteger(each) && each >= 0 && each <= MOST_AT ? each : damaged(`${what} holds no offset`));
  return {
    words: text(entry.words, what),
    unit: integer(entry.unit, 1, MOST_WIDTH, what),
    banks: integer(entry.banks, 0, MOST_LANES, what),
    bank: integer(entry.bank, 1, MOST_WIDTH, what),
    bytes: integer(entry.bytes, 1, MOST_WIDTH, what),
    lanes: integers(lanes, lanes.length, 0, MOST_LANES - 1, what),
    at: Float64Array.from(at, offset),
  };
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
  const keyed = <Value>(values: unknown[], read: (value: unknown) => Value): Map<number, Value> => new Map(values.map((each, row) => [places.keyOf(file[row], line[row]), read(each)]));
  const causeOf = (written: unknown): Observed["cause"] => {
    const told = object(written, "observed.cause");
    const row = integer(told.row, 0, length - 1, "observed.cause");
    const key = places.keyOf(file[row], line[row]);
    return key < 0 ? null : { key, words: text(told.words, "observed.cause"), action: text(told.action, "observed.cause") };
  };
  const requests = list(chunk.requests ?? [], "observed.requests").slice(0, length);
  return {
    sentences: texts(chunk.sentences, "observed"),
    faults: texts(chunk.faults, "observed"),
    cause: chunk.cause == null ? null : causeOf(chunk.cause),
    words: keyed(words, (each) => texts(each, "observed.words")),
    requests: keyed(requests, (each) => list(each, "observed.requests").map(requestOf)),
    runs: weights("runs"),
    moved: weights("moved"),
    idle: weights("idle"),
  };
}
