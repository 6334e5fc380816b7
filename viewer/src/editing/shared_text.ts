/** Characters of an edited source that an address takes. */
const MOST = 8192;

/** An edited source for the address: deflate, in URL-safe base64; null if that is too long. */
export async function packed(text: string): Promise<string | null> {
  const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  if (bytes.length * 4 > MOST * 3) return null;
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The source of an address; null if it is damaged, or unpacks to more than a megabyte. */
export async function drawn(word: string): Promise<string | null> {
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
