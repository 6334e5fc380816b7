import type { App } from "./app";
import { lastAtMost } from "./document/csr";
import { LONG, ORIGIN } from "./document/waits";
import { h, hex, sentence } from "./dom";
import type { Keys } from "./keys";
import type { Linked } from "./panes/linked";
import { COLOURS } from "./state";

/** What the keys do (frame/help.ts lists them). */
export function keysOf(app: App): Keys {
  const focused = (): Linked | null => {
    const { activeElement } = app.root;
    return app.layout.slots.find(({ element }) => element.contains(activeElement))?.linked ?? app.layout.of("source")?.linked ?? null;
  };
  const move = (by: number): void => {
    const linked = focused();
    linked?.pane.move(linked.pane.cursor + by);
    linked?.pane.focus();
  };
  const keys: Keys["keys"] = {
    j: () => move(1),
    k: () => move(-1),
    Enter: () => {
      const linked = focused();
      const { activeElement } = app.root;
      if (activeElement instanceof HTMLButtonElement) activeElement.click();
      else if (!linked?.pane.element.contains(activeElement)) return;
      // On the source line that is pinned already.
      else if (linked.pane.isEditable && app.links.pinned?.linked === linked && app.links.pinned.line === linked.pane.cursor) void app.compiler?.start();
      else app.pinning.pin(linked, linked.pane.cursor);
    },
    Escape: () => {
      if (app.element.classList.contains("drawer")) app.element.classList.remove("drawer");
      else if (app.state.view !== "panes") app.views.turn(app.state.view);
      else app.pinning.unpin();
    },
    n: () => nextLit(app, focused(), 1),
    N: () => nextLit(app, focused(), -1),
    "[": () => app.filler.stepStage(-1),
    "]": () => app.filler.stepStage(1),
    f: () => {
      const code = app.pinning.codePane;
      if (code !== null) code.toggle(code.pane.cursor);
    },
    F4: () => peak(app),
    w: () => nextWait(app, 1),
    W: () => nextWait(app, -1),
    s: () => nextSpill(app, 1),
    S: () => nextSpill(app, -1),
    b: () => app.filler.turnBlocks(),
    K: () => app.showKernels(),
    c: () => app.views.turn("compare"),
    C: () => app.share.copyLink(),
    e: () => (app.compiler === null ? app.tell("Reports are read only: kernlens serve compiles in place.") : void app.compiler.start()),
    o: () => app.filler.turnOperands(),
    x: () => app.pinning.turnExact(),
    i: () => app.turnOwnLines(),
    a: () => app.pinning.advice(),
    L: () => app.pinning.list(),
    "/": () => app.search.focus(),
    "?": () => app.help(),
  };
  COLOURS.forEach((colour, index) => (keys[String(index + 1)] = () => app.colour(colour)));
  return { keys, afterG: { p: () => peak(app), l: () => askLine(app) } };
}

/** The next lit line of a pane after its cursor; with nothing pinned the next line from the hottest down. */
function nextLit(app: App, linked: Linked | null, by: number): void {
  const { pinned } = app.links;
  const { ranking } = app; // empty where no line has any of what the page is coloured by
  if (pinned === null) {
    if (ranking.length > 0) void app.pinning.goToLine(ranking[by > 0 ? 0 : ranking.length - 1]);
    return;
  }
  if (linked === null) return;
  const lines = app.links.lines(pinned, linked);
  if (lines.length < 2 && linked.kind === "source") {
    const at = ranking.indexOf(pinned.key);
    if (ranking.length > 0) void app.pinning.goToLine(ranking[(at + by + ranking.length) % ranking.length]);
    return;
  }
  if (lines.length === 0) return;
  const at = lastAtMost(lines, linked.pane.cursor - (by > 0 ? 0 : 1));
  const line = lines[(at + (by > 0 ? 1 : 0) + lines.length) % lines.length];
  linked.reveal(line);
  linked.pane.move(line);
  linked.pane.focus();
}

/** Pins the next instruction that waits long, which shows whom it waits for. */
function nextWait(app: App, by: number): void {
  const { kernel } = app;
  if (kernel === null) return;
  const { waits } = kernel.code;
  if (waits === null) return app.tell(sentence(kernel.missing.waits ?? kernel.missing.code ?? "there is no machine code"));
  if (!app.pinning.step(waits.longest, by)) app.tell(`No instruction waits ${LONG} cycles or more (${ORIGIN}).`);
}

/** Pins the next instruction that spills a register or fills it again. */
function nextSpill(app: App, by: number): void {
  if (app.kernel !== null && !app.pinning.step(app.kernel.code.spills, by)) app.tell("Nothing is spilled: no instruction of this kernel moves a register to memory for want of room.");
}

function peak(app: App): void {
  const code = app.pinning.codePane;
  const at = code?.kernel.code.peak;
  if (code == null || at == null) return app.tell("Which registers are live is not known for this kernel.");
  const line = code.lineOf(at.row);
  code.reveal(line);
  code.pane.show(line);
  code.pane.focus();
  app.tell(`${at.registers} registers are live at ${hex(code.kernel.code.offset[at.row])}, the most of this kernel.`);
}

/** Asks for a source line and goes there. */
function askLine(app: App): void {
  const { kernel } = app;
  if (kernel === null) return;
  const field = h("input", { type: "number", min: 1, "aria-label": "Source line" });
  const form = h("form", { class: "ask" }, h("label", {}, "Source line ", field), h("button", { class: "tool", type: "submit" }, "Go"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    app.dialog.close();
    const source = app.layout.of("source")?.linked;
    if (source == null || !(Number(field.value) >= 1)) return;
    source.pane.show(Number(field.value) - 1);
    source.pane.focus();
  });
  app.dialog.open("Go to a source line", form);
  field.focus();
}
