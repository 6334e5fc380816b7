import type { Parsed } from "./parse";
import { shorten } from "./operands";

/** Words by names that stand in a document: no object, which has names of its own (`constructor`). */
function named(words: Record<string, string>): ReadonlyMap<string, string> {
  return new Map(Object.entries(words));
}

/** Letters of a type, in words: `f` is a float of 32 bits. */
const TYPES = named({
  b: "signed bytes",
  ub: "bytes",
  w: "16-bit integers",
  uw: "unsigned 16-bit integers",
  d: "32-bit integers",
  ud: "unsigned 32-bit integers",
  q: "64-bit integers",
  uq: "unsigned 64-bit integers",
  hf: "halves",
  bf: "bfloat16 values",
  tf32: "tf32 values",
  f: "floats",
  df: "doubles",
  v: "packed 4-bit integers",
  uv: "packed unsigned 4-bit integers",
  vf: "packed 8-bit floats",
});

/** How an opcode's operands make its result: a, b, c stand for the sources. */
const FORMULAS = named({
  mov: "a",
  add: "a + b",
  addc: "a + b, carry in acc0",
  add3: "a + b + c",
  avg: "(a + b + 1) >> 1",
  sub: "a − b",
  subb: "a − b, borrow in acc0",
  mul: "a × b",
  mach: "high half of a × b",
  macl: "low half of a × b",
  mad: "a + b × c",
  madm: "a + b × c",
  mac: "acc + a × b",
  dp4a: "a + dot product of 4 bytes of b and c",
  and: "a & b",
  or: "a | b",
  xor: "a ^ b",
  not: "~a",
  shl: "a << b",
  shr: "a >> b, filled with zeros",
  asr: "a >> b, filled with the sign",
  rol: "a rotated left by b",
  ror: "a rotated right by b",
  frc: "a − floor(a)",
  rndd: "floor(a)",
  rndu: "ceil(a)",
  rnde: "a rounded, halves to even",
  rndz: "a without its fraction",
  lzd: "leading zeros of a",
  fbl: "lowest set bit of a",
  fbh: "highest set bit of a",
  cbit: "set bits of a",
  bfrev: "a with its bits reversed",
  lrp: "a × b + (1 − a) × c",
});

const CONDITIONS = named({
  lt: "<",
  le: "≤",
  gt: ">",
  ge: "≥",
  eq: "=",
  ne: "≠",
  ze: "=",
  nz: "≠",
});

export function typeOf(operand: string): string {
  return /:([a-z]+\d*)$/.exec(operand)?.[1] ?? "";
}

function readable(operand: string): string {
  return shorten(operand, 1).replace(/:[a-z]+\d*$/, "").replace(/^-/, "−");
}

/** What an arithmetic instruction computes, as `r82 = r32 − r40`; null where that is not said in one line. */
export function formula(parsed: Parsed): string | null {
  const operands = parsed.operands.filter((operand) => !/^\([a-z]+\)f\d/.test(operand));
  const condition = parsed.operands.find((operand) => /^\([a-z]+\)f\d/.test(operand));
  const [destination, ...sources] = operands;
  if (destination === undefined || sources.length === 0) return null;
  const [a = "", b = "", c = ""] = sources.map(readable);
  const compare = condition === undefined ? null : /^\(([a-z]+)\)(f[\d.]+)/.exec(condition);
  const opcode = parsed.opcode;
  if (opcode === "cmp" && compare !== null) return `${compare[2]} = ${a} ${CONDITIONS.get(compare[1]) ?? compare[1]} ${b}`;
  if (opcode === "sel" && compare !== null)
    return `${readable(destination)} = ${compare[1] === "lt" || compare[1] === "le" ? "smaller" : "greater"} of ${a} and ${b}`;
  if (opcode === "sel" || opcode === "csel") return `${readable(destination)} = ${parsed.predicate || "flag"} ? ${a} : ${b}`;
  if (opcode.startsWith("math.")) return `${readable(destination)} = ${opcode.slice(5)}(${[a, b].filter(Boolean).join(", ")})`;
  const shape = FORMULAS.get(opcode);
  if (shape === undefined) return null;
  if (opcode === "add" && b.startsWith("−")) return `${readable(destination)} = ${a} − ${b.slice(1)}`;
  const filled = shape.replace(/\b([abc])\b(?!\w)/g, (letter) => ({ a, b, c })[letter] ?? letter);
  const flag = compare === null ? "" : `; ${compare[2]} = result ${CONDITIONS.get(compare[1]) ?? compare[1]} 0`;
  return `${readable(destination)} = ${filled}${flag}`;
}

/** The channels, the types and the mask: "16 floats", "one 32-bit integer, whatever the execution mask says". */
export function extent(parsed: Parsed): string {
  if (parsed.channels === 0) return "";
  const operand = parsed.operands.find((each) => /^[a-z]/.test(each) && typeOf(each) !== "") ?? "";
  const type = typeOf(operand);
  const words = TYPES.get(type) ?? (parsed.channels === 1 ? "channel" : "channels");
  const many = parsed.channels === 1 ? `one ${words.replace(/s$/, "").replace(/values/, "value")}` : `${parsed.channels} ${words}`;
  const from = parsed.mask === "M0" || parsed.mask === "" ? "" : `, channels from ${parsed.mask.slice(1)} on`;
  return `${many}${from}${parsed.predicate.startsWith("(W") ? ", whatever the execution mask says" : ""}`;
}

const PIPES = named({
  A: "each pipe",
  F: "the float pipe",
  I: "the integer pipe",
  L: "the long pipe",
  M: "the math pipe",
  S: "the scalar pipe",
});

/** What a token of the scoreboard says. */
export function tokenWords(token: string): string {
  const pipe = /^([A-Z]?)@(\d+)$/.exec(token);
  if (pipe !== null) {
    const back = Number(pipe[2]);
    const which = PIPES.get(pipe[1]) ?? "the pipe of what it reads";
    return `waits for the ${back === 1 ? "last" : `${back}${["", "st", "nd", "rd"][back] ?? "th"} last`} instruction of ${which}`;
  }
  const message = /^\$(\d+)(?:\.(src|dst))?$/.exec(token);
  if (message === null) return token;
  if (message[2] === "dst") return "waits until the result has arrived";
  if (message[2] === "src") return "waits until the operands have been read";
  return "takes this token, which others wait for";
}

export const OPTION_WORDS = named({
  Compacted: "compacted to 8 bytes",
  AccWrEn: "writes the accumulator, too",
  EOT: "ends the thread",
  Atomic: "not interrupted before the next instruction",
  Switch: "lets another thread run",
  NoPreempt: "not interrupted",
  NoDDClr: "leaves the dependency on its destination",
  NoDDChk: "does not check the dependency on its destination",
  BranchCtrl: "branch control",
  Breakpoint: "breakpoint",
  Serialize: "serialised",
  ExBSO: "extended descriptor with a surface offset",
  CPS: "coarse pixel shading",
});
