import { withoutLines } from "../document/options";
import type { Index, ProgramInfo } from "../document/schema";
import { type Entry, entriesOf } from "../frame/kernels";
import type { Compiler } from "../page";

/** A kernel that can be a side of a comparison. */
export interface Choice {
  entry: Entry;
  /** In the address. */
  key: string;
  /** The kernel's name, and what its build is. */
  title: string;
  detail: string;
  /** The document's program that it is a version of, and the version's number; 0 if there is only what was read. */
  base: number;
  version: number;
  /** The number of the version that it was made from. */
  from: number;
}

/** All kernels of the document in its order, in all versions that compiled. */
export function choicesOf(index: Index, compiler: Pick<Compiler, "versions"> | null): Choice[] {
  const known = new Set<ProgramInfo>();
  const choices = index.programs.flatMap((program, base) => {
    if (known.has(program)) return [];
    const versions = compiler?.versions(program) ?? [];
    const compiled = versions.flatMap(({ number, from, name, outcome }) => (outcome?.program == null ? [] : [{ program: outcome.program, version: number, from, words: `version ${number} ${name}` }]));
    const shown = versions.length > 1 && compiled.length > 0 ? compiled : [{ program, version: 0, from: 0, words: "" }];
    return shown.flatMap(({ program: built, version, from, words }) => {
      known.add(built);
      return entriesOf({ programs: [built] }).map((entry): Choice => {
        // What tells versions and devices apart stands first: it is read where there is room for a few words.
        const detail = [built.device ?? "?", words, built.toolchain ?? "?", withoutLines(built.options ?? ""), programWords(built, entry.shown)].filter((word) => word !== "").join(" · ");
        return { entry, key: `${built.id}:${entry.name}`, title: entry.shown, detail, base, version, from };
      });
    });
  });
  // Builds that are alike in all that are told apart by where their source lies.
  const alike = new Map<string, number>();
  for (const choice of choices) alike.set(wordsOf(choice), (alike.get(wordsOf(choice)) ?? 0) + 1);
  return choices.map((choice) => ((alike.get(wordsOf(choice)) ?? 0) > 1 ? { ...choice, detail: `${choice.detail} · ${choice.entry.program.files[0]?.path ?? choice.entry.program.id}` } : choice));
}

/** The choice of a kernel that is shown. */
export function choiceOf(choices: readonly Choice[], program: ProgramInfo, row: number): Choice | null {
  return choices.find(({ entry }) => entry.program.id === program.id && entry.row === row) ?? null;
}

/** A choice on one line. */
export function wordsOf(choice: Choice | null): string {
  return choice === null ? "" : `${choice.title} · ${choice.detail}`;
}

/** A program's name where it says more than the kernel's. */
function programWords(program: ProgramInfo, shown: string): string {
  const name = sourceTitle(program);
  return name === shown ? "" : name;
}

/** A program's source as the tabs and the list call it: the name of its file, where the program is called after that. */
export function sourceTitle(program: ProgramInfo): string {
  const name = sourceOf(program);
  const file = program.files.map(({ path }) => path.slice(path.lastIndexOf("/") + 1)).find((base) => base.replace(/\.\w+$/, "") === name);
  return file ?? name;
}

/** A program's name without what recordings add to tell builds apart: `soften:dg2`, `soften:dg2:system#2`. */
export function sourceOf({ name, device, toolchain }: ProgramInfo): string {
  const bare = name.replace(/#\d+$/, "");
  const build = [`:${device}:${toolchain}`, `:${device}`, `:${toolchain}`].find((words) => bare.endsWith(words)) ?? "";
  return bare.slice(0, bare.length - build.length);
}

/** Whether two kernels are builds of the same one: of one name, and of one source or of programs with the same kernels. */
function isSameKernel(left: Entry, right: Entry): boolean {
  if (left.name !== right.name) return false;
  const names = [left, right].map(({ program }) => [...program.kernels.name].sort().join("\n"));
  return sourceOf(left.program) === sourceOf(right.program) || names[0] === names[1];
}

/** In how much two builds differ. */
function distance(left: ProgramInfo, right: ProgramInfo): number {
  return Number(left.device !== right.device) + Number(left.toolchain !== right.toolchain) + Number(left.options !== right.options);
}

/**
 * What is compared when nothing was chosen: the version that is shown with `before`, with which its figures are compared; of one
 * that was made from none the newest with the one that it was made from. Else the kernel and its nearest other build, in the
 * document's order; else nothing with it, and never another kernel.
 */
export function usual(choices: readonly Choice[], here: Choice | null, before: Choice | null = null): [old: Choice | null, now: Choice | null] {
  if (here === null) return [null, null];
  if (before !== null) return [before, here];
  const { name, program } = here.entry;
  const versions = choices.filter(({ base, entry, version }) => base === here.base && entry.name === name && version > 0);
  const newest = versions.at(-1);
  const from = versions.findLast(({ version }) => version <= (newest?.from ?? 0));
  if (newest !== undefined && from !== undefined) return [from, newest];
  const [other] = choices
    .filter((choice) => choice !== here && isSameKernel(choice.entry, here.entry))
    .sort((left, right) => distance(left.entry.program, program) - distance(right.entry.program, program));
  if (other === undefined) return [here, null];
  return choices.indexOf(other) < choices.indexOf(here) ? [other, here] : [here, other];
}
