import type { Page } from "../page";
import type { Edit } from "./edit";
import { configurationsOut, packed } from "./shared_text";

/** Puts what is edited into the page's address. */
export class Address {
  /** The edit of which was told that no link holds it. */
  private told: Edit | null = null;

  constructor(private readonly page: Page) {}

  /** `isShown`: whether the edit is still that of what is shown, when its text is packed. */
  share(edit: Edit, isShown: () => boolean): void {
    const { draft, base } = edit;
    const [edited = null, ...others] = Object.entries(draft.texts);
    void packed({ program: base.id, path: edited?.[0] ?? "" }, edited?.[1] ?? null).then((word) => {
      if (edit.draft !== draft || !isShown()) return;
      const { z: _, e: __, ...more } = this.page.state.more;
      const isLinked = word !== null && others.length === 0 && !edit.isRead;
      this.page.go({ more: isLinked ? { ...more, z: word, e: configurationsOut([draft.configuration]) } : more }, "replace");
      if (word === null) this.page.tell("The edited text is too long for a link: save it in a file.");
      else if (others.length > 0 && this.told !== edit) this.page.tell("A link holds the edit of one file only: save these in files.");
      this.told = others.length > 0 ? edit : null;
    });
  }
}
