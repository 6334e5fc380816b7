/** Names in as many lines as they need, broken between words: how many that are is known before anything is drawn. */

/** A piece of a text that no line is broken within, unless it is wider than a line, and how it is set. */
export interface Piece {
  text: string;
  style: Style;
}

/** Text of the list; softer text beside it; of heads: bold, and softer. */
export type Style = "name" | "of" | "title" | "words";

/** What is drawn in a line: pieces of one style are one text. */
export type Line = Piece[];

/** A word of a name ends where name_groups.py says so, and also before what stands in brackets, and at spaces. */
const WORDS = /(?<=_|::|[<( ,])(?=[^ ])|(?<=[a-z0-9])(?=[A-Z])/;

export function pieces(text: string, style: Style): Piece[] {
  return text.split(WORDS).map((word) => ({ text: word, style }));
}

/** The widths of texts in pixels. */
export interface Widths {
  of(text: string, style: Style): number;
}

/** Widths as a canvas tells them, each text measured once. */
export class Measured implements Widths {
  private readonly context = document.createElement("canvas").getContext("2d");
  private readonly known: Record<Style, Map<string, number>> = { name: new Map(), of: new Map(), title: new Map(), words: new Map() };

  constructor(private readonly fonts: Record<Style, string>) {}

  of(text: string, style: Style): number {
    const known = this.known[style];
    let width = known.get(text);
    if (width === undefined) {
      if (this.context !== null) this.context.font = this.fonts[style];
      width = this.context?.measureText(text).width ?? 0;
      if (known.size > MOST) known.clear();
      known.set(text, width);
    }
    return width;
  }
}

/** Words whose widths are kept, and characters of a name that are drawn: a name of a megabyte would be a list of its own. */
const MOST = 50_000;
const LONGEST = 4000;

/** The lines of a text: `width` pixels, those after the first begin `hang` pixels further right. */
export function linesOf(text: Piece[], width: number, hang: number, widths: Widths): Line[] {
  const lines: Line[] = [[]];
  let room = width;
  let all = 0;
  const turn = (): void => {
    lines.push([]);
    room = width - hang;
  };
  const add = (piece: Piece, wide: number): void => {
    const line = lines[lines.length - 1];
    const last = line.at(-1);
    if (last?.style === piece.style) last.text += piece.text;
    else line.push({ ...piece });
    room -= wide;
  };
  for (const { text: whole, style } of text) {
    let word = whole;
    if (all + word.length > LONGEST) word = `${word.slice(0, LONGEST - all)}…`;
    all += word.length;
    let wide = widths.of(word, style);
    // A space at the end of a line takes no room.
    if (widths.of(word.trimEnd(), style) > room && lines[lines.length - 1].length > 0) turn();
    while (wide > room) {
      const fitting = fits(word, style, room, widths);
      add({ text: word.slice(0, fitting), style }, room);
      word = word.slice(fitting);
      if (word.trimEnd() === "") break;
      turn();
      wide = widths.of(word, style);
    }
    if (word !== "") add({ text: word, style }, wide);
    if (all > LONGEST) break;
  }
  return lines;
}

/** How many characters of a word fit, at least a single one. */
function fits(word: string, style: Style, room: number, widths: Widths): number {
  let low = 1;
  let high = word.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widths.of(word.slice(0, middle), style) <= room) low = middle;
    else high = middle - 1;
  }
  return low;
}
