import { textChange } from "../comparison/texts";
import type { Kernel, Stage } from "../document/kernel";
import { count, fill, h, plural } from "../dom";
import { nothing } from "../frame/message";
import { codeRow } from "./compare_code";

/** Rows that are drawn, and equal rows that stand around each change. */
const MOST_ROWS = 4000;
const AROUND = 3;

/** Which stage of each side is compared, in place of lines and machine code: their names, "" where nothing is chosen. */
export type StageNames = readonly [old: string, now: string];

/** The fields that choose a stage of each side; machine code is none. */
export function stageFields(sides: readonly [Kernel, Kernel], chosen: StageNames, choose: (names: StageNames) => void): HTMLElement | null {
  const names = sides.map((kernel) => kernel.stages.filter(({ missing }) => missing === null).map(({ name }) => name));
  if (names.some(({ length }) => length === 0)) return null;
  const field = (side: 0 | 1): HTMLSelectElement => {
    const offered = side === 0 ? [["", "Source lines and machine code"], ...names[0].map((name) => [name, titleOf(sides[0], name)])] : names[1].map((name) => [name, titleOf(sides[1], name)]);
    const select = h("select", { "aria-label": side === 0 ? "What is compared: machine code, or a stage of the old side" : "Stage of the new side" }, ...offered.map(([value, title]) => h("option", { value, selected: value === chosen[side] }, title)));
    select.addEventListener("change", () => {
      const now = side === 1 ? select.value : chosen[1] !== "" ? chosen[1] : (names[1].find((name) => name !== select.value) ?? select.value);
      choose(side === 1 ? [chosen[0], now] : select.value === "" ? ["", ""] : [select.value, sides[0] !== sides[1] && chosen[1] === "" && names[1].includes(select.value) ? select.value : now]);
    });
    return select;
  };
  return h("span", { class: "of-stages" }, h("span", { class: "dim" }, "Compare "), field(0), ...(chosen[0] === "" ? [] : [h("span", { class: "dim" }, " with "), field(1)]));
}

/** Two stages' texts side by side, with what is equal folded. */
export function stagesTable(sides: readonly [Kernel, Kernel], names: StageNames): HTMLElement[] {
  const [old, now] = sides.map((kernel, side) => kernel.stages.find(({ name, missing }) => name === names[side] && missing === null));
  if (old === undefined || now === undefined) return [nothing("A side does not have the stage that the address names.")];
  const { rows, removed, added } = textChange(old.lines, now.lines);
  const differs = rows.map(([left, right]) => left < 0 || right < 0);
  const isShown = new Uint8Array(rows.length);
  differs.forEach((is, at) => is && isShown.fill(1, Math.max(0, at - AROUND), at + AROUND + 1));
  const words = removed + added === 0 ? "The texts are equal" : `${plural(removed, "row")} gone, ${count(added)} come, ${count(now.lines.length - added)} equal`;
  const head = h("div", { class: "row head" }, ...([old, now] as const).map((stage, side) => h("b", {}, `${side === 0 ? "Old" : "New"}, ${titleOf(sides[side], stage.name)}: ${plural(stage.lines.length, "row")}`)));
  const drawn: HTMLElement[] = [];
  let folded = 0;
  const fold = (): void => {
    if (folded > 0) drawn.push(h("div", { class: "folded dim" }, `${plural(folded, "equal row")}`));
    folded = 0;
  };
  for (const [at, [left, right]] of rows.entries()) {
    if (isShown[at] === 0) {
      folded++;
      continue;
    }
    fold();
    drawn.push(codeRow(half(old, left, right < 0 ? "gone" : ""), half(now, right, left < 0 ? "come" : "")));
    if (drawn.length > MOST_ROWS) {
      drawn.push(nothing(`The first ${count(MOST_ROWS)} rows are drawn.`));
      break;
    }
  }
  fold();
  return [h("p", { class: "dim" }, `${words}. Names that compilers number anew in each text (%12, !34, V0045) are not compared.`), head, ...drawn];
}

function half(stage: Stage, row: number, kind: "gone" | "come" | ""): HTMLElement {
  if (row < 0) return h("div", { class: "half none" });
  return h("div", { class: `half mono text-row ${kind}`.trimEnd() }, h("span", { class: "sign" }, kind === "gone" ? "−" : kind === "come" ? "+" : ""), h("span", { class: "at" }, stage.numbers[row]), h("span", { class: "written" }, stage.lines[row]));
}

function titleOf({ program }: Kernel, name: string): string {
  return program.stages.find((stage) => stage.name === name)?.title ?? name;
}

/** Puts the two texts in place of lines and machine code. */
export function drawStages(lines: HTMLElement, code: HTMLElement, sides: readonly [Kernel, Kernel], names: StageNames): void {
  fill(lines);
  fill(code, ...stagesTable(sides, names));
  code.scrollTop = 0;
}
