import { commonPairs } from "./matching";

/** A line of both sides, the path being the new one's; a number is 0 where that side does not have the line. */
export interface LineKey {
  path: string;
  old: number;
  new: number;
}

/** A file with its text. */
export interface SourceText {
  path: string;
  text: string;
}

/** The key as a word that no other key has. */
export function wordOf({ path, old, new: now }: LineKey): string {
  return `${path}\n${old}\n${now}`;
}

/** A line of a file as a word. */
export function lineWord(path: string, line: number): string {
  return `${line} ${path}`;
}

/** The lines of each side that count, as `lineWord` names them; null: all. */
type Only = readonly [ReadonlySet<string>, ReadonlySet<string>] | null;

const WORD = /[A-Za-z0-9_]+/g;
/** Words of a line by which it is told what it was before, and pairs of lines of a file that are looked at for that. */
const MOST_WORDS = 40;
const MOST_CELLS = 20_000;

/** One file of both sides. */
class Both {
  readonly isEdited: boolean;
  readonly newOf = new Map<number, number>();
  readonly oldOf = new Map<number, number>();
  readonly edited: LineKey[] = [];

  constructor(
    readonly old: SourceText,
    readonly now: SourceText,
    only: Only,
  ) {
    const texts = [old, now].map(({ text }) => text.split("\n").map((line) => line.trimEnd()));
    const [before, after] = texts;
    this.isEdited = only !== null || before.length !== after.length || before.some((line, at) => line !== after[at]);
    if (!this.isEdited) return;
    const sides = [old, now].map(({ path }, side) => Array.from(texts[side], (_, at) => at + 1).filter((line) => only === null || only[side].has(lineWord(path, line))));
    const chosen = sides.map((lines, side) => lines.map((line) => texts[side][line - 1]));
    let [oldEnd, newEnd] = [-1, -1];
    const gaps: [number[], number[]][] = [];
    for (const [oldAt, newAt] of [...commonPairs(chosen[0], chosen[1]), [sides[0].length, sides[1].length] as const]) {
      gaps.push([sides[0].slice(oldEnd + 1, oldAt), sides[1].slice(newEnd + 1, newAt)]);
      if (oldAt < sides[0].length) this.newOf.set(sides[0][oldAt], sides[1][newAt]);
      [oldEnd, newEnd] = [oldAt, newAt];
    }
    const edited = movedLines(before, after, gaps);
    const [moved, comeBack] = [new Set(edited.keys()), new Set(edited.values())];
    let cells = MOST_CELLS;
    for (const [left, right] of gaps) {
      const gone = left.filter((line) => !moved.has(line));
      const come = right.filter((line) => !comeBack.has(line));
      cells -= gone.length * come.length;
      const both = cells >= 0 ? mostAlike(gone, come, texts) : gone.slice(0, come.length).map((line, at) => [line, come[at]] as const);
      for (const [line, other] of both) edited.set(line, other);
      const pairs = new Set(both.map(([, line]) => line));
      for (const line of gone) if (!edited.has(line)) this.edited.push({ path: now.path, old: line, new: 0 });
      for (const line of come) if (!pairs.has(line)) this.edited.push({ path: now.path, old: 0, new: line });
    }
    for (const [line, other] of edited) {
      this.newOf.set(line, other);
      this.edited.push({ path: now.path, old: line, new: other });
    }
    for (const [line, other] of this.newOf) this.oldOf.set(other, line);
  }
}

/** Pairs, both ascending, of lines that are the same ones, edited: those that have most words in common. */
function mostAlike(gone: readonly number[], come: readonly number[], texts: readonly (readonly string[])[]): (readonly [number, number])[] {
  const [old, now] = [gone, come].map((lines, side) => lines.map((line) => wordsOf(texts[side][line - 1])));
  const alike = old.map((before) => now.map((after) => 1 + alikeOf(before, after)));
  const best = Array.from({ length: gone.length + 1 }, () => new Array<number>(come.length + 1).fill(0));
  for (let at = gone.length - 1; at >= 0; at--) {
    for (let place = come.length - 1; place >= 0; place--) {
      best[at][place] = Math.max(best[at + 1][place + 1] + alike[at][place], best[at + 1][place], best[at][place + 1]);
    }
  }
  const pairs: (readonly [number, number])[] = [];
  for (let [at, place] = [0, 0]; at < gone.length && place < come.length; ) {
    if (best[at][place] === best[at + 1][place + 1] + alike[at][place]) pairs.push([gone[at++], come[place++]]);
    else if (best[at + 1][place] >= best[at][place + 1]) at++;
    else place++;
  }
  return pairs;
}

function wordsOf(text: string): Map<string, number> {
  const words = new Map<string, number>();
  for (const word of (text.match(WORD) ?? []).slice(0, MOST_WORDS)) words.set(word, (words.get(word) ?? 0) + 1);
  return words;
}

/** How many in a hundred of the words of two lines both have. */
function alikeOf(old: ReadonlyMap<string, number>, now: ReadonlyMap<string, number>): number {
  const sum = (words: ReadonlyMap<string, number>): number => [...words.values()].reduce((all, count) => all + count, 0);
  const shared = [...old].reduce((all, [word, count]) => all + Math.min(count, now.get(word) ?? 0), 0);
  const words = sum(old) + sum(now);
  return words > 0 ? Math.floor((200 * shared) / words) : 0;
}

/** The new numbers of lines that stand elsewhere now: their text is what one line of those left over has on either side. */
function movedLines(old: readonly string[], now: readonly string[], gaps: readonly [number[], number[]][]): Map<number, number> {
  const sides = [old, now].map((texts, side) => {
    const lines = new Map<string, number[]>();
    for (const number of gaps.flatMap((gap) => gap[side])) {
      const text = texts[number - 1].trim();
      if (!/[\p{L}\p{N}]/u.test(text)) continue;
      const alike = lines.get(text);
      if (alike === undefined) lines.set(text, [number]);
      else alike.push(number);
    }
    return lines;
  });
  const moved = new Map<number, number>();
  for (const [text, lines] of sides[0]) {
    const others = sides[1].get(text);
    if (lines.length === 1 && others?.length === 1) moved.set(lines[0], others[0]);
  }
  return moved;
}

/**
 * The lines of the files of two programs, as analysis/comparison/source_lines.py pairs them. Where a file's text is missing on a
 * side, equal numbers are one line.
 */
export class SourceLines {
  readonly edited: ReadonlySet<string>;
  readonly editedLines: readonly LineKey[];
  private readonly ofOld = new Map<string, Both>();
  private readonly ofNew = new Map<string, Both>();

  /** `only` are the lines of each side that count. */
  constructor(old: readonly SourceText[], now: readonly SourceText[], only: Only = null) {
    const left = new Map(old.map((source): [string, SourceText] => [source.path, source]));
    let waiting = [...now];
    const files: Both[] = [];
    const rules = [(before: string, after: string) => before === after, endAlike, (before: string, after: string) => nameOf(before) === nameOf(after) && nameOf(after) !== ""];
    for (const isSame of rules) {
      for (const source of [...waiting]) {
        const alike = [...left.keys()].filter((path) => isSame(path, source.path));
        if (alike.length !== 1) continue;
        waiting = waiting.filter((other) => other !== source);
        files.push(new Both(left.get(alike[0]) as SourceText, source, only));
        left.delete(alike[0]);
      }
    }
    // One file of another name.
    if (left.size === 1 && waiting.length === 1) files.push(new Both([...left.values()][0], waiting[0], only));
    for (const file of files) {
      this.ofOld.set(file.old.path, file);
      this.ofNew.set(file.now.path, file);
    }
    this.editedLines = files.flatMap(({ edited }) => edited);
    this.edited = new Set(this.editedLines.map(wordOf));
  }

  oldKey(path: string, line: number): LineKey {
    const file = this.ofOld.get(path);
    if (file === undefined) return { path, old: line, new: line };
    return { path: file.now.path, old: line, new: file.isEdited ? (file.newOf.get(line) ?? 0) : line };
  }

  newKey(path: string, line: number): LineKey {
    const file = this.ofNew.get(path);
    return { path, old: file?.isEdited ? (file.oldOf.get(line) ?? 0) : line, new: line };
  }
}

function piecesOf(path: string): string[] {
  return path.replaceAll("\\", "/").split("/").filter((piece) => piece !== "" && piece !== ".");
}

function nameOf(path: string): string {
  return piecesOf(path).at(-1) ?? "";
}

/** Whether one of two paths is the end of the other, piece by piece. */
function endAlike(first: string, second: string): boolean {
  const [ours, theirs] = [piecesOf(first), piecesOf(second)];
  const length = Math.min(ours.length, theirs.length);
  return length > 0 && ours.slice(-length).join("/") === theirs.slice(-length).join("/");
}
