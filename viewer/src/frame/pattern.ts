/** Characters of a line that are looked at, at most: lines are coloured no further either. At least so many must be bearable. */
const LINE = 2000;
const LEAST = 80;
/** Steps that a browser's engine may take for a single line, by the worst that the expression can do: some hundredths of a second. */
const STEPS = 2e7;
/** Milliseconds that an expression may take for one look at all texts. */
const MOST = 300;

/**
 * A regular expression that a reader typed, which cannot stop the page. A browser's engine goes back and tries again, and cannot
 * be interrupted: so expressions that may take for ever on a line are refused (what is repeated holds neither repetitions nor
 * alternatives, and there are few of both), of a line so much is looked at as takes STEPS at worst, and a look ends when its time
 * is over.
 */
export class Pattern {
  private readonly compiled: RegExp;
  private readonly length: number;
  private began = performance.now();
  private over = false;

  /** Throws an Error that says what is wrong with the expression. */
  constructor(text: string) {
    this.length = bearable(text);
    try {
      this.compiled = new RegExp(text, "i");
    } catch {
      throw new Error("This is no regular expression yet.");
    }
  }

  /** Begins a look. */
  begin(): void {
    this.began = performance.now();
    this.over = false;
  }

  /** Whether the look ended before all was looked at. */
  get isOver(): boolean {
    return this.over;
  }

  test(line: string): boolean {
    if (performance.now() - this.began > MOST) this.over = true;
    return !this.over && this.compiled.test(line.length > this.length ? line.slice(0, this.length) : line);
  }
}

/** How many characters of a line an expression is tried on; throws an Error if that would be too few. */
export function bearable(text: string): number {
  // Repetitions without end, and places with two ways to go on.
  let [repeated, ways] = [0, 0];
  // For each open group whether it holds any of these.
  const groups = [false];
  let closed = false;
  const pieces = text.matchAll(/\\(?:[1-9]|k<)|\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]?|\((?:\?(?:[:=!]|<[=!]|<[^>=!]*>))?|\)|\||(?:[*+?]|\{\d+(?:,\d*)?\})\??|[\s\S]/g);
  for (const [piece] of pieces) {
    const isGroup = closed;
    closed = false;
    if (/^\\(?:[1-9]|k<)$/.test(piece)) throw new Error("An expression cannot refer back to a group here: it may take for ever.");
    if (piece.startsWith("(")) groups.push(false);
    else if (piece === ")") {
      closed = groups.length > 1 && (groups.pop() ?? false);
      groups[groups.length - 1] ||= closed;
    } else if (piece === "|") {
      ways++;
      groups[groups.length - 1] = true;
    } else if (/^\??$|^\?\?$/.test(piece)) {
      ways++;
      groups[groups.length - 1] = true;
    } else if (/^[*+]|^\{\d/.test(piece)) {
      if (isGroup) throw new Error("What is repeated cannot hold repetitions or alternatives: such an expression may take for ever.");
      repeated++;
      groups[groups.length - 1] = true;
    }
  }
  let length = LINE;
  const steps = (): number => {
    let all = 2 ** ways * length;
    for (let each = 1; each <= repeated; each++) all *= length / (each + 1);
    return all;
  };
  while (length >= LEAST && steps() > STEPS) length = Math.floor(length * 0.9);
  if (length < LEAST || text.length > LINE) throw new Error("This expression has too many repetitions and alternatives: it may take for ever.");
  return length;
}
