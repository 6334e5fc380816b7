import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { HttpSource, takeToken, tokenIn } from "../src/document/http";

const TOKEN = "abcdefghijklmnopqrst-_";
const OTHER = "0123456789012345678901";

/** What browsers keep, for this tab and for all. */
function storage(): Storage {
  const kept = new Map<string, string>();
  return { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) } as Storage;
}

function visit(hash: string, hostname = "127.0.0.1"): void {
  vi.stubGlobal("location", { hash, hostname, port: "8123" });
  vi.stubGlobal("history", { state: null, replaceState: (_: unknown, __: string, url: string) => (location.hash = url) });
}

beforeEach(() => {
  vi.stubGlobal("sessionStorage", storage());
  vi.stubGlobal("localStorage", storage());
});
afterEach(() => vi.unstubAllGlobals());

test("a token is read from an address, from a fragment, and alone", () => {
  visit("");
  for (const text of [TOKEN, ` ${TOKEN}\n`, `#t=${TOKEN}`, `http://127.0.0.1:8123/#t=${TOKEN}`, `http://localhost:8123/#t=${TOKEN}&k=a`, `http://127.0.0.1:8123/#k=a&t=${TOKEN}`])
    expect(tokenIn(text)).toBe(TOKEN);
  for (const text of ["", "a b", `${TOKEN}x`, `http://127.0.0.1:8123/`, `http://evil.example/#t=${TOKEN}\n<script>`]) expect(() => tokenIn(text)).toThrow("holds no token");
  expect(() => tokenIn(`http://127.0.0.1:9/#t=${TOKEN}`)).toThrow("its port is 9");
});

function answers(token: string, asked: string[] = []): void {
  vi.stubGlobal("fetch", (path: string, { headers }: { headers: Record<string, string> }) => {
    asked.push(`${path} ${headers.Authorization}`);
    const isKnown = headers.Authorization === `Bearer ${token}`;
    return Promise.resolve(new Response(isKnown ? '{"changed":["a"]}' : '{"error":"no"}', { status: isKnown ? 200 : 401 }));
  });
}

test("the token leaves the address, and the rest of the link stays as it was written", async () => {
  visit(`#t=${TOKEN}&k=a%2Bb&l=x.cl:3`);
  expect(takeToken()).toBe(TOKEN);
  expect(location.hash).toBe("#k=a%2Bb&l=x.cl:3");
  // Another tab has it once the server has taken it; a link with a wrong one spoils nothing.
  const otherTab = (): string => {
    vi.stubGlobal("sessionStorage", storage());
    visit("#k=b");
    return takeToken();
  };
  expect(otherTab()).toBe("");
  answers(TOKEN);
  await new HttpSource(TOKEN).changed();
  expect(otherTab()).toBe(TOKEN);
  visit(`#t=${OTHER}`);
  expect(takeToken()).toBe(OTHER);
  expect(otherTab()).toBe(TOKEN);
});

test("under a name that others may answer to, the token is this tab's alone", async () => {
  visit(`#t=${TOKEN}`, "localhost");
  expect(takeToken()).toBe(TOKEN);
  answers(TOKEN);
  await new HttpSource(TOKEN).changed();
  expect(localStorage.getItem("kernlens.token")).toBeNull();
  vi.stubGlobal("sessionStorage", storage());
  expect(takeToken()).toBe("");
  localStorage.setItem("kernlens.token", TOKEN);
  expect(takeToken()).toBe("");
});

test("links without access hold no token, and name the one address that is the server's", () => {
  visit("", "localhost");
  const source = new HttpSource(TOKEN);
  expect(source.address("#k=a", false)).toBe("http://127.0.0.1:8123/#k=a");
  expect(source.address("#k=a", true)).toBe(`http://127.0.0.1:8123/#t=${TOKEN}&k=a`);
});

test("a token that the server does not take is replaced by that of another tab, or asked for", async () => {
  visit("");
  const asked: string[] = [];
  answers(OTHER, asked);
  const source = new HttpSource(TOKEN);
  const refused = vi.fn();
  source.onNoAccess = refused;
  await expect(source.changed()).rejects.toThrow("does not have the server's token");
  expect(refused).toHaveBeenCalledTimes(1);
  localStorage.setItem("kernlens.token", OTHER);
  expect(await source.changed()).toEqual(["a"]);
  expect(await source.changed()).toEqual(["a"]);
  expect(refused).toHaveBeenCalledTimes(1);
  expect(asked.filter((each) => each.includes(TOKEN)).length).toBe(2);
  expect(await new HttpSource("").opensWith(TOKEN)).toBe(false);
  expect(localStorage.getItem("kernlens.token")).toBe(OTHER);
});
