import { decode85 } from "./base85";
import { readIndex } from "./read";
import type { Index } from "./schema";
import { DocumentError, Kept, type Source } from "./source";
import { MOST_BYTES, unpack } from "./unpack";

/** A report: the document is in two blocks of the page, the chunks packed, in base 85, one after the other. */
export class ReportSource implements Source {
  readonly mode = "report";
  private readonly chunks = new Kept<unknown>(24);
  private read: Promise<Index> | null = null;
  private text: string | null = null;

  constructor(private readonly page: Document) {}

  index(): Promise<Index> {
    this.read ??= (async () => {
      const block = this.block("index");
      return readIndex(await unpack(decode85(block.textContent ?? "").subarray(0, Number(block.dataset.bytes))));
    })();
    return this.read;
  }

  chunk(id: string): Promise<unknown> {
    return this.chunks.get(id, async () => {
      const { offset, packed, part } = (await this.index()).chunks.get(id) ?? { offset: null, packed: null };
      if (offset === null || packed === null) throw new DocumentError("This report was written without this part.");
      this.text ??= this.taken("chunks");
      const digits = this.text.slice((offset / 4) * 5, Math.ceil((offset + packed) / 4) * 5);
      return unpack(decode85(digits).subarray(0, packed), MOST_BYTES, part);
    });
  }

  /** A block's text, which is then kept here alone. */
  private taken(name: string): string {
    const block = this.block(name);
    const text = block.textContent ?? "";
    block.replaceChildren();
    return text;
  }

  private block(name: string): HTMLElement {
    const block = this.page.getElementById(name);
    if (block === null) throw new DocumentError(`This page holds no document: its block "${name}" is missing.`);
    return block;
  }
}
