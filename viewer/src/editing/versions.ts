import type { Configuration } from "../document/options";
import type { Diagnostic, Figure, Index, ProgramInfo } from "../document/schema";
import { plural } from "../dom";
import { places } from "../panes/lines";

/** Versions of one program that are kept, the first among them. */
export const MOST = 30;

/** What is compiled: the program that was read, with other texts of some of its files. */
export interface Draft {
  /** By path; of files that are as they were read there is none. */
  readonly texts: Readonly<Record<string, string>>;
  readonly configuration: Configuration;
}

/** What came of a compile; `program` is null if it failed. */
export interface Outcome {
  readonly program: ProgramInfo | null;
  readonly index: Index | null;
  readonly diagnostics: readonly Diagnostic[];
  readonly log: string;
  readonly seconds: number;
}

/** A draft that was compiled. */
export interface Version extends Draft {
  readonly number: number;
  /** The number of the version that it was made from; 0 for the first. */
  readonly from: number;
  name: string;
  /** The id of the program that came of it, also before it is compiled again; null if that is not known. */
  id: string | null;
  /** Null after the page was loaded anew, until it is compiled again. */
  outcome: Outcome | null;
  /** Errors; 0 if it compiled. */
  errors: number;
  /** Instructions by the kernel's name. */
  instructions: ReadonlyMap<string, Figure>;
}

/** A version as a link holds it. */
type Linked = Pick<Version, "id" | "number" | "from" | "name"> & Draft;

/** The versions of one program, oldest first. There is always the first one. */
export class Versions {
  list: Version[];
  current: Version;
  /** The texts that were read, by path: of files that were edited. */
  readonly read = new Map<string, string>();
  /** The number of the version that others are compared with; null: each with the one that it was made from. */
  against: number | null = null;

  constructor(first: Version) {
    this.list = [first];
    this.current = first;
  }

  get first(): Version {
    return this.list[0];
  }

  numbered(number: number): Version | null {
    return this.list.find((version) => version.number === number) ?? null;
  }

  /** The document of the compile that a program came of; null if it is of none. */
  documentOf({ id }: Pick<ProgramInfo, "id">): Index | null {
    return this.list.find(({ outcome }) => outcome?.index?.programs.some((each) => each.id === id))?.outcome?.index ?? null;
  }

  find(draft: Draft): Version | null {
    return this.list.find((version) => sameDraft(version, draft)) ?? null;
  }

  /** The version that one is compared with: the chosen one, else the one that it was made from; null if there is none. */
  before(version: Version): Version | null {
    const chosen = this.against === null || this.against === version.number ? null : this.numbered(this.against);
    return chosen !== null && chosen.errors === 0 ? chosen : this.compiledUpTo(this.parent(version));
  }

  /** The version itself, else the nearest that it was made from that compiled: its figures and machine code are what is shown. */
  compiled(version: Version): Version | null {
    return this.compiledUpTo(version);
  }

  private compiledUpTo(version: Version | null): Version | null {
    let at = version;
    while (at !== null && at.errors > 0) at = this.parent(at);
    return at;
  }

  /** The version that one was made from; of one that is not kept any more the nearest before it. */
  private parent({ from }: Version): Version | null {
    return this.list.findLast(({ number }) => number <= from) ?? null;
  }

  /** The version that a program came of, here or where a link was made. */
  madeAs(id: string): Version | null {
    return this.list.find((version) => version.id === id) ?? null;
  }

  /** Takes over versions of a link, with their numbers where these are free: those that are here already stay as they are. */
  adopt(linked: readonly Linked[]): void {
    const numbers = new Map<number, number>([[1, 1]]);
    for (const { id, number, from, name, texts, configuration } of linked) {
      const known = this.find({ texts, configuration });
      const newest = this.list.at(-1)?.number ?? 1;
      const version = known ?? { texts, configuration, id, number: number > newest ? number : newest + 1, from: numbers.get(from) ?? Math.min(from, newest), name, outcome: null, errors: 0, instructions: new Map() };
      numbers.set(number, version.number);
      version.id ??= id;
      if (known === null) this.list.push(version);
    }
    while (this.list.length > MOST) this.list.splice(1, 1);
  }

  /** Completes a version that was not compiled here yet, and stays where it is. */
  complete(version: Version, outcome: Outcome): void {
    complete(version, outcome);
  }

  /** Takes over what a draft was compiled to, as the current version: in place of the newest one if that failed or if it is typed
   * on in it, else as another one. */
  take(draft: Draft, outcome: Outcome, isTypedOn: boolean): Version {
    const { current } = this;
    const again = this.find(draft);
    if (again !== null) {
      complete(again, outcome);
      this.choose(again);
      return again;
    }
    const isReplaced = current !== this.first && current === this.list.at(-1) && (isTypedOn || current.errors > 0);
    const from = isReplaced ? (this.numbered(current.from) ?? this.first) : current;
    if (isReplaced) this.list.pop();
    const number = isReplaced ? current.number : (this.list.at(-1)?.number ?? 0) + 1;
    const version: Version = { ...draft, number, from: from.number, name: nameOf(from, draft, this.read), id: null, outcome: null, errors: 0, instructions: new Map() };
    complete(version, outcome);
    this.list.push(version);
    if (this.list.length > MOST) this.list.splice(1, 1);
    this.current = version;
    return version;
  }

  /** Makes a version the current one; the newest one goes if it failed and its text is left. */
  choose(version: Version): void {
    const newest = this.list.at(-1);
    if (newest !== version && newest !== this.first && newest === this.current && newest.errors > 0) this.list.pop();
    this.current = version;
  }

  /** For the browser's storage: without programs, which are compiled again. */
  written(): string {
    const list = this.list.map((version) => ({ ...version, outcome: null, instructions: [...version.instructions] }));
    return JSON.stringify({ read: [...this.read], list });
  }

  /** Takes over what `written` gave, behind the first version as it is now. */
  restore(written: string): void {
    type Written = Omit<Version, "instructions"> & { instructions: [string, Figure][] };
    const { read, list } = JSON.parse(written) as { read: [string, string][]; list: Written[] };
    for (const [path, text] of read) this.read.set(path, text);
    this.list = [this.first, ...list.slice(1).map((version) => ({ ...version, id: version.id ?? null, instructions: new Map(version.instructions) }))];
  }
}

export function firstOf(draft: Draft, outcome: Outcome): Version {
  const version: Version = { ...draft, number: 1, from: 0, name: "as read", id: null, outcome: null, errors: 0, instructions: new Map() };
  complete(version, outcome);
  return version;
}

function complete(version: Version, outcome: Outcome): void {
  version.outcome = outcome;
  const { program, diagnostics } = outcome;
  version.id = program?.id ?? version.id;
  version.errors = program !== null ? 0 : Math.max(1, diagnostics.filter(({ severity }) => severity === "error").length);
  version.instructions = new Map(program?.kernels.name.map((name, row) => [name, program.kernels.instructions[row]]));
}

export function sameDraft(left: Draft, right: Draft): boolean {
  const [a, b] = [left.configuration, right.configuration];
  const isBuiltAlike = a.device === b.device && a.toolchain === b.toolchain && a.options === b.options && a.all_passes === b.all_passes;
  return isBuiltAlike && pathsOf(left, right).every((path) => left.texts[path] === right.texts[path]);
}

function pathsOf(left: Draft, right: Draft): string[] {
  return Object.keys({ ...left.texts, ...right.texts });
}

/** What a draft changed: lines, the device, options. `read` has the texts of files that were edited, as they were read. */
export function nameOf(from: Draft, draft: Draft, read: ReadonlyMap<string, string>): string {
  const changed = pathsOf(from, draft).filter((path) => from.texts[path] !== draft.texts[path]);
  const parts = changed.map((path) => {
    const [before, after] = [from, draft].map(({ texts }) => texts[path] ?? read.get(path) ?? "");
    const lines = linesOf(places(before, after));
    return read.size > 1 ? `${path.slice(path.lastIndexOf("/") + 1)} ${lines}` : lines;
  });
  const [old, now] = [from.configuration, draft.configuration];
  if (now.device !== old.device) parts.push(now.device);
  if (now.toolchain !== old.toolchain) parts.push(now.toolchain);
  if (now.options !== old.options) parts.push(optionsOf(old.options, now.options));
  if (now.all_passes && !old.all_passes) parts.push("all passes");
  return parts.join(" · ") || "again";
}

function linesOf(ranges: [first: number, last: number][]): string {
  if (ranges.length > 3) return plural(ranges.length, "place");
  const words = ranges.map(([first, last]) => (first === last ? String(first) : `${first}–${last}`));
  return `${ranges.length === 1 && ranges[0][0] === ranges[0][1] ? "line" : "lines"} ${words.join(", ")}`;
}

function optionsOf(before: string, after: string): string {
  const [old, now] = [before, after].map((options) => options.split(/\s+/).filter((word) => word !== ""));
  const added = now.filter((word) => !old.includes(word));
  const gone = old.filter((word) => !now.includes(word));
  return [...added, ...gone.map((word) => `without ${word}`)].join(" ") || "options";
}
