import { certainOf, type Kernel } from "../document/kernel";
import type { HeldAtPeak, LiveRegister, Peak } from "../document/registers";
import { h, hex, plural, sentence } from "../dom";
import { peakField } from "./peak_field";

/** Links of one line's registers that are drawn. */
const MOST = 12;

/** Registers that hold values of one source line. */
export interface LivePart {
  /** The line's key, null for what is of none; `origin` says what that is. */
  key: number | null;
  origin: string;
  live: LiveRegister[];
}

/** The lines whose values registers hold at the peak, most registers first, each register with its writers of that line. `keyOf`
 * is a line's key, -1 where its code is laid on another line: then `keyOfRow` of a writer counts. */
export function byLine(held: readonly HeldAtPeak[], live: readonly LiveRegister[], keyOf: (file: number, line: number) => number, keyOfRow: (row: number) => number): LivePart[] {
  const writersOf = new Map(live.map(({ register, writers }) => [register, writers]));
  const parts = new Map<string, LivePart>();
  for (const { line, origin, registers } of held) {
    const own = line === null ? null : keyOf(...line);
    for (const register of registers) {
      const writers = writersOf.get(register) ?? [];
      const key = own !== null && own < 0 ? (writers.length > 0 ? keyOfRow(writers[0]) : null) : own;
      const of = key === null ? [] : writers.filter((row) => keyOfRow(row) === key);
      const part = parts.get(`${key} ${origin}`) ?? { key, origin: origin ?? "no line", live: [] };
      part.live.push({ register, writers: of.length > 0 ? of : writers });
      parts.set(`${key} ${origin}`, part);
    }
  }
  return Array.from(parts.values()).sort((left, right) => right.live.length - left.live.length);
}

/** What holds the registers that are live at a kernel's peak. */
export function partsOf({ code, places }: Pick<Kernel, "code" | "places">, { row, held }: Peak): LivePart[] {
  return byLine(held, code.registers?.liveAt(row) ?? [], (file, line) => places.keyOf(file, line), (writer) => code.key[writer]);
}

/** How many registers of a line hold its values for certain, in words; nothing where all do. */
export function certainWords({ code }: Pick<Kernel, "code">, { key, live }: LivePart): string {
  const certain = live.filter(({ writers }) => certainOf(code, writers.filter((row) => code.key[row] === key))).length;
  return certain < live.length ? `, ${certain} for certain` : "";
}

/** The registers that are live at the peak, by the lines whose values they hold: each with links to who wrote it. */
export function peakSheet({ code, places }: Kernel, peak: Peak, goTo: (register: number, writer: number) => void): HTMLElement[] {
  const { row, registers } = peak;
  const item = ({ register, writers }: LiveRegister): HTMLElement => {
    const links = writers.map((writer) => h("button", { class: "link", type: "button", title: code.opcode(writer), onclick: () => goTo(register, writer) }, hex(code.offset[writer])));
    return h("li", { class: "mono" }, `r${register}`, ...links.flatMap((link, at) => [at === 0 ? " from " : ", ", link]));
  };
  const parts = partsOf({ code, places }, peak);
  const counted = parts.reduce((sum, { live: of }) => sum + of.length, 0);
  const twice = counted > registers ? " One of several lines counts for each." : "";
  const titleOf = ({ key, origin }: LivePart): string => (key !== null && key >= 0 ? `Line ${places.keyLine[key]}` : sentence(`values of ${origin}`).slice(0, -1));
  return [
    ...peakField(parts, titleOf, item),
    h("p", { class: "dim" }, `${plural(registers, "register")} hold a value at ${hex(code.offset[row])}, by the line that wrote it.${twice}`),
    ...parts.map((part) => {
      const { key, live: of } = part;
      const more = of.length > MOST ? [h("details", {}, h("summary", {}, `${of.length - MOST} more`), h("ol", { class: "registers", start: MOST + 1 }, ...of.slice(MOST).map(item)))] : [];
      const sure = key !== null && key >= 0 ? certainWords({ code }, part) : "";
      return h("section", {}, h("h3", {}, `${titleOf(part)}: ${plural(of.length, "register")}${sure}`), h("ol", { class: "registers" }, ...of.slice(0, MOST).map(item)), ...more);
    }),
  ];
}
