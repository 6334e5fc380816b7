import type { Index } from "./schema";

/** Where documents come from: the page itself (a report) or a server. */
export interface Source {
  readonly mode: "report" | "serve";
  index(): Promise<Index>;
  /** What the chunk holds, unpacked and parsed. Asked for twice, it is made once. */
  chunk(id: string): Promise<unknown>;
}

/** A failure that is told to the reader as it is: a sentence, and what to do next where that is known. */
export class DocumentError extends Error {
  constructor(
    message: string,
    readonly next: string | null = null,
  ) {
    super(message);
  }
}

/** What a failure says, and what to do next, as one sentence after the other. */
export function sentenceOf(problem: unknown): string {
  if (problem instanceof DocumentError && problem.next !== null) return `${problem.message} ${problem.next}`;
  return problem instanceof Error ? problem.message : String(problem);
}

/** The server does not answer: what is shown already stays. */
export class ServerGone extends DocumentError {}

/** Keeps the newest answers and forgets the oldest, so that walking over 300 kernels does not keep them all. */
export class Kept<Value> {
  private readonly values = new Map<string, Promise<Value>>();

  constructor(private readonly most: number) {}

  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.values.get(key);
    this.values.delete(key);
    const value = known ?? make();
    this.values.set(key, value);
    if (known === undefined) {
      // What failed is tried again when it is asked for again.
      value.catch(() => this.values.get(key) === value && this.values.delete(key));
      if (this.values.size > this.most) this.values.delete(this.values.keys().next().value as string);
    }
    return value;
  }
}
