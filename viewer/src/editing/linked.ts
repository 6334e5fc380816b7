import type { Configuration } from "../document/options";
import { type Draft, MOST as MOST_VERSIONS } from "./versions";

/** Characters of a link that edits take. */
const MOST = 8192;
/** Characters that they unpack to. */
const MOST_TEXT = 4 << 20;
/** Programs whose edits one link holds. */
const MOST_EDITS = 8;

/** A version in a link: what is compiled again where the link is opened. */
export interface LinkedVersion extends Draft {
  /** What the program is called by that came of it where the link was made. */
  readonly id: string | null;
  readonly number: number;
  readonly from: number;
  readonly name: string;
}

/** A program's edit in a link: what it is now (null: as it was read), and the versions that are seen or compared. */
export interface LinkedEdit {
  readonly program: string;
  /** The file that is compiled, and what the program was built with: a server that was started again may have given it another id. */
  readonly path: string;
  readonly built: Configuration;
  readonly draft: Draft | null;
  readonly against: number | null;
  readonly versions: readonly LinkedVersion[];
}

/** Edits for the address: the id of the program whose edit is shown ("": none), and all of them as JSON (deflate, in URL-safe
 * base64); null if that is too long. */
export async function packedEdits(shown: string, edits: readonly LinkedEdit[]): Promise<string | null> {
  const text = JSON.stringify(edits);
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length * 4 > MOST * 3 || text.length > MOST_TEXT) return null;
  const word = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return `${shown}:${word}`;
}

/** What `packedEdits` wrote; null if it is damaged, or unpacks to too much. */
export async function drawnEdits(word: string): Promise<LinkedEdit[] | null> {
  const packed = word.slice(word.indexOf(":") + 1);
  if (packed.length > MOST) return null;
  try {
    return editsIn(JSON.parse(await unpacked(packed)));
  } catch {
    return null; // an address that somebody cut
  }
}

async function unpacked(word: string): Promise<string> {
  const bytes = Uint8Array.from(atob(word.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > MOST_TEXT) throw new RangeError("the edits are too long");
  }
}

/** Throws TypeError if the JSON is none of edits: whoever wrote a link may have written anything. */
function editsIn(value: unknown): LinkedEdit[] {
  return listOf(value, MOST_EDITS).map((each) => {
    const edit = objectOf(each);
    const against = edit.against === null ? null : numberOf(edit.against);
    return { program: textOf(edit.program), path: textOf(edit.path), built: configurationOf(edit.built), draft: edit.draft === null ? null : draftOf(objectOf(edit.draft)), against, versions: listOf(edit.versions, MOST_VERSIONS).map(versionOf) };
  });
}

function versionOf(value: unknown): LinkedVersion {
  const version = objectOf(value);
  return { ...draftOf(version), id: version.id === null ? null : textOf(version.id), number: numberOf(version.number), from: numberOf(version.from), name: textOf(version.name).slice(0, 200) };
}

function draftOf(value: Record<string, unknown>): Draft {
  const texts = Object.fromEntries(Object.entries(objectOf(value.texts)).map(([path, text]) => [path, textOf(text)]));
  return { texts, configuration: configurationOf(value.configuration) };
}

function configurationOf(value: unknown): Configuration {
  const { device, toolchain, options, all_passes } = objectOf(value);
  return { device: textOf(device), toolchain: textOf(toolchain), options: textOf(options), all_passes: all_passes === true };
}

function listOf(value: unknown, most: number): unknown[] {
  if (!Array.isArray(value) || value.length > most) throw new TypeError("no list of that length");
  return value;
}

function objectOf(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError("no object");
  return value as Record<string, unknown>;
}

function textOf(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("no text");
  return value;
}

function numberOf(value: unknown): number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0) throw new TypeError("no number of a version");
  return value;
}
