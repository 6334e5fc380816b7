import type { Kernel } from "./document/kernel";
import { copyText, h, sentence } from "./dom";
import { entriesOf } from "./frame/kernels";
import type { Slot } from "./frame/slot";
import { failure } from "./frame/message";
import type { Page } from "./page";

/** Says why a kernel has no stages, and what to do to have them, in a folded pane: its width is for the others. */
export function noStages(slot: Slot, kernel: Kernel, page: Page): void {
  if (kernel.row < 0) {
    slot.fold("stages", "nothing compiled");
    return slot.message(h("p", {}, `There are no stages: ${withoutKernel(kernel)}`));
  }
  if (kernel.problem !== null) {
    slot.fold("stages", "the kernel was not read");
    return slot.message(h("p", {}, "There are no stages: the kernel could not be read."));
  }
  const { compiler } = page;
  const why = kernel.program.no_stages ?? "no stages are known for this program";
  const [reason] = why.split("; ", 1);
  const command = reason === why ? null : why.slice(reason.length + 2).replace(/ keeps them\.?$/, "");
  const parts: Node[] = [];
  const copy = h("button", { class: "tool", type: "button", title: `${command}: copy`, onclick: () => void copyText(command ?? "", (told) => page.tell(told)) }, "Copy");
  if (compiler?.canTry(kernel.program) === true) {
    parts.push(h("button", { class: "tool", type: "button", onclick: () => void compiler.compile(true) }, "Compile again and show them"));
  }
  slot.fold("stages", sentence(reason));
  slot.message(h("p", {}, sentence(reason)), ...parts, command === null ? "" : h("p", {}, "To have them: ", h("code", {}, command), " ", copy));
}

/** Says why a kernel has no machine code; what it was made from has the room, if there is anything. */
export function withoutCode(slot: Slot, { missing, stages }: Kernel): void {
  const reason = `There is no machine code to show: ${missing.code ?? "the kernel is empty"}`;
  if (stages.some((stage) => stage.missing === null)) slot.fold("code", reason);
  else slot.unfold("code");
  slot.message(h("p", {}, reason));
}

/** Why a program that is open in the editor has no kernel. */
export function withoutKernel({ program }: Kernel): string {
  return program.ok ? "the program holds no kernel." : "the source does not compile. The errors stand below their lines; it compiles again when they are mended.";
}

/** Why a kernel could not be read, and what can be done: its fields, its source and its versions work all the same. */
export function unread(slot: Slot, { program, row, problem }: Kernel, page: Page): void {
  const [entry] = entriesOf({ programs: [program] }).slice(row);
  const next = page.compiler?.canTry(program) === true ? "Or compile it otherwise: choose another device, toolchain, option or version, or edit the source." : "Or choose another kernel.";
  slot.message(h("p", {}, h("b", {}, `${entry.shown} could not be read.`)), ...failure(problem, () => void page.open(entry, "replace")), h("p", { class: "dim" }, next));
}
