import { type ChildProcess, execFile, spawn } from "node:child_process";
import { type IncomingMessage, request } from "node:http";
import { homedir } from "node:os";
import { IDLE } from "./settings";

/** A problem that the user can read, with what to do about it. */
export class Problem extends Error {
  /** `isMissing`: there is no such command. */
  constructor(
    message: string,
    readonly isMissing = false,
  ) {
    super(message);
  }
}

/** What of an answer is read whole, in characters: the index of thousands of kernels. */
const MOST = 256 << 20;
/** What is kept of what a server prints. */
const PRINTED = 64 << 10;
/** The most bytes of the line in which it says where it is. */
const FIRST_LINE = 8 << 10;

/** A `kernlens serve` of one file, in a process of its own. The token stays here: no page and no other process gets it. */
export class Server {
  private readonly origin: URL;
  private readonly token: string;
  private readonly alive: NodeJS.Timeout;
  private isEnding = false;
  private printed = "";
  /** Is told the reason if the server ends by itself. */
  onEnd: (reason: string) => void = () => {};

  private constructor(
    private readonly child: ChildProcess,
    address: string,
  ) {
    const url = new URL(address);
    this.token = new URLSearchParams(url.hash.slice(1)).get("t") ?? "";
    this.origin = new URL(url.origin);
    // It ends by itself when nobody asks: then its editor has died without a word.
    this.alive = setInterval(() => void this.text("/icon.svg").catch(() => {}), (IDLE * 1000) / 3);
    this.alive.unref();
    child.once("exit", (status, signal) => this.ended(status, signal));
  }

  /** Starts a server; `print` gets what it says. Throws Problem if it does not come up. */
  static start(command: string, words: readonly string[], print: (text: string) => void, signal: AbortSignal): Promise<Server> {
    print(`${[command, ...words].join(" ")}\n`);
    return new Promise((done, fail) => {
      if (signal.aborted) return fail(new Problem("The start was given up."));
      // No shell, and a folder in which no other program of this name can lie.
      const child = spawn(command, words, { cwd: homedir(), stdio: ["ignore", "pipe", "pipe"], windowsHide: true });
      let first = "";
      let errors = "";
      let server: Server | null = null;
      const giveUp = (): void => void child.kill();
      signal.addEventListener("abort", giveUp, { once: true });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        print(text);
        errors = (errors + text).slice(-PRINTED);
        if (server !== null) server.printed = errors;
      });
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        if (server !== null) return;
        first += text;
        const end = first.indexOf("\n");
        if (end < 0 && first.length < FIRST_LINE) return;
        try {
          server = new Server(child, addressIn(first.slice(0, Math.max(end, 0))));
          signal.removeEventListener("abort", giveUp);
          done(server);
        } catch {
          child.kill();
          fail(new Problem(`${command} did not say where it serves: is it kernlens? The setting kernlens.path names another command.`));
        }
      });
      child.once("error", (error: NodeJS.ErrnoException) => fail(notRun(command, error.code ?? "", error.message)));
      child.once("close", (status, killed) => {
        if (server !== null) return;
        fail(new Problem(signal.aborted ? "The start was given up." : lastLine(errors) || `kernlens serve has ended with ${killed ?? `status ${status}`}.`));
      });
    });
  }

  /** Ends the process. */
  end(): void {
    this.isEnding = true;
    clearInterval(this.alive);
    this.child.kill();
  }

  /** Asks the server; the answer as it comes, whatever its status. Throws an Error if there is none. */
  ask(method: "GET" | "POST", path: string, body: string | null, signal?: AbortSignal): Promise<IncomingMessage> {
    return new Promise((done, fail) => {
      const headers: Record<string, string> = { Host: this.origin.host, Authorization: `Bearer ${this.token}` };
      if (body !== null) headers["Content-Type"] = "application/json";
      const asked = request({ hostname: this.origin.hostname, port: this.origin.port, method, path, headers, signal }, done);
      asked.once("error", fail);
      asked.end(body ?? undefined);
    });
  }

  /** The JSON that it answers. Throws Problem with what it says where it refuses. */
  async json(path: string): Promise<unknown> {
    return JSON.parse(await this.text(path));
  }

  async text(path: string): Promise<string> {
    const answer = await this.ask("GET", path, null);
    const text = await whole(answer);
    if (answer.statusCode !== 200) throw refusal(text, answer.statusCode);
    return text;
  }

  /** The events of a compile as they come: a line of JSON each. Throws Problem if it is refused. */
  async *compile(body: unknown, signal: AbortSignal): AsyncGenerator<unknown> {
    const answer = await this.ask("POST", "/api/compile", JSON.stringify(body), signal);
    if (answer.statusCode !== 200) throw refusal(await whole(answer), answer.statusCode);
    let rest = "";
    for await (const text of answer.setEncoding("utf8")) {
      rest += text;
      if (rest.length > MOST) throw new Problem("The answer of kernlens serve is too long.");
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") yield JSON.parse(line);
    }
  }

  private ended(status: number | null, killed: NodeJS.Signals | null): void {
    clearInterval(this.alive);
    if (!this.isEnding) this.onEnd(lastLine(this.printed) || `It ended with ${killed ?? `status ${status}`}.`);
  }
}

/** What a command prints. Throws Problem with what it says if it fails. */
export function printed(command: string, words: readonly string[]): Promise<string> {
  return new Promise((done, fail) => {
    execFile(command, words, { cwd: homedir(), maxBuffer: 8 << 20, timeout: 60_000, windowsHide: true }, (error, stdout, stderr) => {
      if (error === null) done(stdout);
      else fail(typeof error.code === "string" ? notRun(command, error.code, error.message) : new Problem(lastLine(stderr) || error.message));
    });
  });
}

async function whole(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of answer.setEncoding("utf8")) {
    text += part;
    if (text.length > MOST) throw new Problem("The answer of kernlens serve is too long.");
  }
  return text;
}

function addressIn(line: string): string {
  const { address } = JSON.parse(line) as { address: string };
  if (!/^http:\/\/127\.0\.0\.1:\d+\/#t=/.test(address)) throw new Error(address);
  return address;
}

function refusal(text: string, status = 0): Problem {
  try {
    const { error, next } = JSON.parse(text) as { error: string; next: string | null };
    return new Problem(next === null ? error : `${error}: ${next}`);
  } catch {
    return new Problem(`kernlens serve answered ${status}.`);
  }
}

/** What could not be run, and what to do. */
function notRun(command: string, code: string, message: string): Problem {
  if (code !== "ENOENT" && code !== "EACCES") return new Problem(`${command} cannot be run: ${message}.`);
  return new Problem(`There is no command ${command}. Install kernlens with its server (pip install "kernlens[serve]"), or name it in the setting kernlens.path.`, true);
}

/** The last line of what kernlens printed: it says what is wrong, and the next step. */
function lastLine(printed: string): string {
  const lines = printed.trim().split("\n");
  return lines[lines.length - 1].replace(/^kernlens: /, "").slice(0, 1000);
}
