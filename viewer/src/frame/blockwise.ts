import type { Kernel, Stage } from "../document/kernel";
import { ORIGIN } from "../document/waits";
import { count, hex, percent, plural } from "../dom";
import { inLoops } from "../panes/loops";

/** What to look at first, and why: as a sentence that the code proves. */
export interface Answer {
  /** The line; -1 where none is known, and these rows of the machine code, or of a stage's text, are what is meant. */
  key: number;
  rows: Int32Array | null;
  stage: string | null;
  /** What it is called: `line 12`, `block B3`. */
  name: string;
  sentence: string;
  /** What to try, where the sentence is of a cause that was observed. */
  next?: string;
}

/** Where the largest of these is; -1 if none is above 0. */
export function largestAt(values: ArrayLike<number>): number {
  let at = -1;
  for (let each = 0; each < values.length; each++) if (values[each] > (at < 0 ? 0 : values[at])) at = each;
  return at;
}

/** The block with the most instructions before `end`, with the largest in a loop where it is in none, and its longest wait. */
export function blockAnswer({ code }: Kernel, end: number): Answer | null {
  const sizes = Array.from(code.blocks, (first, block) => Math.max(0, Math.min(code.blockEnd(block), end) - first));
  const block = largestAt(sizes);
  if (block < 0) return null;
  const rows = rowsFrom(code.blocks[block], sizes[block]);
  const looped = code.depth[block] > 0 ? -1 : largestAt(sizes.map((size, each) => (code.depth[each] > 0 ? size : 0)));
  const others = looped < 0 ? "" : `; of those in loops B${looped} has most, ${count(sizes[looped])}`;
  const wait = code.waits?.longest.find((row) => row >= rows[0] && row <= rows[rows.length - 1]);
  const waits = wait === undefined ? "" : ` Its longest wait is ${count(code.waits?.cycles[wait] ?? 0)} cycles, at ${hex(code.offset[wait])} (${ORIGIN}).`;
  if (wait !== undefined && code.waits !== null && 10 * rows.length > 9 * code.count) {
    // To light all would point at nothing.
    const at = hex(code.offset[wait]);
    const sentence = `Block B${block} has ${count(rows.length)} of the ${count(code.count)} instructions; the longest wait is at ${at}, ${plural(code.waits.cycles[wait], "cycle")} (${ORIGIN}).`;
    return { key: -1, rows: Int32Array.of(wait), stage: null, name: at, sentence };
  }
  const share = `${count(sizes[block])} of the ${count(code.count)} instructions (${percent(sizes[block], code.count)}%)`;
  return { key: -1, rows, stage: null, name: `block B${block}`, sentence: `Block B${block} has ${share}${inLoops(code.depth[block])}: no block has more${others}.${waits}` };
}

/** An instruction of PTX, one that ends a block, and a label, which begins one. */
const INSTRUCTION = /^\s*(@!?%p\d+\s+)?[a-z][\w.]*(\s[^;]*)?;/;
const JUMP = /^\s*(@!?%p\d+\s+)?(bra|brx|ret|exit)\b/;
const LABEL = /^\s*([$%\w]+):/;

/** What PTX tells of a kernel whose machine code is not decoded: its costliest line, else its largest block. */
export function writtenAnswer(kernel: Kernel): Answer | null {
  const stage = kernel.stages.find(({ name, missing }) => name === "ptx" && missing === null);
  if (stage === undefined) return null;
  const counted = stage.lines.map((line) => INSTRUCTION.test(line));
  const all = counted.filter(Boolean).length;
  const words = (number: number): string => `${count(number)} of the ${count(all)} instructions of its PTX (${percent(number, all)}%)`;
  const { places } = kernel;
  const ofLines = Int32Array.from({ length: places.keys }, (_, key) => stage.of(key).filter((row) => counted[row]).length);
  const key = largestAt(ofLines);
  if (key >= 0) return { key, rows: null, stage: stage.name, name: `line ${places.keyLine[key]}`, sentence: `Line ${places.keyLine[key]} has ${words(ofLines[key])}: no line has more.` };
  const blocks = blocksOf(stage, counted);
  const at = largestAt(blocks.map(({ size }) => size));
  if (at < 0) return null;
  const { first, last, size } = blocks[at];
  if (size === all) return null; // straight code: no part of it stands out
  const name = LABEL.exec(stage.lines[first])?.[1] ?? `row ${stage.numbers[first]}`;
  return { key: -1, rows: rowsFrom(first, last - first + 1), stage: stage.name, name: `the block at ${name}`, sentence: `The block at ${name} has ${words(size)}: no block has more.` };
}

/** First and last row of each block of PTX with instructions, and how many these are. */
function blocksOf({ lines }: Stage, counted: readonly boolean[]): { first: number; last: number; size: number }[] {
  const blocks: { first: number; last: number; size: number }[] = [];
  let isOpen = false;
  lines.forEach((line, row) => {
    if (LABEL.test(line)) isOpen = false;
    else if (!counted[row]) return;
    if (!isOpen) blocks.push({ first: row, last: row, size: 0 });
    isOpen = !JUMP.test(line);
    const block = blocks[blocks.length - 1];
    block.last = row;
    block.size += Number(counted[row]);
  });
  return blocks;
}

function rowsFrom(first: number, length: number): Int32Array {
  return Int32Array.from({ length }, (_, at) => first + at);
}
