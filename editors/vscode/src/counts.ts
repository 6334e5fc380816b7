import type { Row } from "./served";

/** A row of the server's figures, with the device where kernels of several are shown. */
export interface Count extends Row {
  device: string | null;
}

/** What stands over a source line: a sentence for each kernel, at most MOST of them. */
export interface Sentence {
  words: string;
  count: Count;
}

const MOST = 3;

/** The figures of a text's lines, which move along while the text is edited. */
export class Counts {
  constructor(private rows: ReadonlyMap<number, readonly Count[]>) {}

  static of(counts: readonly Count[]): Counts {
    const rows = new Map<number, Count[]>();
    for (const count of counts) rows.set(count.line, [...(rows.get(count.line) ?? []), count]);
    return new Counts(rows);
  }

  /** Lines with code, from 1. */
  get lines(): IterableIterator<number> {
    return this.rows.keys();
  }

  at(line: number): readonly Count[] {
    return this.rows.get(line) ?? [];
  }

  /** In place of the lines from `first` to `last` there are so many now (`added` breaks and the rest of the last). */
  edit(first: number, last: number, added: number): void {
    const by = added - (last - first);
    if (by === 0) return;
    const rows = new Map<number, readonly Count[]>();
    for (const [line, counts] of this.rows) {
      if (line <= first) rows.set(line, counts);
      else if (line > last) rows.set(line + by, counts);
    }
    this.rows = rows;
  }
}

export function sentences(counts: readonly Count[]): Sentence[] {
  const hasKernels = new Set(counts.map(({ kernel }) => kernel)).size > 1;
  const hasDevices = new Set(counts.map(({ device }) => device)).size > 1;
  const all = counts.map((count) => {
    const { kernel, device, instructions, wait_cycles } = count;
    const name = [...(hasKernels ? [kernel] : []), ...(hasDevices ? [device ?? "?"] : [])].join(" ");
    const waits = wait_cycles ? ` · waits ${number(wait_cycles)} cycles` : "";
    return { words: `${name === "" ? "" : `${name}: `}${number(instructions)} instruction${instructions === 1 ? "" : "s"}${waits}`, count };
  });
  if (all.length <= MOST) return all;
  const sum = counts.reduce((total, { instructions }) => total + instructions, 0);
  const costliest = counts.reduce((most, count) => (count.instructions > most.instructions ? count : most));
  return [{ words: `${number(sum)} instructions in ${counts.length} kernels`, count: costliest }];
}

function number(value: number): string {
  return value.toLocaleString("en");
}
