import { isScoreboard, type Parsed } from "./parse";

/** Whether a region's elements lie side by side: `1;1,0`, `8;8,1`, `1;0` and, of destinations and third sources, `1`. */
export function isContiguous(region: string): boolean {
  const match = /^(\d+)(?:;(\d+)(?:,(\d+))?)?$/.exec(region);
  if (match === null) return false;
  const [, vertical, width, horizontal] = match;
  if (width === undefined) return vertical === "1";
  if (horizontal === undefined) return vertical === "1";
  return (horizontal === "1" && vertical === width) || (vertical === "1" && width === "1");
}

/** Whether all channels read one element: `0;1,0`, `0;0` and `0`. */
export function isScalar(region: string): boolean {
  return /^0(?:;(?:1,)?0)?$/.test(region);
}

/**
 * An operand with less ink: subregister 0 and contiguous regions are left out, one element for all channels is `<0>`. With
 * one channel every region is the same, and none is written.
 */
export function shorten(operand: string, channels: number): string {
  const cache = channels === 1 ? known.single : known.many;
  let short = cache.get(operand);
  if (short === undefined) {
    if (cache.size > 50_000) cache.clear();
    short = shortened(operand, channels);
    cache.set(operand, short);
  }
  return short;
}

/** A large kernel has a hundred thousand operands, of which a few thousand differ. */
const known = { single: new Map<string, string>(), many: new Map<string, string>() };

function shortened(operand: string, channels: number): string {
  return operand
    .replace(/^([-~!(a-z)]*[a-z]+\d+)\.0(?=[<:]|$)/, (whole, name: string) => (/f\d+$/.test(name) ? whole : name))
    .replace(/<([\d;,]+)>/, (whole, region: string) => {
      if (channels === 1 || isContiguous(region)) return "";
      return isScalar(region) ? "<0>" : whole;
    })
    .replace(/^null(?:<[^>]*>)?(?::[a-z]+\d*)?$/, "null");
}

/** Widths of the columns of one kernel: predicate and opcode, channels, operands. */
export interface Columns {
  head: number;
  size: number;
  operand: number;
}

const PREDICATE = 4;

export function columnsOf(instructions: readonly Parsed[]): Columns {
  const widths = { head: PREDICATE + 5, size: 7, operand: 7 };
  for (const parsed of instructions) {
    widths.head = Math.max(widths.head, Math.min(14, headOf(parsed).length + 1));
    if (parsed.channels > 0) widths.size = Math.max(widths.size, sizeOf(parsed).length + 1);
  }
  return widths;
}

/** Opcodes are below one another, but for those behind a long predicate. */
function headOf({ predicate, opcode }: Parsed): string {
  return `${predicate === "" ? "" : `${predicate} `}`.padEnd(PREDICATE) + opcode;
}

function sizeOf({ channels, mask }: Parsed): string {
  return channels > 0 ? `(${channels}|${mask})` : "";
}

/** The row of the pane: predicate, opcode, channels, operands; the scoreboard is a column of its own at the right. */
export function layOut(parsed: Parsed, columns: Columns): string {
  const head = `${headOf(parsed)} `.padEnd(columns.head) + sizeOf(parsed).padEnd(columns.size);
  const operands = parsed.operands.map((operand) => shorten(operand, parsed.channels));
  return (head + operands.map((operand) => operand.padEnd(columns.operand)).join(" ")).trimEnd();
}

/** The scoreboard's column: what an instruction waits for, without what says how it is encoded. */
export function scoreboardOf(parsed: Parsed): string[] {
  return parsed.options.filter((option) => isScoreboard(option));
}
