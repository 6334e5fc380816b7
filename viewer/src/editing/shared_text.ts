import type { Configuration } from "../document/options";

/** Characters of an edited source that an address takes. */
const MOST = 8192;

/** An edited source in an address: the program and the file that it is of, and its text as `packed` writes it; "" if the text is
 * the recorded one, and only the configurations are chosen. */
export interface SharedText {
  program: string;
  path: string;
  word: string;
}

/** An edited source for the address: the program's id, the file's path, and the text (deflate, in URL-safe base64; null: the
 * recorded one); null if that is too long. */
export async function packed({ program, path }: { program: string; path: string }, text: string | null): Promise<string | null> {
  if (text === null) return `${program}:${path}:`;
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length * 4 + path.length * 3 > MOST * 3) return null;
  const word = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${program}:${path}:${word}`;
}

/** What `packed` wrote. A word alone, as in addresses before the file stood in them, is of the file that is shown first. */
export function sharedText(value: string): SharedText {
  const [, program = "", path = "", word = ""] = /^(?:([^:]*):(.*):)?([^:]*)$/s.exec(value) ?? [];
  return { program, path, word };
}

/** The id of the program whose edit a link shows that holds versions (linked.ts). */
export function linkedProgram(word: string): string {
  return word.slice(0, Math.max(0, word.indexOf(":")));
}

/** The source of an address; null if it is damaged, or unpacks to more than a megabyte. */
export async function drawn({ word }: SharedText): Promise<string | null> {
  if (word.length > MOST) return null;
  try {
    const bytes = Uint8Array.from(atob(word.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return text;
      text += value;
      if (text.length > 1 << 20) return null;
    }
  } catch {
    return null; // an address that somebody cut
  }
}

/** Configurations for the address, a line each; the first is the one that is shown. */
export function configurationsIn(value: string): Configuration[] {
  const words = value.split("\n").map((line) => /^([^:]+):([^:]+):(.*)$/.exec(line));
  return words.flatMap((match) => (match === null ? [] : { device: match[1], toolchain: match[2], options: match[3], all_passes: false }));
}

export function configurationsOut(configurations: readonly Configuration[]): string {
  return configurations.map(({ device, toolchain, options }) => `${device}:${toolchain}:${options}`).join("\n");
}
