import type { Kernel } from "../document/kernel";
import type { Page } from "../page";
import { matched, textOf } from "../panes/lines";
import type { Comparison, SourcePane } from "../panes/source";

/** A file's lines beside those of another version of the kernel, whose text of the file is `text`. */
export function comparisonOf(page: Page, kernel: Kernel, other: Kernel, pane: SourcePane, text: string): Comparison {
  const { former, changed } = matched(textOf(text), textOf(pane.read));
  const files = [kernel, other].map(({ files }) => files.indexOf(pane.title));
  const figureOf = (of: Kernel, file: number, line: number): number => {
    const key = file < 0 || line < 0 ? -1 : of.places.keyOf(file, line + 1);
    return key < 0 ? 0 : page.weightsOf(of)[key];
  };
  return {
    change: (line) => {
      const now = figureOf(kernel, files[0], line);
      const before = figureOf(other, files[1], former[line]);
      return now === before ? null : [before, now];
    },
    isChanged: (line) => changed[line] === 1,
  };
}
