import type { Kernel } from "../document/kernel";
import type { ProgramInfo } from "../document/schema";
import { entriesOf } from "../frame/kernels";
import type { Before, Page } from "../page";
import type { SourcePane } from "../panes/source";
import { comparisonOf } from "./comparison";
import type { Edit } from "./edit";

/** The figures of the version before, beside those of the kernel that is shown. */
export class Beside {
  /** The kernel that the shown one is compared with. */
  private compared: Kernel | null = null;
  private turn = 0;

  constructor(private readonly page: Page) {}

  /** A program's kernel in the version that it is compared with; null if there is none. */
  before(edit: Edit | null, program: ProgramInfo, row: number): Before | null {
    const version = edit === null ? null : edit.versions.compiled(edit.versions.current);
    const before = edit === null || version === null ? null : edit.versions.before(version);
    const built = before?.outcome?.program;
    if (before === null || built == null) return null;
    const at = built.kernels.name.indexOf(program.kernels.name[row]);
    if (at < 0) return null;
    return { program: built, row: at, kernel: this.compared?.program === built && this.compared.row === at ? this.compared : null, name: `${before.number} ${before.name}` };
  }

  /** Shows the figures beside the lines; null: none. */
  async show(before: Before | null, panes: readonly SourcePane[], textIn: (program: ProgramInfo, path: string) => Promise<string | null>): Promise<void> {
    const turn = ++this.turn;
    const { page } = this;
    const { kernel } = page;
    const entry = before === null ? undefined : entriesOf({ programs: [before.program] }).find(({ row }) => row === before.row);
    const other = entry === undefined ? null : await page.load(entry);
    if (turn !== this.turn || kernel !== page.kernel || kernel === null) return;
    this.compared = other;
    // Figures of two devices are no measure of one another: nothing in them is better or worse.
    page.element.classList.toggle("apart", other !== null && other.program.device !== kernel.program.device);
    for (const pane of panes) {
      const text = other === null ? null : await textIn(other.program, pane.title);
      if (turn !== this.turn || pane.kernel !== kernel) continue;
      pane.compare(other === null || text === null ? null : comparisonOf(page, kernel, other, pane, text));
    }
    page.showEditing();
  }
}
