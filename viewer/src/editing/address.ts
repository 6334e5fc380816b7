import type { Page } from "../page";
import type { Edit } from "./edit";
import { type LinkedEdit, type LinkedVersion, packedEdits } from "./linked";
import type { Version } from "./versions";

const NO_VERSIONS = "The versions that are compared are too long for a link. Save as report holds them.";
const NO_TEXT = "The edited text is too long for a link: it leads to the recorded one. Save as report holds the edit.";

/** Puts what is edited, and the versions that are compared, into the page's address. */
export class Address {
  /** What the address leaves out because it would be too long; null: nothing. */
  leftOut: string | null = null;
  private turn = 0;

  constructor(private readonly page: Page) {}

  /** `shown` is the edit of what is shown, `editOf` that of a program by its id. */
  async share(shown: Edit | null, editOf: (id: string) => Edit | null): Promise<void> {
    const turn = ++this.turn;
    const linked = this.linked(shown, editOf);
    const program = shown?.base.id ?? "";
    const word = linked.length === 0 ? null : await packedEdits(program, linked);
    // What is edited now goes before what it is compared with.
    const edited = linked.filter(({ draft }) => draft !== null).map((edit) => ({ ...edit, versions: [] }));
    const short = word !== null || edited.length === 0 ? word : await packedEdits(program, edited);
    if (turn !== this.turn) return;
    this.leftOut = linked.length === 0 || word !== null ? null : short !== null || edited.length === 0 ? NO_VERSIONS : NO_TEXT;
    const { w, z: _, e: __, ...more } = this.page.state.more;
    if (w !== short || _ !== undefined) this.page.go({ more: short === null ? more : { ...more, w: short } }, "replace");
  }

  /** The edits that the address holds, that of what is shown first. */
  private linked(shown: Edit | null, editOf: (id: string) => Edit | null): LinkedEdit[] {
    const sides = (this.page.compared ?? []).map((side) => side.slice(0, side.indexOf(":")));
    const edits = new Set([shown, ...sides.map(editOf)].filter((edit) => edit !== null));
    const linked = [...edits].map((edit): LinkedEdit => {
      const versions = edit.seen(sides, edit === shown).filter((version) => version !== edit.versions.first).map(linkedOf);
      return { program: edit.base.id, path: edit.main.path, built: edit.versions.first.configuration, draft: edit !== shown || edit.isRead ? null : edit.draft, against: edit.versions.against, versions };
    });
    return linked.some(({ draft, versions }) => draft !== null || versions.length > 0) ? linked : [];
  }
}

function linkedOf({ id, number, from, name, texts, configuration }: Version): LinkedVersion {
  return { id, number, from, name, texts, configuration };
}
