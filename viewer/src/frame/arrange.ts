import type { Group, ProgramInfo } from "../document/schema";
import { plural } from "../dom";
import { type Entry, type Ranked, slower, spillOf, timeOf, worse } from "./kernels";

/** What the list shows, from top to bottom, before anything is drawn: builds, groups and kernels, as a tree. */

export type Order = "time" | "worst" | "instructions" | "simd" | "name" | "file";

/** A kernel, or a program without any (a build that failed, above all): `row` is -1 then. */
export interface Item {
  key: string;
  program: ProgramInfo;
  row: number;
  entry: Entry | null;
  /** The figures that give it its place: its own, or those that it had when the order was asked for. */
  ranked: Figures | null;
  /** The whole name; what of it the row shows; what tells it from others of this name. */
  name: string;
  shown: string;
  beside: string;
}

/** The figures that orders go by. */
type Figures = Ranked & Pick<Entry, "simd">;

/** A build or a group, open or closed. */
export interface Head {
  key: string;
  level: number;
  title: string;
  words: string;
  items: Item[];
  count: number;
  isOpen: boolean;
}

export type Row = { head: Head; item: null; level: number } | { head: Head | null; item: Item; level: number };

export function keyOf(program: ProgramInfo, row: number): string {
  return `${program.id} ${row}`;
}

/** What a row is known by. */
export function id(row: Row | undefined): string {
  return row === undefined ? "" : row.item === null ? row.head.key : row.item.key;
}

/**
 * The items of a document by their groups; programs without kernels are a group of their own, the first. A version that was
 * compiled here stands in the place of the program that was read (`base`), and its kernels in their groups. `ranking` are the
 * programs whose figures give kernels their places: an edit moves none away from where its reader saw it.
 */
export function itemsOf(entries: Entry[], programs: ProgramInfo[], base: ProgramInfo[], ranking: ProgramInfo[] = programs): Map<Group, Item[]> {
  const groups = new Map<Group, Item[]>();
  const empty = programs.filter(({ kernels }) => kernels.name.length === 0);
  if (empty.length > 0) {
    const alone: Group = { build: "", title: "", words: "", before: "", after: "" };
    const items = empty.map((program) => ({ key: keyOf(program, -1), program, row: -1, entry: null, ranked: null, name: program.name, shown: program.name, beside: program.device ?? "" }));
    groups.set({ ...alone, title: `${plural(empty.length, "program")} without kernels` }, items);
  }
  const place = new Map(programs.map((program, at) => [program, base[at] as ProgramInfo | undefined]));
  const ranks = new Map(programs.map((program, at) => [program, ranking[at] as ProgramInfo | undefined]));
  for (const entry of entries) {
    const { program, row, shown } = entry;
    const read = place.get(program);
    const at = read === undefined || read === program ? row : read.kernels.shown.indexOf(shown);
    const of = read !== undefined && at >= 0 ? read : program;
    const group = of.kernels.group[of === program ? row : at];
    const text = String(of === program ? row : at);
    const { before, after } = group;
    // The figures of a version for another device are not to be taken for those of the others.
    const device = read !== undefined && program.device !== read.device ? (program.device ?? "") : "";
    const beside = [of.beside.get(text) ?? "", device].filter((words) => words !== "").join(" · ");
    const item = { key: keyOf(program, row), program, row, entry, ranked: figuresIn(ranks.get(program), entry), name: shown, shown: of.rows.get(text) ?? shown.slice(before.length, shown.length - after.length), beside };
    const items = groups.get(group);
    if (items === undefined) groups.set(group, [item]);
    else items.push(item);
  }
  return groups;
}

/** The figures of a kernel in another version of its program; its own if that has no such kernel. */
function figuresIn(program: ProgramInfo | undefined, entry: Entry): Figures {
  const row = program === undefined || program === entry.program ? -1 : program.kernels.shown.indexOf(entry.shown);
  if (program === undefined || row < 0) return entry;
  const { instructions, simd } = program.kernels;
  return { instructions: instructions[row], simd: simd[row], spill: spillOf(program.kernels, row), time: timeOf(program.kernels, row) };
}

/** How the order puts one item before another. A figure that is not known is no reason to look there. */
function comparing(order: Order, hits: ReadonlyMap<string, number> | null): (left: Item, right: Item) => number {
  const figure = ({ ranked }: Item): number => (ranked === null ? Infinity : (ranked.instructions ?? -1));
  // What failed comes first.
  const by = (first: typeof slower) => (left: Item, right: Item): number => (left.ranked === null || right.ranked === null ? Number(right.ranked === null) - Number(left.ranked === null) : first(left.ranked, right.ranked));
  const worst = by(worse);
  const usual = order === "time" ? by(slower) : worst;
  const width = ({ ranked }: Item): number => ranked?.simd ?? (ranked === null ? 0 : 1000);
  switch (order) {
    case "time":
    case "worst":
      return hits === null ? usual : (left, right) => (hits.get(right.key) ?? 0) - (hits.get(left.key) ?? 0) || usual(left, right);
    case "instructions":
      return (left, right) => figure(right) - figure(left);
    case "simd":
      return (left, right) => width(left) - width(right) || worst(left, right);
    case "name":
      return (left, right) => left.name.localeCompare(right.name);
    case "file":
      return () => 0;
  }
}

/** The rows: groups and what is in them in this order, only what was found (`hits`) where something is looked for. */
export function arranged(
  groups: ReadonlyMap<Group, Item[]>,
  order: Order,
  hits: ReadonlyMap<string, number> | null,
  isOpen: (key: string, items: Item[]) => boolean,
): Row[] {
  const compare = comparing(order, hits);
  const sorted = Array.from(groups, ([group, all], number) => {
    const items = (hits === null ? all.slice() : all.filter(({ key }) => hits.has(key))).sort(compare);
    return { group, items, count: all.length, number };
  }).filter(({ items }) => items.length > 0);
  sorted.sort((left, right) => (order === "name" && `${left.group.title}${left.group.words}`.localeCompare(`${right.group.title}${right.group.words}`)) || compare(left.items[0], right.items[0]));
  const rows: Row[] = [];
  const builds = new Map<string, typeof sorted>();
  for (const each of sorted) builds.set(each.group.build, [...(builds.get(each.group.build) ?? []), each]);
  const hasBuilds = Array.from(groups.keys()).some(({ build }) => build !== "");
  for (const [build, inside] of builds) {
    let level = 1;
    if (hasBuilds && build !== "") {
      const items = inside.flatMap((each) => each.items);
      const key = `build ${build}`;
      const head = { key, level, title: build, words: "", items, count: inside.reduce((sum, each) => sum + each.count, 0), isOpen: isOpen(key, items) };
      rows.push({ head, item: null, level });
      if (!head.isOpen) continue;
      level++;
    }
    for (const { group, items, count, number } of inside) {
      const key = `group ${number}`;
      const isBare = group.title === "" && group.words === "" && groups.size === 1;
      const head = isBare ? null : { key, level, title: group.title, words: group.words, items, count, isOpen: isOpen(key, items) };
      if (head !== null) rows.push({ head, item: null, level });
      if (head === null || head.isOpen) for (const item of items) rows.push({ head, item, level: level + (head === null ? 0 : 1) });
    }
  }
  return rows;
}
