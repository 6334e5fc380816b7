/** The extension against a real `kernlens serve`, named by KERNLENS, and a fake of VS Code: pytest runs this (tests/integration/serve). */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { activate } from "../src/extension";
import { type CodeLens, type Panel, Position, type Range, state, TextDocument, Uri, window, workspace } from "./vscode.fake";

const KERNLENS = process.env.KERNLENS ?? "";
const folder = mkdtempSync(join(tmpdir(), "kernlens-vscode-"));
const source = readFileSync(join(import.meta.dirname, "../../../examples/kernels/tone.cl"), "utf8");
const subscriptions: { dispose(): void }[] = [];

/** The processes that were started here and run. */
function servers(): number[] {
  const tasks = readdirSync("/proc/self/task");
  const children = tasks.flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8").trim().split(" "));
  return children.filter((child) => child !== "" && readFileSync(`/proc/${child}/cmdline`, "utf8").split("\0").includes("serve")).map(Number);
}

function write(name: string, text: string): TextDocument {
  const path = join(folder, name);
  writeFileSync(path, text);
  const document = new TextDocument(Uri.file(path), text);
  workspace.textDocuments.push(document);
  return document;
}

const run = (command: string, ...words: unknown[]): unknown => state.commands.get(`kernlens.${command}`)?.(...words);
const lenses = (document: TextDocument): CodeLens[] => state.lenses?.provideCodeLenses(document) ?? [];
const counts = (document: TextDocument): string[] => lenses(document).map(({ range, command }) => `${range.start.line + 1}: ${command.title}`);
const problems = (document: TextDocument): string[] => (state.problems.get(document.uri.path) ?? []).map(({ range, message }) => `${range.start.line + 1}: ${message}`);
const until = (look: () => unknown): Promise<void> => vi.waitFor(() => expect(look()).toBeTruthy(), { timeout: 60_000, interval: 50 });
const latest = (): Panel => state.panels[state.panels.length - 1];

/** What the page in a panel gets for a request: its status, null if it is broken off, and the whole answer. */
async function answer(panel: Panel, path: string, method = "GET"): Promise<[number | null, string]> {
  const id = 1000 + panel.posted.length;
  panel.heard.fire({ kind: "ask", id, method, path, body: null });
  const own = (): Panel["posted"] => panel.posted.filter((each) => each.id === id);
  await until(() => own().some(({ kind }) => kind === "end" || kind === "broken"));
  const status = own().find(({ kind }) => kind === "answer")?.status as number | undefined;
  return [status ?? null, Buffer.concat(own().flatMap(({ bytes }) => (bytes as Uint8Array | undefined) ?? [])).toString()];
}

let tone: TextDocument;

beforeAll(() => {
  mkdirSync(join(folder, "extension/dist"), { recursive: true });
  writeFileSync(join(folder, "extension/dist/bridge.js"), "/* the bridge */");
  state.settings = { path: KERNLENS, device: "dg2" };
  const memory = new Map<string, unknown>();
  const workspaceState = { get: (key: string) => memory.get(key), update: async (key: string, value: unknown) => void memory.set(key, value) };
  activate({ subscriptions, extensionPath: join(folder, "extension"), workspaceState } as never);
  tone = write("tone.cl", source);
});

afterAll(async () => {
  for (const each of subscriptions) each.dispose();
  await until(() => servers().length === 0);
  rmSync(folder, { recursive: true });
});

test("a source is compiled, and its lines have counts", async () => {
  await run("open", tone.uri);
  expect(state.messages).toEqual([]);
  expect(counts(tone)).toContain("6: 749 instructions · waits 788 cycles");
  expect(counts(tone).map((text) => text.split(":")[0])).toEqual(expect.arrayContaining(["6", "11", "12", "13", "14"]));
  expect(servers()).toHaveLength(1);
  await run("open", tone.uri);
  expect(servers()).toHaveLength(1);
});

test("only the text that was compiled has counts", async () => {
  const [other, same] = ["// changed\n", ""].map((before, at) => new TextDocument(Uri.file(join(folder, `${at}/tone.cl`)), before + source));
  for (const document of [other, same]) state.events.open.fire(document);
  await until(() => counts(same).length > 0);
  expect(counts(other)).toEqual([]);
});

test("the page gets the server's data and nothing else, and never the token", async () => {
  const panel = latest();
  const [status, index] = await answer(panel, "/api/index");
  expect(status).toBe(200);
  expect((JSON.parse(index) as { title: string }).title).toBe("tone.cl");
  expect((await answer(panel, "/api/chunk/0123456789abcdef"))[0]).toBe(404);
  for (const path of ["/", "/api/../icon.svg", "//example.org/api/index", "http://example.org/", "/api/index#t", "/icon.svg"]) {
    expect((await answer(panel, path))[0]).toBe(null);
  }
  const { html } = panel.webview;
  expect(html).toContain("default-src 'none'; script-src 'nonce-");
  expect(html).toContain("/* the bridge */");
  const [child] = servers();
  const sockets = JSON.stringify(panel.posted) + html;
  expect(readFileSync(`/proc/${child}/cmdline`, "utf8")).not.toContain("t=");
  expect(sockets).not.toMatch(/Bearer [\w-]{22}|#t=[\w-]{22}/);
});

test("the editor and the viewer follow each other", async () => {
  const panel = latest();
  const select = (kind: number | undefined, line: number): void =>
    state.events.select.fire({ textEditor: { document: tone }, kind, selections: [{ active: new Position(line - 1, 0) }] });
  select(undefined, 12);
  select(2, 3);
  expect(panel.posted.filter(({ kind }) => kind === "show")).toEqual([]);
  select(2, 12);
  await until(() => panel.posted.some(({ kind, line, kernels }) => kind === "show" && line === 12 && (kernels as string[])[0] === "tone"));
  window.showTextDocument.mockClear();
  // That it shows what the editor has just asked for is no news; a file elsewhere is not opened.
  for (const [path, line] of [["tone.cl", 12], ["/etc/passwd", 1], ["../../../etc/passwd", 1], ["tone.cl", "1"]]) panel.heard.fire({ kind: "pinned", path, line });
  panel.heard.fire({ kind: "pinned", path: "tone.cl", line: 13 });
  await until(() => window.showTextDocument.mock.calls.length > 0);
  const calls = window.showTextDocument.mock.calls as unknown as [TextDocument, { selection: Range }][];
  expect(calls.map(([document, { selection }]) => [document.uri.path, selection.start.line])).toEqual([[tone.uri.path, 12]]);
});

test("counts move with an edit, and a save compiles it", async () => {
  const before = counts(tone);
  tone.replace(2, 2, "\n");
  expect(counts(tone)).toEqual(before.map((text) => text.replace(/^\d+/, (line) => String(Number(line) + 1))));
  tone.replace(13, 13, "  out[i] = missing(light, gamma);");
  tone.save();
  await until(() => problems(tone).length > 0);
  expect(problems(tone).join("\n")).toMatch(/14: .*missing/);
  tone.replace(13, 13, "  out[i] = light;");
  tone.save();
  await until(() => problems(tone).length === 0 && !counts(tone).some((text) => text.includes("749")));
  expect(counts(tone).some((text) => text.startsWith("14: "))).toBe(true);
  // The viewer has each text that was compiled, also the one with the error.
  expect(latest().posted.filter(({ kind }) => kind === "text").map(({ path, text }) => [path, String(text).includes("missing")])).toEqual([["tone.cl", true], ["tone.cl", false]]);
});

test("other options, which are remembered for the file", async () => {
  tone.replace(13, 13, "  out[i] = curve(light, gamma);");
  writeFileSync(tone.uri.path, tone.getText());
  tone.isDirty = false;
  state.picks = ["dg2", "-cl-fast-relaxed-math"];
  const toolchains = JSON.parse((await answer(latest(), "/api/choices"))[1]) as { devices: { name: string; toolchains: string[] }[] };
  if ((toolchains.devices.find(({ name }) => name === "dg2")?.toolchains.length ?? 0) > 1) state.picks.splice(1, 0, "Any");
  await run("compileWith", tone.uri);
  expect(state.messages).toEqual([]);
  const [, index] = await answer(latest(), "/api/index");
  expect(index).toContain("-cl-fast-relaxed-math");
  expect(counts(tone).some((text) => text.includes("749"))).toBe(false);
  await until(() => servers().length === 1);
});

test("a server that dies is told, and started again", async () => {
  const [server] = servers();
  state.button = "Start Again";
  process.kill(server, "SIGKILL");
  await until(() => state.messages.length > 0 && servers().length === 1 && servers()[0] !== server);
  expect(state.messages.splice(0)).toEqual(["The server of tone.cl has ended; what is shown stays. It ended with SIGKILL."]);
  await until(() => latest().webview.html.includes("the bridge"));
});

test("a source that does not compile has its errors at once", async () => {
  const wrong = write("wrong.cl", source.replace("curve(light, gamma);", "missing;"));
  await run("open", wrong.uri);
  expect(problems(wrong).join("\n")).toMatch(/13: .*missing/);
  expect(counts(wrong)).toEqual([]);
  expect(servers()).toHaveLength(2);
});

test("a closed panel ends its server, with counts and messages", async () => {
  for (const panel of state.panels) panel.dispose();
  await until(() => servers().length === 0);
  expect(counts(tone)).toEqual([]);
  expect(state.problems.size).toBe(0);
});

test.each([
  ["no-such-kernlens", /There is no command no-such-kernlens\. Install kernlens/],
  ["bin/kernlens", /write an absolute path/],
  ["/bin/true", /kernlens serve has ended with status 0/],
  ["/bin/echo", /\/bin\/echo did not say where it serves/],
])("the command %s", async (path, message) => {
  state.settings.path = path;
  await run("open", tone.uri);
  state.settings.path = KERNLENS;
  expect(state.messages.splice(0)).toEqual([expect.stringMatching(message)]);
  latest().dispose();
});

test("what kernlens refuses is said in its words", async () => {
  cpSync(tone.uri.path, join(folder, "text.klens"));
  await run("open", Uri.file(join(folder, "text.klens")));
  expect(state.messages.splice(0)).toEqual([expect.stringMatching(/^kernlens cannot open text\.klens\. .{10,}\.$/)]);
  expect(latest().webview.html).toContain("<p>");
});
