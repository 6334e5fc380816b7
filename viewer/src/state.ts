/** What a link to this page says: everything that a reader chose, nothing that is under the pointer. */

import { OBSERVED_NAMES, type ObservedColour } from "./observed_colours";

export { OBSERVED_NAMES };

export type Colour = "instr" | "memory" | "spills" | "lines" | "waits" | "samples" | ObservedColour;
export const COLOURS: readonly Colour[] = ["instr", "memory", "spills", "lines", "waits", "samples", ...(Object.keys(OBSERVED_NAMES) as ObservedColour[])];

export interface State {
  /** The program's id; "" until a document is there. */
  program: string;
  kernel: string;
  stage: string;
  /** The pinned line, and the offset of the pinned instruction where one was. */
  line: { path: string; line: number } | null;
  offset: number | null;
  exact: boolean;
  /** Whether inlined library code is on the user's own lines; null: as the document begins. */
  own: boolean | null;
  colour: Colour;
  view: string;
  /** What the other views add (compare's sides, a pass): kept as it is. */
  more: Record<string, string>;
}

export const START: State = {
  program: "",
  kernel: "",
  stage: "",
  line: null,
  offset: null,
  exact: false,
  own: null,
  colour: "instr",
  view: "panes",
  more: {},
};

const OWN = new Set(["k", "p", "s", "l", "i", "x", "c", "v", "t", "o"]);

export function toFragment(state: State): string {
  const parameters: [string, string][] = [];
  if (state.kernel !== "") parameters.push(["k", state.kernel]);
  if (state.program !== "") parameters.push(["p", state.program]);
  if (state.stage !== "") parameters.push(["s", state.stage]);
  if (state.line !== null) parameters.push(["l", `${state.line.path}:${state.line.line}`]);
  if (state.offset !== null) parameters.push(["i", `0x${state.offset.toString(16)}`]);
  if (state.exact) parameters.push(["x", "1"]);
  if (state.own !== null) parameters.push(["o", state.own ? "1" : "0"]);
  if (state.colour !== "instr") parameters.push(["c", state.colour]);
  if (state.view !== "panes") parameters.push(["v", state.view]);
  parameters.push(...Object.entries(state.more));
  // Readable: only what would end a value is escaped.
  const escaped = parameters.map(([key, value]) => `${key}=${encodeURIComponent(value).replace(/%(2F|3A|2C)/g, decodeURIComponent)}`);
  return `#${escaped.join("&")}`;
}

export function fromFragment(fragment: string): State {
  const parameters = new URLSearchParams(fragment.replace(/^#/, "").replaceAll("+", "%2B"));
  const line = /^(.*):(\d{1,9})$/.exec(parameters.get("l") ?? "");
  const offset = /^0x([0-9a-f]{1,8})$/.exec(parameters.get("i") ?? "");
  const own = parameters.get("o");
  return {
    program: parameters.get("p") ?? "",
    kernel: parameters.get("k") ?? "",
    stage: parameters.get("s") ?? "",
    line: line === null ? null : { path: line[1], line: Number(line[2]) },
    offset: offset === null ? null : Number.parseInt(offset[1], 16),
    exact: parameters.get("x") === "1",
    own: own === null || !/^[01]$/.test(own) ? null : own === "1",
    colour: COLOURS.find((colour) => colour === parameters.get("c")) ?? "instr",
    view: parameters.get("v") ?? "panes",
    more: Object.fromEntries([...parameters].filter(([key]) => !OWN.has(key))),
  };
}

export type How = "push" | "replace";

/** Puts a state into the address; sandboxed frames (notebooks) have no history of their own and stay without. */
export function writeAddress(state: State, how: How): void {
  const fragment = toFragment(state);
  if (fragment === location.hash) return;
  try {
    if (how === "push") history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  } catch (problem) {
    if (!(problem instanceof DOMException)) throw problem;
  }
}
