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

/** Widths of the columns of one kernel, in characters: predicate and opcode, lanes; no lanes where the code is a listing as another
 * disassembler than IGA prints it, whose operands stay as they are. */
export interface Columns {
  head: number;
  size: number;
}

/** Room for `(W) `; longer predicates stand before the operands, so that opcodes and lanes are below one another. */
const PREDICATE = 4;
/** The widest predicate and opcode that the columns make room for: of IGA's, and of listings, whose mnemonics are longer. */
const WIDEST = 16;
const WIDEST_LISTED = 28;

export function columnsOf(instructions: readonly Parsed[], isListed = false): Columns {
  const widths = { head: PREDICATE + 5, size: isListed ? 0 : 6 };
  for (const { opcode } of instructions) widths.head = Math.max(widths.head, Math.min(isListed ? WIDEST_LISTED : WIDEST, PREDICATE + opcode.length + 1));
  return widths;
}

/** The lanes of an instruction: `16`, and from another lane than 0 on `16·16`. */
export function lanesOf({ channels, mask }: Parsed): string {
  return channels === 0 ? "" : mask === "M0" ? String(channels) : `${channels}·${mask.slice(1)}`;
}

/** What IGA calls a label is an offset in decimal: `L1272` is `→04f8`, as addresses are written. */
function target(operand: string): string {
  return /^L\d{1,9}$/.test(operand) ? `→${Number(operand.slice(1)).toString(16).padStart(4, "0")}` : operand;
}

/** Operands without those that are none; of a message whose words are known, these in place of its descriptors. */
export function operandsOf({ operands, channels, opcode }: Parsed, words: string | null): string[] {
  const descriptors = words !== null && opcode.startsWith("send") ? operands.length - 2 : operands.length;
  const shown: string[] = [];
  for (let at = 0; at < operands.length; at++) {
    const operand = operands[at];
    if (/^null(?![a-z])/.test(operand) || (at >= descriptors && /^(?:0x[0-9A-Fa-f]+|a0\.\d+)/.test(operand))) continue;
    const short = operand.startsWith("L") ? target(operand) : shorten(operand, channels);
    // A branch whose two ways are the same goes there.
    if (!short.startsWith("→") || short !== shown.at(-1)) shown.push(short);
  }
  if (words !== null) shown.push(words);
  return shown;
}

/** The row of the pane: predicate, opcode, lanes, operands, a message's words; what the scoreboard says stands at the right. */
export function layOut(parsed: Parsed, columns: Columns, words: string | null = null): string {
  const { predicate, opcode } = parsed;
  const isShort = predicate.length < PREDICATE;
  const lanes = columns.size === 0 ? "" : `${lanesOf(parsed)} `.padEnd(columns.size);
  const head = `${(isShort ? predicate : "").padEnd(PREDICATE)}${opcode} `.padEnd(columns.head) + lanes;
  const operands = columns.size === 0 ? [...parsed.operands] : operandsOf(parsed, words);
  if (!isShort) operands.unshift(predicate);
  return (head + operands.join(" ")).trimEnd();
}

/** What is known of a message: names are null where that is not. */
export interface MessageFacts {
  operation: string | null;
  action: string | null;
  memory: string | null;
  spill: boolean;
  bytes: number | null;
  words: string;
}

/** A message in a few words: `image load 256 B`, `spill 64 B`; null where they are not known. */
export function messageWords({ operation, action, memory, spill, bytes, words }: MessageFacts): string | null {
  const size = bytes === null ? "" : ` ${bytes} B`;
  if (spill) return `${action === "store" ? "spill" : "fill"}${size}`;
  if (action !== null) return `${memory === "slm" ? "SLM" : (memory ?? "memory")} ${action}${size}`;
  if (words.startsWith("ends the thread")) return "end of thread";
  return operation === null || operation === "unknown" ? null : operation;
}

/** The scoreboard's column: what an instruction waits for, without what says how it is encoded. */
export function scoreboardOf(parsed: Parsed): string[] {
  return parsed.options.filter((option) => isScoreboard(option));
}
