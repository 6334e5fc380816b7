import { LONG, ORIGIN, SHORT } from "../document/waits";
import { h } from "../dom";

const KEYS: [title: string, keys: [key: string, does: string][]][] = [
  [
    "Moving",
    [
      ["j k ↓ ↑", "next, previous line"],
      ["Enter", "pin the line; again, or Esc: unpin"],
      ["n N", "next, previous lit line; with nothing pinned the next hottest"],
      ["w W", `next, previous instruction that waits ${LONG} cycles or more, the longest first`],
      ["s S", "next, previous instruction that spills a register or fills it again"],
      ["b", "blocks: the kernel's flow as an outline beside its code; arrow keys move in it and fold loops"],
      ["Tab, Shift+Tab", "next, previous pane or control"],
      ["[ ]", "previous, next stage"],
      ["f", "fold or unfold the block"],
      ["g l", "go to a source line"],
      ["g p, F4", "go to the peak of live registers"],
      ["K", "list of kernels"],
    ],
  ],
  [
    "Showing",
    [
      ["1 to 9", "colour by instructions, memory, spills, lines, waits, samples, moved, runs, idle"],
      ["o", "short operands, or as IGA writes them"],
      ["x", "a pinned instruction: its exact links, or its whole line"],
      ["i", "inlined library code: on the lines of your own files that it came through, or on its own"],
      ["a", "advice on this kernel, as a list"],
      ["L", "what is lit, as a list"],
      ["/", "search this kernel and all others; Enter, Shift+Enter: next, previous here; Alt+↓, Alt+↑: next, previous kernel"],
      ["c", "compare"],
      ["Shift+C", "copy a link to what is shown"],
      ["e", "edit the source, as Enter on its pinned line does: letters are typed, and compiled, until Esc"],
      ["Ctrl+Enter", "compile"],
      ["Alt+Enter", "in the source: pin the line"],
      ["Ctrl+Alt+← →", "version before, version behind"],
      ["Esc", "close, leave the editor or the field, unpin"],
    ],
  ],
];

const WORDS: [word: string, means: string][] = [
  ["454‹", "from line 454, inlined: one mark per call"],
  ["line in italics", "of the prologue, or without a line of its own: it counts in no line's share"],
  ["–", "no source line, or a figure that is not known; never 0"],
  ["OpLine, LOC", "rows of SPIR-V and vISA that say nothing else are not drawn: the line stands beside those behind them"],
  ["solid bar", "belongs to the line that is lit"],
  ["dotted bar", "the line was inlined here, or is called from here"],
  ["w, r", "beside the line of an instruction: wrote what the pinned one reads; reads what it wrote. Click a register to see who wrote its value, who reads it, and how long it is held"],
  ["<0>", "short operands: all channels read one value. Subregister 0 and regions side by side are left out"],
  ["(W)", "runs whatever the execution mask says"],
  ["16, 16·16", "16 lanes; 16 lanes from lane 16 on, which IGA writes (16|M16)"],
  ["→04f8", "a branch goes to the instruction at 04f8; click it to go there, too"],
  ["image load 256 B", "what a message does, instead of its descriptors (o shows them)"],
  ["I@2", "waits for the second last instruction of the integer pipe (F float, L long, M math, S scalar, A each of them); click it to go there"],
  ["203, arrow", `cycles that an instruction waits, from ${SHORT} on, and for which it does. ${ORIGIN}: never time`],
  ["blue bar", "the instructions over which a register holds a value of the pinned one: a dot where it is written, an arrow where it is read"],
  ["↻2", "in 2 loops; in the machine code a mark for each"],
  ["◆", "advice on this line: the panel below has it"],
  ["$3.dst", "waits for the result of the message that holds token 3; $3.src: until it has read its operands"],
];

const SEARCH: [word: string, means: string][] = [
  ["text", "lines with this text, upper and lower case alike"],
  ["re:add.*f", "lines that a regular expression finds"],
  ["op:send", "instructions whose opcode begins so"],
  ["fn:splat", "functions, and kernels, whose name has this"],
  ["spills, atomic, barrier, dpas, math", "instructions that do this, and the kernels that have any; failed: builds that gave no kernel"],
  ["line:486", "what comes from this source line"],
  ["reg:r32", "instructions that name this register"],
];

function table(rows: [string, string][], isKey: boolean): HTMLElement {
  return h(
    "dl",
    {},
    ...rows.flatMap(([word, means]) => [h("dt", {}, isKey ? h("kbd", {}, word) : h("code", {}, word)), h("dd", {}, means)]),
  );
}

/** Keys that a report has no use for. */
const OF_SERVERS: ReadonlySet<string> = new Set(["e", "Ctrl+Enter", "Ctrl+Alt+← →"]);

/** The sheet that `?` opens. `letters` is whether single letters act, `turn` changes that; `compiles` whether a server does. */
export function helpSheet(letters: boolean, turn: (on: boolean) => void, compiles: boolean): HTMLElement {
  const box = h("input", { type: "checkbox", onchange: () => turn(box.checked) });
  box.checked = letters;
  return h(
    "div",
    { class: "help" },
    ...KEYS.map(([title, keys]) => h("section", {}, h("h3", {}, title), table(keys.filter(([key]) => compiles || !OF_SERVERS.has(key)), true))),
    h("section", {}, h("h3", {}, "Reading the panes"), table(WORDS, false)),
    h("section", {}, h("h3", {}, "Finding"), table(SEARCH, false)),
    h("p", {}, h("label", {}, box, " Single letters are keys (never within a field or an editor)")),
  );
}
