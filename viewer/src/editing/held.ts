import type { ProgramInfo } from "../document/schema";
import type { Slot } from "../frame/slot";
import type { Page } from "../page";
import type { SourcePane } from "../panes/source";
import type { Edit } from "./edit";

/** The editor of the file that was typed in last. It stays, whatever comes into its place, and the stages make room for it. */
export class HeldEditor {
  private held: { pane: SourcePane; edit: Edit } | null = null;

  constructor(private readonly page: Page) {}

  /** The editor, if it is of this program or edit. */
  of(whose: ProgramInfo | Edit): SourcePane | null {
    const { held } = this;
    return held !== null && (held.edit === whose || ("kernels" in whose && held.edit.has(whose))) ? held.pane : null;
  }

  hold(edit: Edit, pane: SourcePane): void {
    for (const slot of this.stages()) slot.fold("editing", "folded while you edit");
    if (this.held?.pane === pane) return;
    this.release();
    this.held = { pane, edit };
    pane.isHeld = pane.pane.isEdited = true;
    pane.pane.showCursor();
    this.page.showEditing();
  }

  /** Gives the stages their room back. */
  unfold(): void {
    for (const slot of this.stages()) slot.unfold("editing");
  }

  private release(): void {
    const { held, page } = this;
    if (held === null) return;
    this.held = null;
    held.pane.isHeld = held.pane.pane.isEdited = false;
    if (page.layout.slotOf(held.pane) === null) held.pane.pane.destroy();
  }

  private stages(): Slot[] {
    return this.page.layout.slots.filter(({ kind }) => kind === "stage");
  }
}
