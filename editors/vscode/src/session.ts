import { randomUUID } from "node:crypto";
import { basename } from "node:path";
import * as vscode from "vscode";
import { type Count, Counts } from "./counts";
import { Page } from "./page/page";
import { offer, wordsOf } from "./offer";
import { candidates, isSameFile } from "./paths";
import { Server } from "./server";
import { compile, type Diagnostic, digest, lines, type Lines, type ProgramInfo, programs } from "./served";
import { type Build, commandOf, serveWords, settings } from "./settings";

/** Programs whose figures are asked for, for one text. */
const MOST = 32;
/** Milliseconds after the last key. */
const REST = 400;

/** What sessions share. */
export interface Surroundings {
  /** The script that runs in the page before the viewer. */
  bridge: string;
  output: vscode.OutputChannel;
  /** Figures have changed. */
  changed: () => void;
}

/** A file in the explorer: its panel, the server behind it, and what the editors show of it. It lives as long as its panel. */
export class Session implements vscode.Disposable {
  server: Server | null = null;
  /** Of what is served, the newest compile's in place of what it was compiled from. */
  programs: ProgramInfo[] = [];
  private page: Page | null = null;
  private starting: AbortController | null = null;
  private compiling: AbortController | null = null;
  private serial = 0;
  private timer: NodeJS.Timeout | undefined;
  private isClosed = false;
  /** By a document's address. */
  private readonly counts = new Map<string, Counts>();
  private readonly figures = new Map<string, Promise<Lines>>();
  private readonly problems = vscode.languages.createDiagnosticCollection("kernlens");
  private readonly id = randomUUID();

  constructor(
    readonly file: vscode.Uri,
    readonly panel: vscode.WebviewPanel,
    public build: Build,
    private readonly around: Surroundings,
  ) {
    panel.onDidDispose(() => this.dispose());
  }

  get name(): string {
    return basename(this.file.fsPath);
  }

  /** Starts the server, anew if there is one. What goes wrong the user is told. */
  async start(): Promise<void> {
    this.stop();
    const starting = new AbortController();
    this.starting = starting;
    try {
      const progress = { location: vscode.ProgressLocation.Window, title: `kernlens: ${this.name}` };
      const print = (text: string): void => this.around.output.append(text);
      const server = await vscode.window.withProgress(progress, () => Server.start(commandOf(this.file), serveWords(this.file, this.build), print, starting.signal));
      if (starting.signal.aborted) return server.end();
      this.server = server;
      server.onEnd = (reason) => void this.ended(reason);
      this.programs = await programs(server);
      this.page = await Page.open(this.panel.webview, server, this.around.bridge, (path, line) => this.follow(path, line));
      await this.tellProblems();
      await Promise.all(vscode.workspace.textDocuments.map((document) => this.count(document)));
      for (const document of vscode.workspace.textDocuments) if (document.isDirty) this.changed(document, []);
    } catch (problem) {
      if (!starting.signal.aborted) await this.failed(problem);
    }
  }

  /** The server is ended, and what it said is gone. */
  private stop(): void {
    this.starting?.abort();
    this.compiling?.abort();
    clearTimeout(this.timer);
    this.page?.dispose();
    this.page = null;
    this.server?.end();
    this.server = null;
    this.figures.clear();
  }

  dispose(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.stop();
    this.counts.clear();
    this.problems.dispose();
    this.around.changed();
  }

  // --- figures

  countsOf(document: vscode.TextDocument): Counts | undefined {
    return this.counts.get(document.uri.toString());
  }

  /** Takes the figures of a text over, if it is what was compiled: those of another text stand at other lines. */
  async count(document: vscode.TextDocument): Promise<void> {
    const { server } = this;
    const named = this.named(document);
    if (server === null || named.length === 0 || document.uri.scheme !== "file") return;
    const own = digest(document.getText());
    const counts: Count[] = [];
    for (const program of named.filter(({ ok }) => ok).slice(0, MOST)) {
      for (const { path, sha256, lines } of (await this.linesOf(server, program)).files) {
        if (sha256 === own && isSameFile(document.uri.fsPath, path)) counts.push(...lines.map((row) => ({ ...row, device: program.device })));
      }
    }
    // Of a text that was edited meanwhile what comes next tells.
    if (counts.length === 0 || this.server !== server || digest(document.getText()) !== own) return;
    this.counts.set(document.uri.toString(), Counts.of(counts));
    this.around.changed();
  }

  /** The programs that have a text among their files. */
  private named(document: vscode.TextDocument): ProgramInfo[] {
    return this.programs.filter(({ paths }) => paths.some((path) => isSameFile(document.uri.fsPath, path)));
  }

  private linesOf(server: Server, { id }: ProgramInfo): Promise<Lines> {
    const told = this.figures.get(id) ?? lines(server, id).catch((problem) => this.noLines(problem));
    this.figures.set(id, told);
    return told;
  }

  /** Figures that cannot be had: the viewer says why, where they would be shown. */
  private noLines(problem: unknown): Lines {
    this.around.output.appendLine(problem instanceof Error ? problem.message : String(problem));
    return { diagnostics: [], files: [] };
  }

  // --- messages

  /** What the compiler says of what is served. */
  private async tellProblems(): Promise<void> {
    const { server } = this;
    if (server === null) return;
    const own = this.isSource ? this.programs : this.programs.filter(({ ok }) => !ok);
    const told = await Promise.all(own.slice(0, MOST).map((program) => this.linesOf(server, program)));
    await this.mark(told.flatMap(({ diagnostics }) => diagnostics));
  }

  private async mark(diagnostics: readonly Diagnostic[]): Promise<void> {
    const files = new Map<string, vscode.Diagnostic[]>();
    for (const each of diagnostics) {
      const file = each.path === "" ? this.file : await this.find(each.path);
      if (file === null) continue;
      files.set(file.toString(), [...(files.get(file.toString()) ?? []), shown(each)]);
    }
    if (this.isClosed) return;
    this.problems.clear();
    for (const [file, own] of files) this.problems.set(vscode.Uri.parse(file), own);
  }

  // --- compiles

  get isSource(): boolean {
    return this.build.device !== "";
  }

  /** A text was edited. */
  changed(document: vscode.TextDocument, changes: readonly vscode.TextDocumentContentChangeEvent[]): void {
    const counts = this.countsOf(document);
    for (const { range, text } of changes) counts?.edit(range.start.line + 1, range.end.line + 1, text.split("\n").length - 1);
    if (!this.isSource || settings(this.file).get("compile") !== "type" || this.named(document).length === 0) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.compile(document), REST);
  }

  saved(document: vscode.TextDocument): void {
    if (this.isSource && this.named(document).length > 0) void this.compile(document);
  }

  /** Compiles a text as it is now; a compile that runs is given up. */
  private async compile(document: vscode.TextDocument): Promise<void> {
    const { server } = this;
    const named = this.named(document);
    const text = document.getText();
    if (server === null || named.length === 0) return;
    this.compiling?.abort();
    const compiling = new AbortController();
    this.compiling = compiling;
    const [first] = named;
    const edited = { path: first.paths.find((path) => isSameFile(document.uri.fsPath, path)) ?? first.paths[0], text, program: first.id };
    const configurations = named.slice(0, 16).map(({ device, toolchain, options }) => ({ device: device ?? this.build.device, toolchain: toolchain ?? this.build.toolchain, options: options ?? "" }));
    try {
      const progress = { location: vscode.ProgressLocation.Window, title: `kernlens compiles ${this.name}` };
      const result = await vscode.window.withProgress(progress, () => compile(server, this.id, ++this.serial, edited, configurations, compiling.signal));
      if (result === null || compiling.signal.aborted) return;
      // The server keeps what it compiled: the viewer gets it at once.
      this.page?.text(edited.path, text);
      const diagnostics = result.ok || result.diagnostics.length > 0 ? result.diagnostics : [{ path: "", line: 0, column: 0, severity: "error", message: result.reason ?? "It does not compile." }];
      await this.mark(diagnostics);
      if (!result.ok) return;
      this.programs = result.programs;
      await Promise.all(vscode.workspace.textDocuments.map((each) => this.count(each)));
    } catch (problem) {
      if (!compiling.signal.aborted) void vscode.window.showWarningMessage(`kernlens: ${wordsOf(problem)}`);
    }
  }

  // --- the editor and the viewer follow each other

  private last = "";

  /** Shows a line in the viewer. */
  show(document: vscode.TextDocument, line: number, kernels?: string[]): void {
    const path = this.named(document)[0]?.paths.find((each) => isSameFile(document.uri.fsPath, each));
    const counts = this.countsOf(document)?.at(line) ?? [];
    if (path === undefined || counts.length === 0) return;
    this.last = `${document.uri.fsPath}:${line}`;
    this.page?.show({ path, line: counts[0].line, kernels: kernels ?? counts.map(({ kernel }) => kernel) });
  }

  private going = Promise.resolve();

  /** Follows the viewer, one line after the other. */
  private follow(path: string, line: number): void {
    this.going = this.going.then(() => this.goTo(path, line)).catch((problem) => this.around.output.appendLine(wordsOf(problem)));
  }

  /** Shows a line of the viewer in an editor, if its file is of the workspace, or beside what is served. */
  private async goTo(path: string, line: number): Promise<void> {
    const file = await this.find(path);
    if (file === null) return;
    if (this.last === `${file.fsPath}:${line}`) return;
    const document = await vscode.workspace.openTextDocument(file);
    const isThere = vscode.window.visibleTextEditors.find((editor) => editor.document === document);
    const column = isThere?.viewColumn ?? (this.panel.viewColumn === vscode.ViewColumn.One ? vscode.ViewColumn.Beside : vscode.ViewColumn.One);
    const at = new vscode.Position(Math.min(Math.max(line, 1), document.lineCount) - 1, 0);
    this.last = `${file.fsPath}:${line}`;
    const editor = await vscode.window.showTextDocument(document, { viewColumn: column, preserveFocus: true, selection: new vscode.Range(at, at) });
    editor.revealRange(new vscode.Range(at, at), vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  /** The file that a program calls `path`; null if it is none that the user has opened kernlens for. */
  private async find(path: string): Promise<vscode.Uri | null> {
    const folders = (vscode.workspace.workspaceFolders ?? []).map(({ uri }) => uri.fsPath);
    for (const file of candidates(path, this.file.fsPath, folders)) {
      const uri = vscode.Uri.file(file);
      try {
        if ((await vscode.workspace.fs.stat(uri)).type & vscode.FileType.File) return uri;
      } catch {
        // The next may be there.
      }
    }
    return null;
  }

  // --- what goes wrong

  private async failed(problem: unknown): Promise<void> {
    this.stop();
    this.panel.webview.html = sentence(wordsOf(problem));
    await this.offer(`kernlens cannot open ${this.name}.`, problem, "Try Again");
  }

  private async ended(reason: string): Promise<void> {
    this.server = null;
    await this.offer(`The server of ${this.name} has ended; what is shown stays.`, reason, "Start Again");
  }

  private async offer(what: string, problem: unknown, again: string): Promise<void> {
    if ((await offer(this.around.output, what, problem, again)) && !this.isClosed) await this.start();
  }
}

function shown({ line, column, severity, message }: Diagnostic): vscode.Diagnostic {
  const at = new vscode.Position(Math.max(line, 1) - 1, Math.max(column, 1) - 1);
  // An empty range: VS Code marks the word there.
  const problem = new vscode.Diagnostic(new vscode.Range(at, at), message, SEVERITIES.get(severity) ?? vscode.DiagnosticSeverity.Information);
  problem.source = "kernlens";
  return problem;
}

const SEVERITIES = new Map([
  ["error", vscode.DiagnosticSeverity.Error],
  ["warning", vscode.DiagnosticSeverity.Warning],
]);

/** A page that holds a sentence. */
function sentence(words: string): string {
  const escaped = words.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
  return `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="default-src 'none'"><p>${escaped}</p>`;
}
