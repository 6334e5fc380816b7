import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type * as vscode from "vscode";
import { Problem, type Server } from "../server";
import type { FromPage, Show, ToPage } from "./words";

/** The viewer in a webview: what it asks of its server is asked here. */
export class Page implements vscode.Disposable {
  private readonly asked = new Map<number, AbortController>();
  private readonly listening: vscode.Disposable;

  private constructor(
    private readonly webview: vscode.Webview,
    private readonly server: Server,
    private readonly pinned: (path: string, line: number) => void,
  ) {
    this.listening = webview.onDidReceiveMessage((message: FromPage) => this.hear(message));
  }

  /** Puts the server's viewer into a webview; `bridge` is the script that runs before it. Throws Problem. */
  static async open(webview: vscode.Webview, server: Server, bridge: string, pinned: (path: string, line: number) => void): Promise<Page> {
    const written = await server.text("/");
    const script = /<script src="(\/viewer-[0-9a-f]+\.js)">/.exec(written);
    if (script === null) throw new Problem("This kernlens serves no viewer that the extension knows: update both.");
    const viewer = await server.text(script[1]);
    const page = new Page(webview, server, pinned);
    webview.options = { enableScripts: true, localResourceRoots: [] };
    webview.html = document(bridge, viewer);
    return page;
  }

  show(line: Omit<Show, "kind">): void {
    this.tell({ kind: "show", ...line });
  }

  /** A file has another text. */
  text(path: string, text: string): void {
    this.tell({ kind: "text", path, text });
  }

  dispose(): void {
    this.listening.dispose();
    for (const abort of this.asked.values()) abort.abort();
  }

  private hear(message: FromPage): void {
    if (message.kind === "ask") void this.answer(message);
    else if (message.kind === "abort") this.asked.get(message.id)?.abort();
    else if (message.kind === "pinned" && typeof message.path === "string" && Number.isSafeInteger(message.line)) this.pinned(message.path, message.line);
  }

  private async answer({ id, method, path, body }: Extract<FromPage, { kind: "ask" }>): Promise<void> {
    const abort = new AbortController();
    this.asked.set(id, abort);
    try {
      // The page holds no address but those of the server's data.
      if (!/^\/api\/[\w/]+(\?[\w=&%.~-]*)?$/.test(path)) throw new Problem(`The page asked for ${path}.`);
      const answer: IncomingMessage = await this.server.ask(method === "POST" ? "POST" : "GET", path, body, abort.signal);
      this.tell({ kind: "answer", id, status: answer.statusCode ?? 502, type: String(answer.headers["content-type"] ?? "") });
      for await (const bytes of answer) this.tell({ kind: "part", id, bytes: new Uint8Array(bytes as Buffer) });
      this.tell({ kind: "end", id });
    } catch {
      // The viewer says what that means for what it shows.
      this.tell({ kind: "broken", id });
    } finally {
      this.asked.delete(id);
    }
  }

  private tell(message: ToPage): void {
    void this.webview.postMessage(message);
  }
}

/** The page: as strict as the server's own, but that its scripts stand in it and no request leaves it. */
function document(bridge: string, viewer: string): string {
  const nonce = randomBytes(18).toString("base64");
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'none'; base-uri 'none'; form-action 'none'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>kernlens</title>
</head>
<body>
<div id="kernlens" data-mode="serve"></div>
<script nonce="${nonce}">${bridge}</script>
<script nonce="${nonce}">${viewer}</script>
</body>
</html>
`;
}
