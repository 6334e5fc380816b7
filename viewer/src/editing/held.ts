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
    for (const slot of this.stages()) slot.fold("editing", "Folded while you edit");
    if (this.held?.pane === pane) return;
    this.release();
    this.held = { pane, edit };
    pane.isHeld = pane.pane.isEdited = true;
    pane.pane.showCursor();
    this.page.showEditing();
  }

  /** Lets a source be typed in: where the cursor is, if it is there already, else where an edit is likely, without a jump. */
  type(pane: SourcePane): void {
    const { layout, state, ranking } = this.page;
    const slot = layout.slotOf(pane);
    if (slot !== null) layout.bringToFront(slot);
    const likely = [state.line === null ? -1 : pane.lineNow(state.line.line - 1), ...ranking.flatMap((key) => Array.from(pane.linesOf({ key, exact: null })))];
    const line = likely.find((each) => each >= 0 && pane.pane.sees(each));
    if (line !== undefined && !pane.pane.isFocused) pane.pane.place(line);
    pane.pane.type();
    this.page.tell("It compiles when you rest, or at Ctrl+Enter; Esc leaves the editor.");
  }

  /** Letters are typed into a source now, or not any more: the stages have their room again where nothing was changed. */
  turned({ pane }: SourcePane, edit: Edit | null): void {
    if (!pane.isTyping && (edit === null || (edit.isRead && edit.versions.list.length < 2))) this.unfold();
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
