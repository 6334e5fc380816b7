import type { Index, ProgramInfo } from "../document/schema";
import type { Edit } from "./edit";
import { shownOf } from "./edit_view";

/** The document that was read with all versions before it, newest first; and the programs as they are now, which are listed. */
export function whole(base: Index, edits: ReadonlyMap<string, Edit>): { index: Index; listed: ProgramInfo[] } {
  const outcomes = [...edits.values()].flatMap(({ versions }) => versions.list.flatMap(({ outcome }) => outcome ?? [])).reverse();
  const results = outcomes.flatMap(({ index }) => index ?? []);
  const listed = base.programs.map((program) => {
    const edit = edits.get(program.id);
    return edit === undefined ? program : shownOf(edit);
  });
  const index = {
    ...base,
    opcodes: new Map([base, ...results].flatMap(({ opcodes }) => [...opcodes])),
    programs: [...results.flatMap(({ programs }) => programs), ...base.programs],
    chunks: new Map([base, ...results].flatMap(({ chunks }) => [...chunks])),
  };
  return { index, listed };
}
