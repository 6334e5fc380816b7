import { DocumentError } from "./source";

/**
 * What a document holds is checked where it is taken over, so that whoever uses it may rely on it: a document may come from
 * anybody, and one that is wrong is an error in its place, never a page that does not answer.
 */
export function damaged(what: string): never {
  throw new DocumentError(`This part of the document is damaged: ${what}.`);
}

export function object(value: unknown, what: string): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : damaged(`${what} is no object`);
}

export function text(value: unknown, what: string): string {
  return typeof value === "string" ? value : damaged(`${what} is no text`);
}

export function textOrNull(value: unknown, what: string): string | null {
  return value === null || value === undefined ? null : text(value, what);
}

export function list(value: unknown, what: string): unknown[] {
  return Array.isArray(value) ? value : damaged(`${what} is no list`);
}

export function texts(value: unknown, what: string): string[] {
  return list(value, what).map((each) => text(each, what));
}

export function integer(value: unknown, low: number, high: number, what: string): number {
  return Number.isInteger(value) && (value as number) >= low && (value as number) <= high ? (value as number) : damaged(`${what} holds ${String(value).slice(0, 40)}`);
}

/** A finite number, or null for one that is not known. */
export function figure(value: unknown, what: string): number | null {
  return value === null || value === undefined || (typeof value === "number" && Number.isFinite(value)) ? (value ?? null) : damaged(`${what} is no number`);
}

/** Texts by names that come from the document: no object, which has names of its own (`constructor`). */
export function textsByName(value: unknown, what: string): Map<string, string> {
  return new Map(Object.entries(object(value, what)).map(([name, each]) => [name, text(each, what)]));
}

/** A column of `length` integers from `low` to `high`. */
export function integers(value: unknown, length: number, low: number, high: number, what: string): Int32Array {
  const entries = list(value, what);
  if (entries.length !== length) damaged(`${what} has ${entries.length} entries, not ${length}`);
  const values = new Int32Array(length);
  for (let row = 0; row < length; row++) values[row] = integer(entries[row], low, high, what);
  return values;
}

/** A column that is written as differences, the first against 0. */
export function column(value: unknown, length: number, low: number, high: number, what: string): Int32Array {
  const entries = list(value, what);
  if (entries.length !== length) damaged(`${what} has ${entries.length} entries, not ${length}`);
  const values = new Int32Array(length);
  let sum = 0;
  for (let row = 0; row < length; row++) values[row] = sum = integer(sum + Number(entries[row]), low, high, what);
  return values;
}

/** The largest number that a column holds. */
export const MOST = 2 ** 31 - 1;
