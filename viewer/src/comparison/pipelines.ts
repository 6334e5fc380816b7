import type { Pass, Passes } from "../document/schema";
import { commonPairs } from "./matching";
import { withoutNumbers } from "./texts";

/** A run of a pass: `0121-OPT-SimplifytheCFG` is the number, the phase and the name. */
export interface Run extends Pass {
  number: number;
  phase: string;
  title: string;
  /** Seconds of all runs in the phase, and how many they are; null where that is not known. */
  seconds: number | null;
  runs: number;
}

/** Each run of a pass by itself; those without effect are one entry of the document. */
export function runsOf({ passes, times }: Passes): Run[] {
  const runs = passes.flatMap((each) =>
    each.names.map((pass): Run => {
      const [, number, phase, title] = /^(\d+)-(\w+?)-(.*)$/.exec(pass) ?? ["", "0", "", pass];
      return { ...each, pass, number: Number(number), phase, title, seconds: times.get(`${phase}-${title}`) ?? null, runs: 1 };
    }),
  );
  const counts = new Map<string, number>();
  for (const { phase, title } of runs) counts.set(`${phase}-${title}`, (counts.get(`${phase}-${title}`) ?? 0) + 1);
  return runs.map((run) => ({ ...run, runs: counts.get(`${run.phase}-${run.title}`) ?? 1 }));
}

export function acts({ changed }: Pass): boolean {
  return changed !== false;
}

/** A pass of both pipelines, or of one (the other is null); `isSame` is null where what it changed is not known. */
export interface PassPair {
  old: Run | null;
  now: Run | null;
  isSame: boolean | null;
}

/** Two pipelines side by side. */
export interface Pipelines {
  /** In their order. */
  rows: PassPair[];
  /** The first row that is known to be another on the two sides; -1 if there is none. */
  parting: number;
  /** Rows before it with a pass that changed something. */
  alike: number;
  /** Whether it is not known what some pass before it changed. */
  isUncertain: boolean;
}

/** Pairs the passes of two pipelines by their phases and names. What a pass did is the same where its change reads the same, but
 * for the names that compilers number anew. */
export function pipelinesOf(old: readonly Run[], now: readonly Run[]): Pipelines {
  const rows: PassPair[] = [];
  let [left, right] = [0, 0];
  const names = [old, now].map((runs) => runs.map(({ phase, title }) => `${phase}-${title}`));
  for (const [before, after] of [...commonPairs(names[0], names[1]), [old.length, now.length] as const]) {
    while (left < before) rows.push(pairOf(old[left++], null));
    while (right < after) rows.push(pairOf(null, now[right++]));
    if (before < old.length) rows.push(pairOf(old[left++], now[right++]));
  }
  const parting = rows.findIndex(({ isSame }) => isSame === false);
  const before = parting < 0 ? rows : rows.slice(0, parting);
  return { rows, parting, alike: before.filter((row) => row.isSame === true && row.old?.changed === true).length, isUncertain: before.some(({ isSame }) => isSame === null) };
}

/** A pass that changed nothing may as well not have run. */
function pairOf(old: Run | null, now: Run | null): PassPair {
  const known = [old, now].map((run) => (run === null ? false : run.changed));
  if (known.includes(null)) return { old, now, isSame: null };
  return { old, now, isSame: known[0] === known[1] && (known[0] === false || (old !== null && now !== null && changeOf(old) === changeOf(now))) };
}

/** What a pass changed, as a text that two pipelines have alike. */
function changeOf({ diff, added, removed }: Run): string {
  const lines = (diff ?? `${added} ${removed}`).split("\n").filter((line) => !/^(@@|\+\+\+|---)/.test(line));
  return lines.map((line) => line.slice(0, 1) + withoutNumbers(line.slice(1))).join("\n");
}
