import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { askBuild } from "./choices";
import { sentences } from "./counts";
import { Session, type Surroundings } from "./session";
import { type Build, buildOf } from "./settings";

/** What is compiled; all else holds kernels already. */
const SOURCE = /\.(cl|clcpp|spv)$/i;

/** Registers all that the manifest (package.json) names. */
export function activate(context: vscode.ExtensionContext): void {
  new Extension(context);
}

class Extension implements vscode.CodeLensProvider {
  private readonly sessions = new Set<Session>();
  private readonly output = vscode.window.createOutputChannel("kernlens");
  private readonly lenses = new vscode.EventEmitter<void>();
  private readonly around: Surroundings;
  readonly onDidChangeCodeLenses = this.lenses.event;

  constructor(private readonly context: vscode.ExtensionContext) {
    const bridge = readFileSync(join(context.extensionPath, "dist", "bridge.js"), "utf8");
    this.around = { bridge, output: this.output, changed: () => this.lenses.fire() };
    const { commands, window, workspace, languages } = vscode;
    const options = { webviewOptions: { retainContextWhenHidden: true } };
    context.subscriptions.push(
      this.output,
      this.lenses,
      { dispose: () => this.sessions.forEach((session) => session.dispose()) },
      commands.registerCommand("kernlens.open", (file?: vscode.Uri) => this.open(file ?? current())),
      commands.registerCommand("kernlens.compileWith", (file?: vscode.Uri) => this.compileWith(file ?? current())),
      commands.registerCommand("kernlens.show", (file: vscode.Uri, line: number, kernel: string) => this.show(file, line, kernel)),
      ...["kernlens.recording", "kernlens.binary"].map((type) => window.registerCustomEditorProvider(type, new Viewer((file, panel) => this.adopt(file, panel)), options)),
      languages.registerCodeLensProvider({ scheme: "file" }, this),
      workspace.onDidChangeTextDocument(({ document, contentChanges }) => this.sessions.forEach((session) => session.changed(document, contentChanges))),
      workspace.onDidSaveTextDocument((document) => this.sessions.forEach((session) => session.saved(document))),
      workspace.onDidOpenTextDocument((document) => this.sessions.forEach((session) => void session.count(document))),
      window.onDidChangeTextEditorSelection(({ textEditor, kind, selections }) => {
        // What the extension selects itself has no kind.
        if (kind === vscode.TextEditorSelectionChangeKind.Mouse || kind === vscode.TextEditorSelectionChangeKind.Keyboard) {
          this.sessionOf(textEditor.document)?.show(textEditor.document, selections[0].active.line + 1);
        }
      }),
    );
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const counts = this.sessionOf(document)?.countsOf(document);
    if (counts === undefined) return [];
    return [...counts.lines].flatMap((line) => {
      if (line > document.lineCount) return [];
      const range = document.lineAt(line - 1).range;
      return sentences(counts.at(line)).map(({ words, count }) => new vscode.CodeLens(range, { title: words, command: "kernlens.show", arguments: [document.uri, line, count.kernel] }));
    });
  }

  /** The session whose figures a text shows: the newest. */
  private sessionOf(document: vscode.TextDocument): Session | undefined {
    return [...this.sessions].reverse().find((session) => session.countsOf(document) !== undefined);
  }

  private show(file: vscode.Uri, line: number, kernel: string): void {
    const document = vscode.workspace.textDocuments.find(({ uri }) => uri.toString() === file.toString());
    const session = document && this.sessionOf(document);
    if (document === undefined || session === undefined) return;
    session.panel.reveal(undefined, true);
    session.show(document, line, [kernel]);
  }

  /** Opens a file beside its editor, or brings it into sight. */
  private async open(file: vscode.Uri | undefined, build?: Build): Promise<void> {
    if (file === undefined) return void vscode.window.showInformationMessage("Open a source, a binary or a recording first.");
    if (file.scheme !== "file") return void vscode.window.showErrorMessage(`kernlens reads files of this machine, and ${file.toString()} is none.`);
    const session = this.of(file);
    if (session !== undefined && build === undefined) return session.panel.reveal(undefined, true);
    const chosen = build ?? (await this.buildFor(file));
    if (chosen === null) return;
    if (session !== undefined) {
      session.build = chosen;
      session.panel.reveal(undefined, true);
      return session.start();
    }
    const column = vscode.window.activeTextEditor?.document.uri.toString() === file.toString() ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
    const panel = vscode.window.createWebviewPanel("kernlens", file.path.slice(file.path.lastIndexOf("/") + 1), { viewColumn: column, preserveFocus: true }, { enableScripts: true, retainContextWhenHidden: true });
    await this.begin(file, panel, chosen);
  }

  /** A custom editor's panel. */
  private async adopt(file: vscode.Uri, panel: vscode.WebviewPanel): Promise<void> {
    const chosen = await this.buildFor(file);
    if (chosen === null) return panel.dispose();
    // VS Code shows the panel when this is done: what is slow comes after.
    void this.begin(file, panel, chosen);
  }

  private begin(file: vscode.Uri, panel: vscode.WebviewPanel, build: Build): Promise<void> {
    const session = new Session(file, panel, build, this.around);
    this.sessions.add(session);
    panel.onDidDispose(() => this.sessions.delete(session));
    return session.start();
  }

  private async compileWith(file: vscode.Uri | undefined): Promise<void> {
    if (file === undefined || !SOURCE.test(file.path)) return void vscode.window.showInformationMessage("Open an OpenCL source first.");
    const chosen = await askBuild(file, this.lastBuild(file), this.output);
    if (chosen === null) return;
    await this.context.workspaceState.update(keyOf(file), chosen);
    await this.open(file, chosen);
  }

  /** How a file is compiled; null if the user does not say it. */
  private async buildFor(file: vscode.Uri): Promise<Build | null> {
    if (!SOURCE.test(file.path)) return { device: "", toolchain: "", options: "" };
    const last = this.lastBuild(file);
    if (last.device !== "") return last;
    const chosen = await askBuild(file, last, this.output, true);
    if (chosen !== null) await this.context.workspaceState.update(keyOf(file), chosen);
    return chosen;
  }

  /** As the file was compiled last, or as the settings say. */
  private lastBuild(file: vscode.Uri): Build {
    return this.context.workspaceState.get<Build>(keyOf(file)) ?? buildOf(file);
  }

  private of(file: vscode.Uri): Session | undefined {
    return [...this.sessions].find((session) => session.file.toString() === file.toString());
  }
}

/** A recording or a binary as an editor of its own. */
class Viewer implements vscode.CustomReadonlyEditorProvider {
  constructor(private readonly adopt: (file: vscode.Uri, panel: vscode.WebviewPanel) => Promise<void>) {}

  openCustomDocument(uri: vscode.Uri): vscode.CustomDocument {
    return { uri, dispose: () => {} };
  }

  resolveCustomEditor(document: vscode.CustomDocument, panel: vscode.WebviewPanel): Promise<void> {
    return this.adopt(document.uri, panel);
  }
}

function current(): vscode.Uri | undefined {
  return vscode.window.activeTextEditor?.document.uri;
}

function keyOf(file: vscode.Uri): string {
  return `build ${file.toString()}`;
}
