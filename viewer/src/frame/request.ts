import type { Request } from "../document/observed";
import { count, h, plural, prose, svg } from "../dom";

/** Units, and words of a bank, that are drawn; pixels of a unit's row, of a byte, and of a bank's column and a word in it. */
const MOST_UNITS = 24;
const MOST_WORDS = 16;
const HEIGHT = 10;
const GAP = 3;
const BYTE = 1.5;
const COLUMN = 11;
const WORD = 5;

/** One request, drawn: on the units of memory that it touches, or on the banks of local memory. */
export function drawRequest(request: Request): HTMLElement {
  const isBanked = request.banks > 0;
  const { drawing, words } = isBanked ? onBanks(request) : onUnits(request);
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", words);
  return h("div", { class: "request" }, h("p", {}, ...prose(request.words), `. ${words}`), drawing);
}

interface Drawn {
  drawing: SVGElement;
  words: string;
}

/** A row for each unit that is touched, in the order of addresses, with the bytes that lanes access. */
function onUnits({ unit, bytes, lanes, at }: Request): Drawn {
  const parts = new Map<number, { lane: number; from: number; size: number }[]>();
  lanes.forEach((lane, index) => {
    for (let from = at[index], end = from + bytes; from < end; ) {
      const number = Math.floor(from / unit);
      const size = Math.min(end, (number + 1) * unit) - from;
      const own = parts.get(number);
      const part = { lane, from: from - number * unit, size };
      if (own === undefined) parts.set(number, [part]);
      else own.push(part);
      from += size;
    }
  });
  const numbers = Array.from(parts.keys()).sort((left, right) => left - right);
  const rows = numbers.slice(0, MOST_UNITS).map((number, row) => {
    const own = parts.get(number) ?? [];
    const y = row * (HEIGHT + GAP);
    const title = svg("title");
    title.textContent = `Bytes ${count(number * unit)} to ${count((number + 1) * unit - 1)}: ${laneWords(own.map(({ lane }) => lane))}`;
    const marks = own.map(({ from, size }) => svg("rect", { class: "used", x: from * BYTE, y, width: Math.max(1, size * BYTE - 0.5), height: HEIGHT }));
    return svg("g", {}, title, svg("rect", { class: "unit", x: 0, y, width: unit * BYTE, height: HEIGHT }), ...marks);
  });
  const more = numbers.length > MOST_UNITS ? `, the first ${MOST_UNITS} of them` : "";
  const width = unit * BYTE;
  const drawing = svg("svg", { width, height: rows.length * (HEIGHT + GAP), viewBox: `0 0 ${width} ${rows.length * (HEIGHT + GAP)}` }, ...rows);
  return { drawing, words: `${plural(lanes.length, "lane")} on ${plural(numbers.length, "unit")} of ${unit} bytes${more}.` };
}

/** A column for each bank, with a square for each word that it serves. */
function onBanks({ banks, bank, bytes, lanes, at }: Request): Drawn {
  const words: Map<number, number[]>[] = Array.from({ length: banks }, () => new Map());
  lanes.forEach((lane, index) => {
    for (let word = Math.floor(at[index] / bank); word <= Math.floor((at[index] + bytes - 1) / bank); word++) {
      const own = words[word % banks];
      own.set(word, [...(own.get(word) ?? []), lane]);
    }
  });
  const most = Math.max(...words.map(({ size }) => size));
  const height = Math.min(most, MOST_WORDS) * WORD + 2;
  const columns = words.map((own, number) => {
    const title = svg("title");
    title.textContent = `Bank ${number}: ${plural(own.size, "word")}${own.size === 0 ? "" : `, ${laneWords(Array.from(own.values()).flat())}`}`;
    const marks = Array.from({ length: Math.min(own.size, MOST_WORDS) }, (_, row) => svg("rect", { class: "used", x: number * COLUMN + 1, y: height - 1 - (row + 1) * WORD, width: COLUMN - 2, height: WORD - 1 }));
    return svg("g", {}, title, svg("rect", { class: "unit", x: number * COLUMN, y: 0, width: COLUMN - 1, height }), ...marks);
  });
  const drawing = svg("svg", { width: banks * COLUMN, height, viewBox: `0 0 ${banks * COLUMN} ${height}` }, ...columns);
  const busy = words.filter(({ size }) => size > 0).length;
  return { drawing, words: `${plural(lanes.length, "lane")} on ${busy} of ${banks} banks, ${plural(most, "word")} of the busiest one.` };
}

/** "lanes 0 to 15", "lanes 0, 2, 4 and 13 more". */
function laneWords(lanes: number[]): string {
  const own = Array.from(new Set(lanes)).sort((left, right) => left - right);
  const [first] = own;
  const last = own[own.length - 1];
  if (own.length === 1) return `lane ${first}`;
  if (last - first === own.length - 1) return `lanes ${first} to ${last}`;
  return `lanes ${own.slice(0, 4).join(", ")}${own.length > 4 ? ` and ${own.length - 4} more` : ""}`;
}
