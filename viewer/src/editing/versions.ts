import type { Configuration } from "../document/options";
import type { Diagnostic, Figure, Index, ProgramInfo } from "../document/schema";
import { plural } from "../dom";
import { places } from "../panes/lines";

/** Versions of one program that are kept, the first among them. */
export const MOST = 30;

/** What is compiled: the text of one file, in place of that in the program `basis`. */
export interface Draft {
  readonly basis: string;
  readonly path: string;
  readonly text: string;
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
  /** Null after the page was loaded anew, until it is compiled again. */
  outcome: Outcome | null;
  /** Errors; 0 if it compiled. */
  errors: number;
  /** Instructions by the kernel's name. */
  instructions: ReadonlyMap<string, Figure>;
}

/** The versions of one program, oldest first. There is always the first one. */
export class Versions {
  list: Version[];
  current: Version;
  /** The number of the version that others are compared with; null: the version before. */
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

  find(draft: Draft): Version | null {
    return this.list.find((version) => sameDraft(version, draft)) ?? null;
  }

  /** The version that one is compared with; null if there is none before it that compiled. */
  before(version: Version): Version | null {
    const compiled = this.list.filter((each) => each.errors === 0 && each !== version);
    const chosen = this.against === null ? undefined : compiled.find(({ number }) => number === this.against);
    return chosen ?? compiled.findLast(({ number }) => number < version.number) ?? null;
  }

  /** The newest version up to this one that compiled: its figures and machine code are what is shown. */
  compiled(version: Version): Version | null {
    return this.list.findLast(({ number, errors }) => number <= version.number && errors === 0) ?? null;
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
    const version: Version = { ...draft, number, from: from.number, name: nameOf(from, draft), outcome: null, errors: 0, instructions: new Map() };
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
    return JSON.stringify(this.list.map((version) => ({ ...version, outcome: null, instructions: [...version.instructions] })));
  }

  /** Takes over what `written` gave, behind the first version as it is now. */
  restore(written: string): void {
    const list = JSON.parse(written) as (Omit<Version, "instructions"> & { instructions: [string, Figure][] })[];
    this.list = [this.first, ...list.slice(1).map((version) => ({ ...version, instructions: new Map(version.instructions) }))];
  }
}

export function firstOf(draft: Draft, outcome: Outcome): Version {
  const version: Version = { ...draft, number: 1, from: 0, name: "as read", outcome: null, errors: 0, instructions: new Map() };
  complete(version, outcome);
  return version;
}

function complete(version: Version, outcome: Outcome): void {
  version.outcome = outcome;
  const { program, diagnostics } = outcome;
  version.errors = program !== null ? 0 : Math.max(1, diagnostics.filter(({ severity }) => severity === "error").length);
  version.instructions = new Map(program?.kernels.name.map((name, row) => [name, program.kernels.instructions[row]]));
}

export function sameDraft(left: Draft, right: Draft): boolean {
  const [a, b] = [left.configuration, right.configuration];
  const isBuiltAlike = a.device === b.device && a.toolchain === b.toolchain && a.options === b.options && a.all_passes === b.all_passes;
  return isBuiltAlike && left.basis === right.basis && left.path === right.path && left.text === right.text;
}

/** What a draft changed: lines, the device, options. */
export function nameOf(from: Draft, { path, text, configuration }: Draft): string {
  const parts: string[] = [];
  if (path !== from.path) parts.push(path.slice(path.lastIndexOf("/") + 1));
  else if (text !== from.text) parts.push(linesOf(places(from.text, text)));
  const before = from.configuration;
  if (configuration.device !== before.device) parts.push(configuration.device);
  if (configuration.toolchain !== before.toolchain) parts.push(configuration.toolchain);
  if (configuration.options !== before.options) parts.push(optionsOf(before.options, configuration.options));
  if (configuration.all_passes && !before.all_passes) parts.push("all passes");
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
