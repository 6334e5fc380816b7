/** What the page, with the viewer in it, and the extension tell each other. */

export type FromPage =
  | { kind: "ask"; id: number; method: "GET" | "POST"; path: string; body: string | null }
  | { kind: "abort"; id: number }
  | { kind: "pinned"; path: string; line: number };

export type ToPage =
  | { kind: "answer"; id: number; status: number; type: string }
  | { kind: "part"; id: number; bytes: Uint8Array }
  | { kind: "end"; id: number }
  | { kind: "broken"; id: number }
  | Show
  | { kind: "text"; path: string; text: string };

/** Shows a line of a source in the viewer, in one of these kernels: the names as the index has them. */
export interface Show {
  kind: "show";
  path: string;
  line: number;
  kernels: string[];
}
