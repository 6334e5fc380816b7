import type { Kernel } from "../document/kernel";
import type { LiveRegister } from "../document/registers";
import { h, hex, plural } from "../dom";

/** Links of one line's registers that are drawn. */
const MOST = 12;

/** Registers that hold values of one source line, by who wrote them. */
export interface LivePart {
  /** The line's key; -1 for instructions without a line, null for what was there before the code. */
  key: number | null;
  live: LiveRegister[];
}

/** What registers hold, by the source line that wrote it (of several writers the first), most registers first. */
export function byLine(live: readonly LiveRegister[], keyOf: (row: number) => number): LivePart[] {
  const parts = new Map<number | null, LiveRegister[]>();
  for (const each of live) {
    const key = each.writers.length === 0 ? null : keyOf(each.writers[0]);
    parts.set(key, [...(parts.get(key) ?? []), each]);
  }
  return Array.from(parts, ([key, of]) => ({ key, live: of })).sort((left, right) => right.live.length - left.live.length);
}

/** The registers that are live at the peak, by the lines that wrote them: each a link to where. */
export function peakSheet({ code, places }: Kernel, row: number, goTo: (register: number, writer: number) => void): HTMLElement[] {
  const live = code.registers?.liveAt(row) ?? null;
  if (live === null) return [h("p", {}, "Which registers hold a value there is not known: the document has no live ranges of this kernel.")];
  const titleOf = (key: number | null): string => (key === null ? "There before the code, as arguments are" : key < 0 ? "Written by instructions without a line" : `Line ${places.keyLine[key]}`);
  const link = ({ register, writers }: LiveRegister): HTMLElement => {
    const [writer] = writers;
    if (writer === undefined) return h("li", { class: "mono" }, `r${register}`);
    const words = `r${register} from ${hex(code.offset[writer])}${writers.length > 1 ? ` and ${writers.length - 1} more` : ""}`;
    return h("li", {}, h("button", { class: "link mono", type: "button", title: `Show who wrote r${register}: ${code.opcode(writer)}`, onclick: () => goTo(register, writer) }, words));
  };
  const parts = byLine(live, (writer) => code.key[writer]);
  return [
    h("p", { class: "dim" }, `${plural(live.length, "register")} hold a value at ${hex(code.offset[row])}, by the line that wrote it. The instruction is pinned.`),
    ...parts.map(({ key, live: of }) => {
      const more = of.length > MOST ? [h("details", {}, h("summary", {}, `${of.length - MOST} more`), h("ol", {}, ...of.slice(MOST).map(link)))] : [];
      return h("section", {}, h("h3", {}, `${titleOf(key)}: ${plural(of.length, "register")}`), h("ol", {}, ...of.slice(0, MOST).map(link)), ...more);
    }),
  ];
}
