import type { App } from "./app";
import { entriesOf } from "./frame/kernels";

/**
 * What surrounds the viewer, such as an editor that shows it beside a source, and the viewer hear of each other through the element that
 * holds it: by events and an attribute, which only scripts of the same page can reach. README.md lists them.
 */
export function embed(host: HTMLElement, app: App): void {
  host.addEventListener("kernlens:show", (event) => void show(app, (event as CustomEvent<Partial<Shown>>).detail));
  host.addEventListener("kernlens:text", (event) => {
    const { path = "", text = "" } = (event as CustomEvent<Partial<Text>>).detail;
    void app.compiler?.take(path, text);
  });
  const follow = (): void => app.wear(host.dataset.theme ?? null);
  if (host.dataset.theme !== undefined) follow();
  new MutationObserver(follow).observe(host, { attributeFilter: ["data-theme"] });
}

/** A line of a source, and the names of kernels that have code of it. */
interface Shown {
  path: string;
  line: number;
  kernels: string[];
}

/** What a file holds now. */
interface Text {
  path: string;
  text: string;
}

/** Pins a line, in the kernel that is shown if it is one of these, else in the first that there is. */
async function show(app: App, { path = "", line = 0, kernels = [] }: Partial<Shown>): Promise<void> {
  if (app.index === null) return;
  const shown = app.kernel?.program.kernels.shown[app.kernel.row];
  if (shown === undefined || !kernels.includes(shown)) {
    const entries = entriesOf(app.index);
    const entry = kernels.map((name) => entries.find((each) => each.shown === name)).find((each) => each !== undefined);
    if (entry !== undefined) await app.open(entry);
  }
  const { kernel } = app;
  if (kernel === null) return;
  const key = kernel.places.keyOf(kernel.files.indexOf(path), line);
  if (key < 0) return;
  await app.pinning.goToLine(key);
  // The source is beside the page: where there is room for one pane, that is the machine code.
  const { codePane } = app.pinning;
  const slot = codePane === null ? null : app.layout.slotOf(codePane);
  if (slot !== null) app.layout.bringToFront(slot);
}
