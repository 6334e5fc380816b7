import { readIndex } from "./read";
import type { Index } from "./schema";
import { DocumentError, Kept, ServerGone, type Source } from "./source";
import { unpack } from "./unpack";

const TOKEN = "kernlens.token";
/** The only name that links get. Another user of the machine may answer to "localhost" where that is tried as ::1 first. */
const HOST = "127.0.0.1";
/** 128 bits as the server writes them (secrets.token_urlsafe). */
const SECRET = /^[\w-]{22}$/;

/**
 * Takes the token out of the fragment (`#t=...`), so that no link that is copied from the address and no step of the tab's
 * history holds it. It is kept for this tab; once the server has taken it, for other tabs of this browser too, where the page has
 * the address that only this server can have. When the server has ended it opens nothing: the next one has another.
 */
export function takeToken(): string {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get("t");
  if (token !== null) {
    // The rest stays as it was written.
    const rest = location.hash.slice(1).split("&").filter((part) => !part.startsWith("t="));
    history.replaceState(history.state, "", `#${rest.join("&")}`);
    sessionStorage.setItem(TOKEN, token);
  }
  return token ?? sessionStorage.getItem(TOKEN) ?? ofOtherTabs() ?? "";
}

function keep(token: string): void {
  sessionStorage.setItem(TOKEN, token);
  if (location.hostname === HOST) localStorage.setItem(TOKEN, token);
}

function ofOtherTabs(): string | null {
  return location.hostname === HOST ? localStorage.getItem(TOKEN) : null;
}

/** The token in what a reader pasted: an address of this server, or the token alone. Throws DocumentError, with what is wrong. */
export function tokenIn(text: string): string {
  const [, port, token] = /^(?:https?:\/\/[^/:]+:(\d+)\/?)?(?:#?(?:[^#]*&)?t=)?([\w-]+)(?:&.*)?$/.exec(text.trim()) ?? [];
  if (port !== undefined && port !== location.port) throw new DocumentError(`That is the address of another server: its port is ${port}, and this one's ${location.port}.`);
  if (token === undefined || !SECRET.test(token)) throw new DocumentError("That holds no token.", "Paste the whole address that kernlens serve printed.");
  return token;
}

/** What a browser calls a "network error" says nothing to whoever reads the page. */
export function gone(what: string): ServerGone {
  return new ServerGone(`The server ${what}; what is shown stays.`, "If kernlens serve has ended, start it again and open the address that it prints.");
}

/** An answer that has begun, to its end. */
async function whole<Value>(answer: Promise<Value>): Promise<Value> {
  try {
    return await answer;
  } catch {
    throw gone("broke off its answer");
  }
}

/** `kernlens serve`: documents over HTTP, from the server that the page came from. */
export class HttpSource implements Source {
  readonly mode = "serve";
  private readonly chunks = new Kept<unknown>(24);
  private read: Promise<Index> | null = null;

  /** Called when the server does not take the token; what asked for it fails. */
  onNoAccess: () => void = () => {};

  private isKept = false;

  constructor(private token: string) {}

  /** The address of this page with a fragment; `hasAccess`: whoever opens it may do what this page may. */
  address(fragment: string, hasAccess: boolean): string {
    return `http://${HOST}:${location.port}/${hasAccess ? `#t=${this.token}&` : "#"}${fragment.replace(/^#/, "")}`;
  }

  /** Whether the server takes this token, which is then kept. Throws ServerGone if it does not answer. */
  async opensWith(token: string): Promise<boolean> {
    const answer = await this.fetch("/api/changes", {}, token);
    if (answer.ok) keep(token);
    return answer.ok;
  }

  /** The files that changed since the server read them. */
  async changed(): Promise<string[]> {
    const { changed } = (await this.json("/api/changes")) as { changed: string[] };
    return changed;
  }

  index(): Promise<Index> {
    this.read ??= this.json("/api/index").then(readIndex);
    this.read.catch(() => (this.read = null));
    return this.read;
  }

  chunk(id: string): Promise<unknown> {
    return this.chunks.get(id, async () => {
      const answer = await this.get(`/api/chunk/${encodeURIComponent(id)}`);
      return unpack(new Uint8Array(await whole(answer.arrayBuffer())));
    });
  }

  /** The JSON that the server answers a GET with. */
  async json(path: string): Promise<unknown> {
    return JSON.parse(await whole((await this.get(path)).text()));
  }

  /** A POST of JSON; the answer as it comes. */
  post(path: string, body: unknown, signal: AbortSignal): Promise<Response> {
    return this.ask(path, {
      method: "POST",
      body: JSON.stringify(body),
      signal,
      headers: { "Content-Type": "application/json" },
    });
  }

  private get(path: string): Promise<Response> {
    return this.ask(path, {});
  }

  private async ask(path: string, request: RequestInit): Promise<Response> {
    let answer = await this.fetch(path, request, this.token);
    // Another tab may have been opened with the token of a server that was started anew.
    const other = answer.status === 401 ? ofOtherTabs() : null;
    if (other !== null && other !== this.token) {
      answer = await this.fetch(path, request, other);
      if (answer.status !== 401) this.token = other;
    }
    if (answer.status === 401) {
      this.onNoAccess();
      throw new ServerGone("This page does not have the server's token.", "Open the address that kernlens serve printed.");
    }
    if (!this.isKept) keep(this.token);
    this.isKept = true;
    if (!answer.ok) {
      const told = (await answer.json().catch(() => null)) as { error?: string; next?: string | null } | null;
      throw new DocumentError(told?.error ?? `The server answered ${answer.status}.`, told?.next ?? null);
    }
    return answer;
  }

  private async fetch(path: string, request: RequestInit, token: string): Promise<Response> {
    try {
      return await fetch(path, { ...request, headers: { ...request.headers, Authorization: `Bearer ${token}` } });
    } catch (problem) {
      if (request.signal?.aborted) throw problem;
      throw gone("does not answer");
    }
  }
}
