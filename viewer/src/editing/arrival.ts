import type { Choices, Configuration } from "../document/options";
import type { ProgramInfo } from "../document/schema";
import type { Page } from "../page";
import { SourcePane } from "../panes/source";
import type { Edit } from "./edit";
import { drawnEdits, type LinkedEdit } from "./linked";
import { mainFile } from "./trials";
import { configurationsIn, drawn, linkedProgram, type SharedText, sharedText } from "./shared_text";

/** What the page's edits do for a link. */
interface Edits {
  readonly choices: Choices | null;
  /** The edit of a program, null where it has no text. */
  begin(program: ProgramInfo): Promise<Edit | null>;
  /** The edit of what is shown. */
  begun(): Promise<Edit | null>;
  /** A file's text as it was read, null where it is not at hand. */
  textIn(program: ProgramInfo, path: string): Promise<string | null>;
  /** Shows a pane as the editor of an edit. */
  hold(edit: Edit, pane: SourcePane): void;
  /** Puts an edit's texts into the panes. */
  write(edit: Edit): void;
}

/** Takes over what a link says of edited texts, devices and options, and of versions that are compared. */
export class Arrival {
  /** Whether a link is still being taken over: what it compares may not be there yet. */
  isGoingOn = true;

  constructor(
    private readonly page: Page,
    private readonly edits: Edits,
  ) {}

  /** `more` is of the address. */
  async open({ w, z, e }: Record<string, string>): Promise<void> {
    if (w !== undefined) await this.take(w);
    else if (z !== undefined) await this.takeText(sharedText(z), e ?? "");
    else this.end();
  }

  /** What the link leads to is shown, or cannot be. */
  end(): void {
    if (!this.isGoingOn) return;
    this.isGoingOn = false;
    this.page.showView();
  }

  private async take(word: string): Promise<void> {
    const linked = await drawnEdits(word);
    if (linked === null) return void this.fail("The edited text in the link is damaged: what is shown is the recorded one.");
    const edits = await Promise.all(linked.map(async (each) => ({ each, edit: await this.takeEdit(each) })));
    const program = linkedProgram(word);
    if (edits.every(({ each }) => each.program !== program)) this.end();
    for (const { each, edit } of edits) {
      if (edit === null || each.program !== program) continue;
      const [path] = Object.keys(each.draft?.texts ?? {});
      const pane = path === undefined ? null : await this.page.file(path);
      if (pane !== null && pane.title === path) this.edits.hold(edit, pane);
      edit.load(each.draft, (configuration) => this.isHere(configuration));
      this.edits.write(edit);
    }
  }

  /** Takes over a file's text, as an editor around the page has it, and compiles it; true if it is a file of what is shown. */
  async takeFile(path: string, text: string): Promise<boolean> {
    const { page, edits } = this;
    const program = page.kernel?.program ?? page.index?.programs[0];
    if (program?.files.some((each) => each.path === path) !== true) return false;
    const [edit, read] = [await edits.begin(program), await edits.textIn(program, path)];
    if (edit === null || read === null) return false;
    edit.take(path, text, read, edit.draft.configuration);
    return true;
  }

  /** The edit with the versions of the link; null where its program or a file of it is not here. */
  private async takeEdit(linked: LinkedEdit): Promise<Edit | null> {
    const { draft, against, versions } = linked;
    const program = this.programOf(linked);
    const edit = program === undefined ? null : await this.edits.begin(program);
    if (program === undefined || edit === null) return this.fail("The link's edit is of a source that is not here: what is shown is the recorded one.");
    for (const path of new Set([...versions, ...(draft === null ? [] : [draft])].flatMap(({ texts }) => Object.keys(texts)))) {
      const read = await this.edits.textIn(program, path);
      if (read === null) return this.fail(`The link's edited text is of ${path}, which this program has no text of.`);
      if (!edit.versions.read.has(path)) edit.versions.read.set(path, read);
    }
    edit.adopt(linked.program, versions, against);
    return edit;
  }

  /** The program that an edit is of; where the server was started again, that of the same file and, if there are several, the same build. */
  private programOf({ program, path, built }: LinkedEdit): ProgramInfo | undefined {
    const programs = this.page.index?.programs ?? [];
    const alike = programs.filter((each) => mainFile(each)?.path === path);
    return programs.find(({ id }) => id === program) ?? alike.find(({ device, toolchain }) => device === built.device && toolchain === built.toolchain) ?? alike[0];
  }

  /** Takes over a link with the text of one file, or with another configuration, as they were made before links held versions. */
  private async takeText(shared: SharedText, configured: string): Promise<void> {
    const { page, edits } = this;
    const edit = await edits.begun();
    if (edit === null) return this.end();
    const linked = configurationsIn(configured)[0];
    const configuration = linked !== undefined && this.isHere(linked) ? linked : edit.draft.configuration;
    if (shared.word === "") return edit.configure(configuration);
    const text = await drawn(shared);
    if (text === null) return void this.fail("The edited text in the link is damaged: what is shown is the recorded one.");
    // A word alone is of the file that is shown first.
    const pane = shared.path === "" ? (page.layout.of("source")?.linked ?? null) : await page.file(shared.path);
    if (!(pane instanceof SourcePane) || (shared.path !== "" && pane.title !== shared.path)) return void this.fail(`The link's edited text is of ${shared.path}, which this kernel has no code of.`);
    edits.hold(edit, pane);
    const { read } = pane;
    pane.setText(text);
    edit.take(pane.title, text, read, configuration);
  }

  private isHere(linked: Configuration): boolean {
    const isHere = this.edits.choices?.devices.find(({ name }) => name === linked.device)?.toolchains.includes(linked.toolchain) === true;
    if (!isHere) this.page.tell("No compiler here is for the device and toolchain of the link.");
    return isHere;
  }

  private fail(sentence: string): null {
    this.page.tell(sentence);
    this.end();
    return null;
  }
}
