import { DocumentError } from "./source";

/** Five of these are four bytes, the most significant first: nothing that HTML gives a meaning to. */
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%.()*+-;,=:?@^_/{|}~";

/** The bytes of a text in base 85; groups are whole, white space between digits counts for nothing. */
export function decode85(text: string): Uint8Array<ArrayBuffer> {
  const value = new Int16Array(128).fill(-1);
  for (let index = 0; index < 85; index++) value[ALPHABET.charCodeAt(index)] = index;
  const bytes = new Uint8Array(Math.ceil(text.length / 5) * 4);
  let group = 0;
  let digits = 0;
  let end = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 32) continue;
    const digit = code < 128 ? value[code] : -1;
    if (digit < 0) throw new DocumentError("The document in this page is damaged.");
    group = group * 85 + digit;
    if (++digits === 5) {
      bytes[end++] = group >>> 24;
      bytes[end++] = (group >>> 16) & 255;
      bytes[end++] = (group >>> 8) & 255;
      bytes[end++] = group & 255;
      group = digits = 0;
    }
  }
  if (digits > 0) throw new DocumentError("The document in this page is damaged: it ends within a group.");
  return bytes.subarray(0, end);
}
