import { withoutLines } from "../document/options";
import type { Index, ProgramInfo } from "../document/schema";
import { type Entry, entriesOf } from "../frame/kernels";

/** A kernel that can be a side of a comparison. */
export interface Choice {
  entry: Entry;
  /** In the address. */
  key: string;
  /** The kernel's name, and what its build is. */
  title: string;
  detail: string;
  /** The number of the version that an edit made of the kernel; 0 for what the document holds. */
  version: number;
}

/** All kernels of the document, those of edits too, in its order. */
export function choicesOf(index: Index): Choice[] {
  const versions = index.programs.filter(({ edited }) => edited);
  const choices = entriesOf(index).map((entry) => {
    const { program, shown, name } = entry;
    // The newest comes first in the document.
    const version = program.edited ? versions.length - versions.indexOf(program) : 0;
    const words = [program.device ?? "?", program.toolchain ?? "?", withoutLines(program.options ?? ""), version > 0 ? `version ${version + 1}` : "", programWords(program, shown)];
    return { entry, key: `${program.id}:${name}`, title: shown, detail: words.filter((word) => word !== "").join(" · "), version };
  });
  // Builds that are alike in all that are told apart by where their source lies.
  const known = new Map<string, number>();
  for (const choice of choices) known.set(wordsOf(choice), (known.get(wordsOf(choice)) ?? 0) + 1);
  return choices.map((choice) => ((known.get(wordsOf(choice)) ?? 0) > 1 ? { ...choice, detail: `${choice.detail} · ${choice.entry.program.files[0]?.path ?? choice.entry.program.id}` } : choice));
}

/** A choice on one line. */
export function wordsOf(choice: Choice | null): string {
  return choice === null ? "" : `${choice.title} · ${choice.detail}`;
}

/** A program's name where it says more than the kernel's. */
function programWords(program: ProgramInfo, shown: string): string {
  const name = sourceOf(program);
  return name === shown ? "" : name;
}

/** A program's name without what recordings add to tell builds apart: `soften:dg2:system#2`. */
export function sourceOf({ name, device, toolchain }: ProgramInfo): string {
  const bare = name.replace(/#\d+$/, "");
  const build = `:${device}:${toolchain}`;
  return bare.endsWith(build) ? bare.slice(0, -build.length) : bare;
}

/** Whether two kernels are builds of the same one: of one name, and of one source or of programs with the same kernels. */
function isSameKernel(left: Entry, right: Entry): boolean {
  if (left.name !== right.name) return false;
  const names = [left, right].map(({ program }) => [...program.kernels.name].sort().join("\n"));
  return left.program.edited || right.program.edited || sourceOf(left.program) === sourceOf(right.program) || names[0] === names[1];
}

/** In how much two builds differ. */
function distance(left: ProgramInfo, right: ProgramInfo): number {
  return Number(left.device !== right.device) + Number(left.toolchain !== right.toolchain) + Number(left.options !== right.options);
}

/**
 * What is compared when nothing was chosen: the last two versions of the kernel, else it and its nearest other build, in the
 * document's order; else nothing with it, and never another kernel.
 */
export function usual(choices: readonly Choice[], current: Entry | null): [old: Choice | null, now: Choice | null] {
  const here = choices.find(({ entry }) => current !== null && entry.program === current.program && entry.row === current.row) ?? null;
  if (here === null) return [null, null];
  const same = choices.filter(({ entry }) => isSameKernel(entry, here.entry));
  const versions = same.filter(({ version }) => version > 0).sort((left, right) => left.version - right.version);
  if (versions.length > 1) return [versions[versions.length - 2], versions[versions.length - 1]];
  const others = same.filter((choice) => choice !== here).sort((left, right) => distance(left.entry.program, here.entry.program) - distance(right.entry.program, here.entry.program));
  if (others.length === 0) return [here, null];
  const [other] = others;
  if (versions.length === 1) return here === versions[0] ? [other, here] : [here, versions[0]];
  return choices.indexOf(other) < choices.indexOf(here) ? [other, here] : [here, other];
}
