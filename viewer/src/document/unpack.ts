import { decompress } from "fzstd";

import { DocumentError } from "./source";

/** No chunk is larger: makers of documents hold to it. */
export const MOST_BYTES = 64 * 1024 * 1024;

/** The JSON in one zstd frame. The frame states how large its content is, and no more than that is ever unpacked. */
export function unpack(packed: Uint8Array): unknown {
  const size = sizeOf(packed);
  if (size > MOST_BYTES) throw new DocumentError(`A part of this document says that it has ${size} bytes: more than is shown.`);
  let content: Uint8Array;
  try {
    content = decompress(packed, new Uint8Array(size));
  } catch (problem) {
    throw new DocumentError(`A part of this document is damaged (${problem instanceof Error ? problem.message : "zstd"}).`);
  }
  try {
    return JSON.parse(new TextDecoder().decode(content));
  } catch {
    throw new DocumentError("A part of this document is damaged: it is no JSON.");
  }
}

/** The content size that a zstd frame states (RFC 8878, 3.1.1). */
function sizeOf(frame: Uint8Array): number {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if (frame.length < 6 || view.getUint32(0, true) !== 0xfd2fb528) throw new DocumentError("A part of this document is no zstd frame.");
  const descriptor = frame[4];
  const single = (descriptor & 32) !== 0;
  const at = 5 + (single ? 0 : 1) + [0, 1, 2, 4][descriptor & 3];
  const flag = descriptor >> 6;
  if (flag === 0 && !single) throw new DocumentError("A part of this document does not say how large it is.");
  if (frame.length < at + 8) return flag === 0 ? frame[at] : flag === 1 ? view.getUint16(at, true) + 256 : view.getUint32(at, true);
  if (flag === 3) return Number(view.getBigUint64(at, true));
  return flag === 2 ? view.getUint32(at, true) : flag === 1 ? view.getUint16(at, true) + 256 : frame[at];
}
