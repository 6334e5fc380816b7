import { DocumentError } from "./source";

/** No chunk is larger: makers of documents hold to it. */
export const MOST_BYTES = 64 * 1024 * 1024;

/** The JSON that is packed with DEFLATE, by the browser: a script takes twenty times as long. No more than the limit is unpacked.
 * With `part`, what these bytes of it are. */
export async function unpack(packed: Uint8Array<ArrayBuffer>, most = MOST_BYTES, part = { start: 0, size: most }): Promise<unknown> {
  const decoder = new TextDecoder();
  let size = 0;
  let text = "";
  try {
    const content = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
    for (let piece = await content.read(); piece.value !== undefined; piece = await content.read()) {
      const shown = piece.value.subarray(Math.max(0, part.start - size), Math.max(0, part.start + part.size - size));
      size += piece.value.length;
      if (size > most) throw new DocumentError(`A part of this document has more than ${most} bytes: more than is shown.`);
      text += decoder.decode(shown, { stream: true });
    }
  } catch (problem) {
    if (problem instanceof DocumentError) throw problem;
    throw new DocumentError(`A part of this document is damaged (${problem instanceof Error ? problem.message : "DEFLATE"}).`);
  }
  try {
    return JSON.parse(text + decoder.decode());
  } catch {
    throw new DocumentError("A part of this document is damaged: it is no JSON.");
  }
}
