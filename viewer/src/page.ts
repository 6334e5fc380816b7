import type { Kernel } from "./document/kernel";
import type { Choices, Configuration } from "./document/options";
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
  /** The programs of the list, as they were read or in the version that is shown. */
  readonly listed: readonly ProgramInfo[];
  /** The kernel that is shown. */
  readonly kernel: Kernel | null;
  readonly state: State;
  /** What stands above the figures of the source. */
  readonly heading: [value: string, share: string];
  /** Keys of the shown kernel's lines from the heaviest down, in the colours that are chosen. */
  readonly ranking: number[];
  tell(sentence: string): void;
  /** Changes what is chosen, and the address with it. */
  go(change: Partial<State>, how: How): void;
  /** Shows a kernel. */
  open(entry: Entry, how?: How): Promise<void>;
  /** A kernel of the document, read once. */
  load(entry: Entry): Promise<Kernel>;
  /** Shows a program that has no kernel. */
  openProgram(program: ProgramInfo): void;
  /** Pins the line of a pane's cursor. */
  pin(pane: SourcePane): void;
  /** Takes another index over, with all that was compiled here; `listed` are the programs that are in the list of kernels. */
  adopt(index: Index, listed: ProgramInfo[]): void;
  /** The source pane with this file in it, null where there is none. */
  file(path: string): Promise<SourcePane | null>;
  /** The step of heat or the hue of a source line, and the figures beside it, in the colours that are chosen. */
  shade(key: number): number;
  figure(key: number): { value: string; share: string };
  /** The figures of a kernel's lines in the colours that are chosen, by key. */
  weightsOf(kernel: Kernel): ArrayLike<number>;
  /** Looks again in panes that were made anew. */
  findAgain(): void;
  /** The sides that are compared, as addresses name them; null where nothing is. */
  readonly compared: readonly [old: string, now: string] | null;
  /** Shows what stands in the place of the panes again: what it is made of has changed. */
  showView(): void;
  /** What is edited or compared is another: the bars and the heads of the panes say so. */
  showEditing(): void;
}

/** A kernel in another version; `kernel` is null until it is read. */
export interface Before {
  program: ProgramInfo;
  row: number;
  kernel: Kernel | null;
  name: string;
}

/** A text and a configuration that were compiled; `outcome` is null until that is done again after a reload. */
export interface KernelVersion {
  readonly number: number;
  /** The number of the version that it was made from; 0 for the first. */
  readonly from: number;
  readonly name: string;
  readonly outcome: { readonly program: ProgramInfo | null } | null;
}

/** What a program can be compiled for, and for what it is compiled, or what is nearest to that here. */
export interface Offers {
  choices: Choices;
  like: Configuration;
}

/** What came of a compile beside what is shown: its programs, or why there are none. */
export interface Built {
  configuration: Configuration;
  index: Index | null;
  reason: string | null;
}

/** What edits a source and compiles it in place, as far as others ask it (editing/editing.ts). */
export interface Compiler {
  /** Whether a program is the one that is edited, or came of a compile of it. */
  hasMade(program: ProgramInfo): boolean;
  /** The path of the text that is edited, in the programs that it is of. */
  pathOf(program: ProgramInfo): string | null;
  /** The editor, where it is what this file of the program is shown in. */
  paneOf(program: ProgramInfo, path: string): SourcePane | null;
  /** Panes were made anew, or are of other programs. */
  freshen(): void;
  /** Another kernel was chosen and is on its way; null: it is there. The fields are its own, and locked as long as it is not there. */
  expect(entry: Entry | null): void;
  /** Says that what is on its way takes its time. */
  tellLoading(): void;
  /** The program that stands in the document for one that was edited, by their ids. */
  standsFor(id: string): string;
  /** The fields that say for what a program is compiled; null if it cannot be. */
  fieldsOf(program: ProgramInfo | null): HTMLElement | null;
  /** The compiler's errors in a file, of the version that is shown. */
  errorsIn(program: ProgramInfo, path: string): number;
  /** The kernel in the version that it is compared with; null if there is none. */
  before(program: ProgramInfo, row: number): Before | null;
  /** Which of how many versions is shown; null if there is only what was read. */
  versionOf(program: ProgramInfo): { number: number; of: number } | null;
  /** A program's versions, oldest first; empty if it was not edited. */
  versions(program: ProgramInfo): readonly KernelVersion[];
  /** The document of the compile that a program came of; null for one that was read. */
  documentOf(program: ProgramInfo): Index | null;
  /** Whether there is a text of the program, which can be compiled. */
  canTry(program: ProgramInfo): boolean;
  /** The program that was called so, here or where a link was made: it is compiled again where it is not there. */
  remade(id: string): ProgramInfo | "coming" | null;
  /** Takes over what the address says of edits. */
  arrive(more: Record<string, string>): Promise<void>;
  /** Whether what a link leads to, or a version that was not compiled here yet, is on its way. */
  readonly isComing: boolean;
  /** Puts what is edited and compared into the address. */
  share(): void;
  /** What the address leaves out because it would be too long; null: nothing. */
  readonly leftOut: string | null;
  /** Puts the cursor into the source. */
  start(): Promise<void>;
  /** Goes back to what was read. */
  revert(): void;
  /** Compiles what is shown again as it is, with its stages. */
  compile(isAgain: true): Promise<void>;
  /** The panel that tries build options on a kernel's source; null if there is no text of it. */
  trials(kernel: Kernel): HTMLElement | null;
  /** What else the program that is shown can be compiled for, and for what it is; null where nothing compiles it. */
  offers(program: ProgramInfo): Promise<Offers | null>;
  /** Compiles what is shown for something else: a version of it. */
  configure(change: Partial<Configuration>): Promise<void>;
  /** Compiles what is shown for each of these, beside its versions: what came of each as it comes. */
  builds(configurations: readonly Configuration[], signal: AbortSignal): AsyncIterable<Built>;
}
