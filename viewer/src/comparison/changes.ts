import { certainOf, INHERITED, type Kernel, PROLOGUE } from "../document/kernel";
import { Code } from "./forms";
import { commonPairs } from "./matching";
import { type LineKey, lineWord, SourceLines, type SourceText, wordOf } from "./source_lines";

/** What a group of instructions without a line of their own is called. */
const WITHOUT_LINE = ["prologue", "a neighbour's line", "no line", "sync of the other lines"].map((path): LineKey => ({ path, old: 0, new: 0 }));
const [THE_PROLOGUE, NEIGHBOURS, NO_LINE, OTHER_WAITS] = WITHOUT_LINE;

/** Rows that stand side by side, -1 where a side has none. */
export type RowPair = readonly [old: number, new: number];

/** A line whose instructions differ: others, the same on other operands, or those of all other lines that only wait. */
export interface LineChange {
  key: LineKey;
  /** Whether it is a line of the source, not a name for instructions without one. */
  isLine: boolean;
  change: "instructions" | "operands" | "sync";
  /** Whether the source line itself was edited; null where no edit is known. */
  isCause: boolean | null;
  old: number[];
  new: number[];
  /** Its instructions side by side, in the order of the new code. */
  pairs: RowPair[];
  /** How many instructions only one side has, and on both sides those that only wait, which count apart. */
  removed: number;
  added: number;
  oldWaits: number;
  newWaits: number;
  /** How many of its instructions are certainly the line's, on both sides; null for instructions without one. */
  certain: readonly [old: number, new: number] | null;
}

/** A line that has more or fewer instructions that only wait, and else the same ones: how many instructions it has on both sides. */
export interface WaitingLine {
  key: LineKey;
  old: number;
  new: number;
}

/** What differs between two kernels, as `kernlens diff` says it. */
export interface KernelChange {
  /** The instructions are the same one by one, names of registers aside. */
  isSame: boolean;
  lines: LineChange[];
  /** Source lines that have code on a side and are in no row; `waiting` of them have more or fewer instructions, which only wait. */
  unchanged: number;
  waiting: readonly WaitingLine[];
  /** Source lines that were edited. */
  edited: readonly LineKey[];
}

/** A kernel with the texts of its program's files. */
export interface Side {
  kernel: Kernel;
  sources: readonly SourceText[];
}

/** Compares two kernels: analysis/comparison/kernel_changes.py for the page. A test holds both to the same answers. */
export function kernelChange(old: Side, now: Side): KernelChange {
  const codes = [old, now].map(({ kernel }) => new Code(kernel.code, kernel.program.register_bytes ?? 32)) as [Code, Code];
  const hasLines = old.kernel.missing.lines === null && now.kernel.missing.lines === null;
  const lines = hasLines ? sourceLines(old, now) : new SourceLines([], []);
  // Where the stages of one side alone were recorded, nothing tells what the other side's instructions inherit.
  const isTold = isToldOf(old.kernel) && isToldOf(now.kernel);
  const keys = [keysOf(old.kernel, hasLines, isTold, (path, line) => lines.oldKey(path, line)), keysOf(now.kernel, hasLines, isTold, (path, line) => lines.newKey(path, line))] as const;
  const groups = keys.map(groupsOf);
  const known = new Map([...keys[0], ...keys[1]].map((key): [string, LineKey] => [wordOf(key), key]));
  const isSame = codes[0].isSame(codes[1]);
  const { changes, waiting } = isSame ? { changes: [], waiting: [] } : changedLines([old.kernel, now.kernel], codes, keys, groups as [Groups, Groups], known, lines.edited);
  const changed = changes.filter(({ isLine }) => isLine).length;
  return { isSame, lines: changes, unchanged: [...known.values()].filter((key) => !WITHOUT_LINE.includes(key)).length - changed, waiting, edited: lines.editedLines };
}

/** The lines of both sides; what two kernels of one source have in common stands at other places of it. */
function sourceLines(old: Side, now: Side): SourceLines {
  const lines = new SourceLines(old.sources, now.sources);
  return lines.edited.size > 0 || old.kernel.name === now.kernel.name ? lines : new SourceLines(old.sources, now.sources, [linesOf(old.kernel), linesOf(now.kernel)]);
}

/** The lines that have code of the kernel's own, as `lineWord` names them. */
function linesOf({ code, files, places }: Kernel): ReadonlySet<string> {
  const lines = new Set<string>();
  code.key.forEach((key, row) => {
    if (key >= 0 && (code.flags[row] & (PROLOGUE | INHERITED)) === 0) lines.add(lineWord(files[places.keyFile[key]], places.keyLine[key]));
  });
  return lines;
}

type Groups = Map<string, number[]>;

/** Whether the compile's stages say which rows have no line of their own. */
function isToldOf({ code, stages }: Kernel): boolean {
  return stages.length > 0 || code.flags.some((bits) => (bits & INHERITED) !== 0);
}

function keysOf({ code, files, places }: Kernel, hasLines: boolean, isTold: boolean, keyOf: (path: string, line: number) => LineKey): LineKey[] {
  const known = new Map<number, LineKey>();
  return Array.from(code.key, (key, row) => {
    if (!hasLines) return NO_LINE;
    if (code.flags[row] & PROLOGUE) return THE_PROLOGUE;
    if (key < 0) return NO_LINE;
    if (isTold && code.flags[row] & INHERITED) return NEIGHBOURS;
    const line = known.get(key) ?? keyOf(files[places.keyFile[key]], places.keyLine[key]);
    known.set(key, line);
    return line;
  });
}

function groupsOf(keys: readonly LineKey[]): Groups {
  const groups: Groups = new Map();
  keys.forEach((key, row) => {
    const word = wordOf(key);
    const rows = groups.get(word);
    if (rows === undefined) groups.set(word, [row]);
    else rows.push(row);
  });
  return groups;
}

function changedLines(kernels: readonly [Kernel, Kernel], codes: [Code, Code], keys: readonly [LineKey[], LineKey[]], groups: [Groups, Groups], known: Map<string, LineKey>, edited: ReadonlySet<string>): Pick<KernelChange, "waiting"> & { changes: LineChange[] } {
  const prologue = groups.map((of, side) => (of.get(wordOf(THE_PROLOGUE)) ?? []).map((row) => codes[side].texts[row]).join("\n"));
  const hasSamePrologue = prologue[0] === prologue[1];
  const changes: LineChange[] = [];
  const others: [number[], number[]] = [[], []];
  const waiting: WaitingLine[] = [];
  for (const [word, key] of known) {
    const rows = groups.map((of) => of.get(word) ?? []) as [number[], number[]];
    const waits = rows.map((of, side) => of.filter((row) => codes[side].forms[row].waits));
    const [removed, added] = counts(rows, codes, (code, row) => code.texts[row]);
    const isOther = removed + added > 0;
    const change = isOther ? "instructions" : key !== THE_PROLOGUE && counts(rows, codes, (code, row, side) => operandsOf(code, row, keys[side], hasSamePrologue))[0] > 0 ? "operands" : null;
    if (change === null) {
      for (const side of [0, 1]) others[side].push(...waits[side]);
      if (rows[0].length !== rows[1].length) waiting.push({ key, old: rows[0].length, new: rows[1].length });
      continue;
    }
    const [oldWaits, newWaits] = waits.map(({ length }) => length);
    const certain = WITHOUT_LINE.includes(key) ? null : ([certainOf(kernels[0].code, rows[0]), certainOf(kernels[1].code, rows[1])] as const);
    changes.push({ key, isLine: certain !== null, certain, change, isCause: edited.size > 0 ? edited.has(word) : null, old: rows[0], new: rows[1], pairs: linePairs(codes, rows), removed, added, oldWaits, newWaits });
  }
  const [oldWaits, newWaits] = others.map(({ length }) => length);
  if (oldWaits !== newWaits) {
    for (const rows of others) rows.sort((left, right) => left - right);
    changes.push({ key: OTHER_WAITS, isLine: false, certain: null, change: "sync", isCause: null, old: others[0], new: others[1], pairs: linePairs(codes, others), removed: 0, added: 0, oldWaits, newWaits });
  }
  return { changes, waiting };
}

/** How many instructions that do something only one side has, told apart by a word of each. */
function counts(rows: readonly [number[], number[]], codes: readonly [Code, Code], wordOfRow: (code: Code, row: number, side: number) => string): [removed: number, added: number] {
  const balance = new Map<string, number>();
  for (const side of [0, 1]) {
    for (const row of rows[side]) {
      if (codes[side].forms[row].waits) continue;
      const word = wordOfRow(codes[side], row, side);
      balance.set(word, (balance.get(word) ?? 0) + (side === 0 ? 1 : -1));
    }
  }
  const sum = (sign: number): number => [...balance.values()].reduce((all, count) => all + Math.max(0, sign * count), 0);
  return [sum(1), sum(-1)];
}

/** An instruction's text with the lines that its operands come from. */
function operandsOf(code: Code, row: number, keys: readonly LineKey[], hasSamePrologue: boolean): string {
  const own = keys[row];
  const sources = code.origins[row].map(({ writer, place }) => {
    if (writer < 0) return hasSamePrologue ? `${place}` : "";
    const key = keys[writer];
    if (key === THE_PROLOGUE) return hasSamePrologue ? `p ${writer} ${place}` : "";
    // Of its own line, what the operand is made by: which of several lines computes what they share, the compiler decides anew.
    return wordOf(key) === wordOf(own) ? `t ${code.texts[writer]} ${place}` : `k ${wordOf(key)} ${place}`;
  });
  return [code.texts[row], ...sources].join("\r");
}

/** A line's old and new instructions side by side: what moved within the line stands where it is new. */
function linePairs(codes: readonly [Code, Code], rows: readonly [number[], number[]]): RowPair[] {
  const pairs = pairsOf(codes, rows);
  const left = new Map<string, number[]>();
  for (const [old, now] of pairs.toReversed()) {
    if (now >= 0) continue;
    const alike = left.get(codes[0].texts[old]);
    if (alike === undefined) left.set(codes[0].texts[old], [old]);
    else alike.push(old);
  }
  const gone = new Set<number>();
  const joined = pairs.map((pair): RowPair => {
    const moved = pair[0] < 0 ? left.get(codes[1].texts[pair[1]])?.pop() : undefined;
    if (moved === undefined) return pair;
    gone.add(moved);
    return [moved, pair[1]];
  });
  return joined.filter(([old, now]) => now >= 0 || !gone.has(old));
}

/** Old and new instructions side by side, in the order of the code. */
function pairsOf(codes: readonly [Code, Code], rows: readonly [number[], number[]]): RowPair[] {
  const forms = rows.map((of, side) => of.map((row) => codes[side].texts[row]));
  const pairs: RowPair[] = [];
  let [old, now] = [0, 0];
  for (const [oldAt, newAt] of [...commonPairs(forms[0], forms[1]), [rows[0].length, rows[1].length] as const]) {
    while (old < oldAt) pairs.push([rows[0][old++], -1]);
    while (now < newAt) pairs.push([-1, rows[1][now++]]);
    if (old < rows[0].length && now < rows[1].length) pairs.push([rows[0][old++], rows[1][now++]]);
  }
  return pairs;
}

/** All instructions of two kernels side by side. */
export function allPairs(old: Kernel, now: Kernel): RowPair[] {
  const codes = [old, now].map(({ code, program }) => new Code(code, program.register_bytes ?? 32)) as [Code, Code];
  return pairsOf(codes, [[...codes[0].forms.keys()], [...codes[1].forms.keys()]]);
}
