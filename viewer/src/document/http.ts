import { readIndex } from "./read";
import type { Index } from "./schema";
import { DocumentError, Kept, ServerGone, type Source } from "./source";
import { unpack } from "./unpack";

const TOKEN = "kernlens.token";

/** Takes the token out of the fragment (`#t=...`, kept for this tab only), so that no link or history entry holds it. */
export function takeToken(): string {
  const parameters = new URLSearchParams(location.hash.slice(1));
  const token = parameters.get("t");
  if (token !== null) {
    sessionStorage.setItem(TOKEN, token);
    parameters.delete("t");
    history.replaceState(history.state, "", `#${parameters}`);
  }
  return token ?? sessionStorage.getItem(TOKEN) ?? "";
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

  constructor(private readonly token: string) {}

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
    let answer: Response;
    try {
      answer = await fetch(path, { ...request, headers: { ...request.headers, Authorization: `Bearer ${this.token}` } });
    } catch (problem) {
      if (request.signal?.aborted) throw problem;
      throw gone("does not answer");
    }
    if (!answer.ok) {
      const told = (await answer.json().catch(() => null)) as { error?: string; next?: string | null } | null;
      throw new DocumentError(told?.error ?? `The server answered ${answer.status}.`, told?.next ?? null);
    }
    return answer;
  }
}
