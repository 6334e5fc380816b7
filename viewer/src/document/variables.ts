import { damaged, integer, list, MOST, object, text, textOrNull, texts } from "./checked";

/** A variable of the source, as one row sees it: what its place is there, and what the code did to it. */
export interface Placed {
  name: string;
  type: string | null;
  /** The function that declares it. */
  function: string;
  isArgument: boolean;
  words: string;
}

interface Variable extends Placed {
  /** First row and end of each piece of code in which the source could name it; none: everywhere. */
  scope: number[];
  /** First row, end, and the index of its words, of each range. */
  ranges: number[];
}

/** Where a kernel's variables are, row by row. */
export class Variables {
  private readonly words: readonly string[];
  private readonly all: Variable[];

  constructor(written: unknown, count: number) {
    const chunk = object(written, "code.variables");
    this.words = texts(chunk.words, "code.variables.words");
    this.all = list(chunk.list, "code.variables.list").map((each) => {
      const entry = object(each, "code.variables.list");
      const rows = (value: unknown, step: number, what: string): number[] => {
        const numbers = list(value, what);
        if (numbers.length % step !== 0) damaged(`${what} has ${numbers.length} entries`);
        return numbers.map((row, at) => integer(row, 0, at % step === 2 ? this.words.length - 1 : Math.min(count, MOST), what));
      };
      return {
        name: text(entry.name, "code.variables.name"),
        type: textOrNull(entry.type, "code.variables.type"),
        function: text(entry.function, "code.variables.function"),
        isArgument: entry.is_argument === true,
        scope: rows(entry.scope, 2, "code.variables.scope"),
        ranges: rows(entry.ranges, 3, "code.variables.ranges"),
        words: "",
      };
    });
  }

  /** The variables that the source could name at a row and that have a place there, constants last; and how many others it could name. */
  at(row: number): { placed: Placed[]; others: number } {
    const placed: Placed[] = [];
    let others = 0;
    for (const variable of this.all) {
      if (variable.scope.length > 0 && !holds(variable.scope, 2, row)) continue;
      const at = pieceOf(variable.ranges, 3, row);
      if (at < 0) others++;
      else placed.push({ ...variable, words: this.words[variable.ranges[at + 2]] });
    }
    // What the code holds comes before what the compiler has put into it.
    const isConstant = ({ words }: Placed): number => Number(words.startsWith("constant"));
    placed.sort((a, b) => isConstant(a) - isConstant(b));
    return { placed, others };
  }
}

function holds(rows: readonly number[], step: number, row: number): boolean {
  return pieceOf(rows, step, row) >= 0;
}

/** The index of the first piece that holds a row, -1 for none. */
function pieceOf(rows: readonly number[], step: number, row: number): number {
  for (let at = 0; at < rows.length; at += step) if (rows[at] <= row && row < rows[at + 1]) return at;
  return -1;
}
