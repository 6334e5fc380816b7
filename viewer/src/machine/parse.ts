/** One instruction as IGA writes it, taken apart. */
export interface Parsed {
  predicate: string;
  opcode: string;
  /** Channels, 0 where the instruction states none; and the first one's number, as `M16`. */
  channels: number;
  mask: string;
  /** Condition modifier, destination and sources, as written. */
  operands: string[];
  /** What stands in braces: scoreboard tokens and options. */
  options: string[];
  comment: string;
}

/** The function that `bfn` computes is a part of its opcode: `bfn.(s0^s1^s2)`. */
const SHAPE = /^\s*(\([^)|]*\))?\s*([A-Za-z][\w.]*(?:\([^)|]*\))?)?\s*(?:\((\d+)\|(M\d+)\))?\s*(.*)$/;
const OPERAND = /[^\s[]*\[[^\]]*\]\S*|\S+/g;

export function parse(line: string): Parsed {
  const [, predicate = "", opcode = "", channels = "0", mask = "", rest = ""] = SHAPE.exec(line.slice(0, 2000)) ?? [];
  const slashes = rest.indexOf("//");
  const comment = slashes < 0 ? "" : rest.slice(slashes + 2).trim();
  const body = slashes < 0 ? rest : rest.slice(0, slashes);
  const brace = body.indexOf("{");
  const options = brace < 0 ? [] : body.slice(brace + 1, body.lastIndexOf("}")).split(",");
  return {
    predicate,
    opcode,
    channels: Number(channels),
    mask,
    operands: (brace < 0 ? body : body.slice(0, brace)).match(OPERAND) ?? [],
    options: options.map((option) => option.trim()).filter((option) => option !== ""),
    comment,
  };
}

/** A scoreboard token, as `I@2` or `$3.dst`; the others are options, as `Compacted`. */
export function isScoreboard(option: string): boolean {
  return /^(?:[A-Z]?@\d+|\$\d+(?:\.(?:src|dst))?)$/.test(option);
}

export interface Register {
  /** `r`, `acc`, `f`, ... */
  file: string;
  number: number;
  /** Subregister, in units of the type. */
  sub: number;
  type: string;
  /** What stands between the angle brackets. */
  region: string;
}

const REGISTER = /^[-~!]?(?:\(abs\))?[-~]?(?:\([a-z]+\))?([a-z]+?)(\d+)(?:\.(\d+))?(?:<([^>]*)>)?(?::([a-z]+\d*))?/;

/** The register that an operand names, null for immediates, labels and indirect operands. */
export function registerOf(operand: string): Register | null {
  const match = REGISTER.exec(operand);
  if (match === null) return null;
  const [, file, number, sub, region, type] = match;
  return { file, number: Number(number), sub: Number(sub ?? 0), region: region ?? "", type: type ?? "" };
}
