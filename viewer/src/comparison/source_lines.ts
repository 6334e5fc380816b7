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

/** One file of both sides. */
class Both {
  readonly isEdited: boolean;
  readonly newOf = new Map<number, number>();
  readonly oldOf = new Map<number, number>();
  readonly edited: LineKey[] = [];

  constructor(
    readonly old: SourceText,
    readonly now: SourceText,
  ) {
    const [before, after] = [old, now].map(({ text }) => text.split("\n").map((line) => line.trimEnd()));
    this.isEdited = before.length !== after.length || before.some((line, at) => line !== after[at]);
    if (!this.isEdited) return;
    let [oldEnd, newEnd] = [-1, -1];
    const gaps: [number[], number[]][] = [];
    for (const [oldAt, newAt] of [...commonPairs(before, after), [before.length, after.length] as const]) {
      gaps.push([numbers(oldEnd + 2, oldAt), numbers(newEnd + 2, newAt)]);
      if (oldAt < before.length) this.newOf.set(oldAt + 1, newAt + 1);
      [oldEnd, newEnd] = [oldAt, newAt];
    }
    const moved = movedLines(before, after, gaps);
    const comeBack = new Set(moved.values());
    for (const [line, other] of moved) {
      this.newOf.set(line, other);
      this.edited.push({ path: now.path, old: line, new: other });
    }
    for (const [left, right] of gaps) {
      // Of what stands between two lines of both, the first lines of each are the same ones, edited.
      const gone = left.filter((line) => !moved.has(line));
      const come = right.filter((line) => !comeBack.has(line));
      for (let at = 0; at < Math.max(gone.length, come.length); at++) {
        const [line, other] = [gone[at] ?? 0, come[at] ?? 0];
        if (line > 0 && other > 0) this.newOf.set(line, other);
        this.edited.push({ path: now.path, old: line, new: other });
      }
    }
    for (const [line, other] of this.newOf) this.oldOf.set(other, line);
  }
}

/** The numbers from the first to the last. */
function numbers(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
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

  constructor(old: readonly SourceText[], now: readonly SourceText[]) {
    const left = new Map(old.map((source): [string, SourceText] => [source.path, source]));
    let waiting = [...now];
    const files: Both[] = [];
    const rules = [(before: string, after: string) => before === after, endAlike, (before: string, after: string) => nameOf(before) === nameOf(after) && nameOf(after) !== ""];
    for (const isSame of rules) {
      for (const source of [...waiting]) {
        const alike = [...left.keys()].filter((path) => isSame(path, source.path));
        if (alike.length !== 1) continue;
        waiting = waiting.filter((other) => other !== source);
        files.push(new Both(left.get(alike[0]) as SourceText, source));
        left.delete(alike[0]);
      }
    }
    // One file of another name.
    if (left.size === 1 && waiting.length === 1) files.push(new Both([...left.values()][0], waiting[0]));
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
