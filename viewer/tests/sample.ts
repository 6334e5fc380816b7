import { ReportSource } from "../src/document/report";
import { Kernel } from "../src/document/kernel";
import type { ProgramInfo } from "../src/document/schema";
import page from "./add.html?raw";

/** The blocks of the page that kernlens wrote (tests/unit/viewer/test_viewer_sample.py), as a browser gives them. */
export function pageOf(html = page): Document {
  const blocks = new Map<string, object>();
  for (const [, id, bytes, text] of html.matchAll(/<script type="application\/x-kernlens" id="(\w+)" data-bytes="(\d*)">([^<]*)</g))
    blocks.set(id, { dataset: { bytes }, textContent: text, replaceChildren: () => blocks.set(id, { dataset: {}, textContent: "" }) });
  return { getElementById: (id: string) => blocks.get(id) ?? null } as unknown as Document;
}

/** The page's program, and the chunk of its kernel as it came. */
export async function sample(): Promise<{ program: ProgramInfo; chunk: Chunk }> {
  const source = new ReportSource(pageOf());
  const [program] = (await source.index()).programs;
  return { program, chunk: (await source.chunk(program.kernels.chunk[0])) as Chunk };
}

/** A kernel's chunk, before it is checked; tests change it. */
// biome-ignore lint/suspicious/noExplicitAny: whatever a document may hold.
export type Chunk = Record<string, any>;

/**
 * A kernel with calls that were inlined, in two files, and two stages: one with the numbers of vISA instructions, one without.
 *
 * With `onOwnLines` what was inlined from b.h is on the line of a.cl that called it.
 *
 *   places: 0 a.cl:3, 1 a.cl:5 (called at 0), 2 b.h:7 (called at 1), 3 a.cl:3 in another column; keys: 0 a.cl:3, 1 a.cl:5, 2 b.h:7
 */
export async function inlined(onOwnLines = false): Promise<Kernel> {
  const { program, chunk } = await sample();
  Object.assign(chunk, {
    files: ["a.cl", "b.h"],
    own: [0],
    places: { file: [0, 0, 1, 0], line: [3, 2, 2, -4], column: [1, 1, 1, 9], caller: [-1, 0, 1, -1] },
  });
  // Rows of places 0, 1, 2, 3 and none; vISA numbers 0, 1, 1, 2 and none.
  Object.assign(chunk.code, { place: [0, 1, 1, 1, -4], id: [0, 1, 0, 1, -3], flags: [0, 0, 0, 2, 0] });
  chunk.stages = [
    { stage: "llvm-codegen", attempt: 1, text: "define\n  a\n  b\n  c", row: [0, 1, 1, 1], missing: null, line: [1, 1, 1, 1], place: [-2, 2, 2, -1], id: [-1, 1, 1, 0], ids: [0, 1, 1, 2], functions: [["add", 0]] },
    { stage: "spirv", attempt: 1, text: "x\ny", row: [4, 1], missing: null, line: [1, 1], place: [0, 2], id: null, ids: null, functions: [] },
  ];
  return new Kernel(program, 0, chunk, onOwnLines);
}
