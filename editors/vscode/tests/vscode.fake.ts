import { vi } from "vitest";

/**
 * A FAKE of the part of VS Code's API that the extension calls, for tests without VS Code: it keeps what it is told, and draws nothing.
 * tests/browser/vscode.py tries the extension in a real host.
 */

type Listener<Event> = (event: Event) => unknown;

export class EventEmitter<Event> {
  private readonly listeners = new Set<Listener<Event>>();
  readonly event = (listener: Listener<Event>): { dispose(): void } => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(event: Event): void {
    for (const listener of [...this.listeners]) listener(event);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}
  static file = (path: string): Uri => new Uri("file", path);
  static parse = (text: string): Uri => new Uri(...(text.split("://", 2) as [string, string]));
  get fsPath(): string {
    return this.path;
  }
  toString(): string {
    return `${this.scheme}://${this.path}`;
  }
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  constructor(
    readonly start: Position,
    readonly end: Position,
  ) {}
}

export class Diagnostic {
  source = "";
  constructor(
    readonly range: Range,
    readonly message: string,
    readonly severity: number,
  ) {}
}

export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: { title: string; command: string; arguments: unknown[] },
  ) {}
}

export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const ViewColumn = { Active: -1, Beside: -2, One: 1, Two: 2 };
export const ProgressLocation = { Window: 10 };
export const FileType = { File: 1, Directory: 2 };
export const TextEditorRevealType = { InCenterIfOutsideViewport: 2 };
export const TextEditorSelectionChangeKind = { Keyboard: 1, Mouse: 2, Command: 3 };

/** A text in an editor. */
export class TextDocument {
  isDirty = false;
  constructor(
    readonly uri: Uri,
    private text: string,
  ) {}
  getText(): string {
    return this.text;
  }
  get lineCount(): number {
    return this.text.split("\n").length;
  }
  lineAt(line: number): { range: Range } {
    return { range: new Range(new Position(line, 0), new Position(line, this.text.split("\n")[line].length)) };
  }
  /** Another text in place of some lines, as VS Code tells it. */
  replace(first: number, last: number, text: string): void {
    const lines = this.text.split("\n");
    const range = new Range(new Position(first, 0), new Position(last, lines[last].length));
    lines.splice(first, last - first + 1, ...text.split("\n"));
    this.text = lines.join("\n");
    this.isDirty = true;
    events.change.fire({ document: this, contentChanges: [{ range, text }] });
  }
  save(): void {
    this.isDirty = false;
    events.save.fire(this);
  }
}

/** A panel, with what was posted to its page. */
export class Panel {
  readonly posted: { kind: string; id: number; [word: string]: unknown }[] = [];
  readonly heard = new EventEmitter<unknown>();
  private readonly disposed = new EventEmitter<void>();
  viewColumn = ViewColumn.Two;
  reveal = vi.fn();
  onDidDispose = this.disposed.event;
  readonly webview = {
    html: "",
    options: {},
    onDidReceiveMessage: this.heard.event,
    postMessage: (message: Panel["posted"][number]): Promise<boolean> => {
      this.posted.push(message);
      return Promise.resolve(true);
    },
  };
  dispose(): void {
    this.disposed.fire();
  }
}

const events = {
  change: new EventEmitter<unknown>(),
  save: new EventEmitter<TextDocument>(),
  open: new EventEmitter<TextDocument>(),
  select: new EventEmitter<unknown>(),
};

/** What tests set and look at. */
export const state = {
  settings: {} as Record<string, unknown>,
  commands: new Map<string, (...words: unknown[]) => unknown>(),
  panels: [] as Panel[],
  problems: new Map<string, Diagnostic[]>(),
  messages: [] as string[],
  /** The button that is pressed on the next message, and what is picked from the next lists. */
  button: undefined as string | undefined,
  picks: [] as (string | undefined)[],
  events,
  lenses: null as { provideCodeLenses(document: TextDocument): CodeLens[] } | null,
  editors: new Map<string, { resolveCustomEditor(document: { uri: Uri }, panel: Panel): Promise<void> }>(),
};

export const workspace = {
  textDocuments: [] as TextDocument[],
  workspaceFolders: [] as { uri: Uri }[],
  getWorkspaceFolder: () => workspace.workspaceFolders[0],
  getConfiguration: () => ({ get: (key: string, otherwise: unknown) => state.settings[key] ?? otherwise }),
  onDidChangeTextDocument: events.change.event,
  onDidSaveTextDocument: events.save.event,
  onDidOpenTextDocument: events.open.event,
  fs: { stat: async (uri: Uri) => ({ type: (await (await import("node:fs/promises")).stat(uri.path)).isFile() ? 1 : 2 }) },
  openTextDocument: async (uri: Uri) => workspace.textDocuments.find((each) => each.uri.path === uri.path) ?? new TextDocument(uri, ""),
};

const tell = async (message: string): Promise<string | undefined> => {
  state.messages.push(message);
  const { button } = state;
  state.button = undefined;
  return button;
};

export const window = {
  activeTextEditor: undefined as unknown,
  visibleTextEditors: [],
  createOutputChannel: () => ({ append: () => {}, appendLine: () => {}, show: () => {}, dispose: () => {} }),
  createWebviewPanel: () => {
    const panel = new Panel();
    state.panels.push(panel);
    return panel;
  },
  registerCustomEditorProvider: (type: string, provider: never) => {
    state.editors.set(type, provider);
    return { dispose: () => {} };
  },
  onDidChangeTextEditorSelection: events.select.event,
  showErrorMessage: tell,
  showWarningMessage: tell,
  showInformationMessage: tell,
  showQuickPick: async (items: { label: string }[]) => {
    const label = state.picks.shift();
    return items.find((item) => item.label === label);
  },
  showInputBox: async () => state.picks.shift(),
  showTextDocument: vi.fn(async () => ({ revealRange: () => {} })),
  withProgress: (_: unknown, work: () => unknown) => work(),
};

export const commands = {
  registerCommand: (name: string, run: (...words: unknown[]) => unknown) => {
    state.commands.set(name, run);
    return { dispose: () => {} };
  },
  executeCommand: vi.fn(async () => {}),
};

export const languages = {
  registerCodeLensProvider: (_: unknown, provider: never) => {
    state.lenses = provider;
    return { dispose: () => {} };
  },
  createDiagnosticCollection: () => ({
    set: (uri: Uri, problems: Diagnostic[]) => state.problems.set(uri.path, problems),
    clear: () => state.problems.clear(),
    dispose: () => state.problems.clear(),
  }),
};
