/** Which rows each key has: those of `key` are `rows[start[key]]` up to `rows[start[key + 1]]`. */
export interface Csr {
  readonly start: Int32Array;
  readonly rows: Int32Array;
}

export const NO_ROWS = new Int32Array(0);

/** By counting: `keys` and `rows` (without them their numbers) are pairs, whose order stays within a key; `keys` are below `size`, a
 * negative one counts for nothing. */
export function group(keys: ArrayLike<number>, size: number, rows?: ArrayLike<number>): Csr {
  const start = new Int32Array(size + 1);
  for (let index = 0; index < keys.length; index++) if (keys[index] >= 0) start[keys[index] + 1]++;
  for (let key = 0; key < size; key++) start[key + 1] += start[key];
  const next = start.slice(0, size);
  const grouped = new Int32Array(start[size]);
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index];
    if (key >= 0) grouped[next[key]++] = rows === undefined ? index : rows[index];
  }
  return { start, rows: grouped };
}

export function rowsOf(csr: Csr, key: number): Int32Array {
  return key < 0 || key >= csr.start.length - 1 ? NO_ROWS : csr.rows.subarray(csr.start[key], csr.start[key + 1]);
}

/** The last index whose value is at most `value` in an ascending column, or -1. */
export function lastAtMost(column: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The entry of an ascending list that is nearest to `value`. */
export function nearest(rows: Int32Array, value: number): number {
  const before = lastAtMost(rows, value);
  if (before < 0) return rows[0];
  if (before === rows.length - 1) return rows[before];
  return value - rows[before] <= rows[before + 1] - value ? rows[before] : rows[before + 1];
}
