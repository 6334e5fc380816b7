import type { FromPage, Show, ToPage } from "./words";

/**
 * Runs in VS Code's page before the viewer. The viewer asks its server by `fetch`; here the extension asks it instead. So the server
 * needs no way in for VS Code's pages, its token stays in the extension, and it may run on another machine than the page.
 */

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void; getState(): unknown; setState(state: unknown): void };

interface Asked {
  answer: (answer: Response) => void;
  fail: (problem: Error) => void;
  body: ReadableStreamDefaultController<Uint8Array> | null;
}

const vscode = acquireVsCodeApi();
const asked = new Map<number, Asked>();
let last = 0;

window.fetch = (resource, request = {}) =>
  new Promise((answer, fail) => {
    const id = ++last;
    const { signal } = request;
    const aborted = new DOMException("The request was given up.", "AbortError");
    if (signal?.aborted) return fail(aborted);
    asked.set(id, { answer, fail, body: null });
    signal?.addEventListener("abort", () => {
      vscode.postMessage({ kind: "abort", id });
      end(id, aborted);
    });
    vscode.postMessage({ kind: "ask", id, method: request.method === "POST" ? "POST" : "GET", path: String(resource), body: typeof request.body === "string" ? request.body : null });
  });

/** Ends an answer, or what is awaited of it. */
function end(id: number, problem: Error | null): void {
  const entry = asked.get(id);
  asked.delete(id);
  if (entry === undefined) return;
  if (problem === null) entry.body?.close();
  else if (entry.body !== null) entry.body.error(problem);
  else entry.fail(problem);
}

/** The viewer's element. It is above this script's in the page, and hears and tells by events (viewer/README.md). */
const host = document.getElementById("kernlens") as HTMLElement;

function show({ path, line, kernels }: Show): void {
  host.dispatchEvent(new CustomEvent("kernlens:show", { detail: { path, line, kernels } }));
}

window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
  if (data.kind === "show") return show(data);
  if (data.kind === "text") return void host.dispatchEvent(new CustomEvent("kernlens:text", { detail: { path: data.path, text: data.text } }));
  const entry = asked.get(data.id);
  if (entry === undefined) return;
  switch (data.kind) {
    case "answer": {
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => {
          entry.body = controller;
        },
      });
      return entry.answer(new Response(stream, { status: data.status, headers: { "Content-Type": data.type } }));
    }
    case "part":
      return entry.body?.enqueue(data.bytes);
    case "end":
      return end(data.id, null);
    case "broken":
      return end(data.id, new TypeError("The server does not answer."));
  }
});

host.addEventListener("kernlens:pinned", (event) => {
  const { path, line } = (event as CustomEvent<{ path: string; line: number }>).detail;
  vscode.postMessage({ kind: "pinned", path, line });
});

// VS Code's own style leaves room at the sides.
const sheet = new CSSStyleSheet();
sheet.replaceSync("body{padding:0}");
document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

// What was chosen last stands in the address, which a page that is made anew has lost.
const before = vscode.getState();
if (typeof before === "string" && location.hash === "") history.replaceState(null, "", before);
for (const name of ["pushState", "replaceState"] as const) {
  const own = history[name].bind(history);
  history[name] = (...words) => {
    own(...words);
    vscode.setState(location.hash);
  };
}

/** The viewer follows the editor's theme. */
function theme(): void {
  host.dataset.theme = /vscode-(dark|high-contrast(?!-light))/.test(document.body.className) ? "dark" : "light";
}
theme();
new MutationObserver(theme).observe(document.body, { attributeFilter: ["class"] });
