import type { Kernel } from "./document/kernel";
import type { Index, ProgramInfo } from "./document/schema";
import type { Source } from "./document/source";
import type { Dialog } from "./frame/dialog";
import type { Entry } from "./frame/kernels";
import type { Layout } from "./frame/layout";
import type { Status } from "./frame/status";
import type { SourcePane } from "./panes/source";
import type { How, State } from "./state";

/** The page as its parts know it: what is shown and chosen, and what they ask of it. `App` (app.ts) is the page. */
export interface Page {
  readonly root: ShadowRoot;
  /** The app's element; its classes say what the page is busy with (`editing`, `viewing`, `stale`). */
  readonly element: HTMLElement;
  readonly source: Source;
  readonly layout: Layout;
  readonly status: Status;
  readonly dialog: Dialog;
  /** Null where no server compiles in place. */
  readonly compiler: Compiler | null;
  readonly index: Index | null;
  /** The kernel that is shown. */
  readonly kernel: Kernel | null;
  readonly state: State;
  /** What stands above the figures of the source. */
  readonly heading: [value: string, share: string];
  tell(sentence: string): void;
  /** Changes what is chosen, and the address with it. */
  go(change: Partial<State>, how: How): void;
  /** Shows a kernel. */
  open(entry: Entry, how?: How): Promise<void>;
  /** A kernel of the document, read once. */
  load(entry: Entry): Promise<Kernel>;
  /** Takes another index over, with what was compiled here. */
  adopt(index: Index): void;
  /** The source pane with this file in it, null where there is none. */
  file(path: string): Promise<SourcePane | null>;
  /** The step of heat or the hue of a source line, and the figures beside it, in the colours that are chosen. */
  shade(key: number): number;
  figure(key: number): { value: string; share: string };
  /** Looks again in panes that were made anew. */
  findAgain(): void;
  /** Editing has begun or ended: the build bar and the heads of the panes say so. */
  showEditing(): void;
}

/** What edits a source and compiles it in place, as far as others ask it (editing/editing.ts). */
export interface Compiler {
  /** Whether a program is the one that is edited, or came of a compile of it. */
  hasMade(program: ProgramInfo): boolean;
  /** The path of the text that is edited, in the programs that it is of. */
  pathOf(program: ProgramInfo): string | null;
  /** The editor, where it is what this file of the program is shown in. */
  paneOf(program: ProgramInfo, path: string): SourcePane | null;
  /** Tells the editor whether what is shown is of its text. */
  freshen(): void;
  /** The panel that tries build options on a kernel's source; null if there is no text of it. */
  trials(kernel: Kernel): HTMLElement | null;
  /** Whether there is a text of a program that can be compiled. */
  canTry(program: ProgramInfo): boolean;
  /** Compiles the source in sight as it was compiled, with its stages. */
  again(): void;
  /** Compiles again, and keeps what each pass changed. */
  allPasses(): void;
}
