import { readText } from "./document/read";
import type { Index, ProgramInfo } from "./document/schema";
import { readSearch, type SearchIndex } from "./document/search";
import { Kept, sentenceOf } from "./document/source";
import { findAll, searched, type Searched, SourceText, sourceChunks } from "./everywhere";
import { find } from "./finder";
import type { Entry } from "./frame/kernels";
import type { Navigator } from "./frame/navigator";
import { isWord, type Query } from "./frame/query";
import { SearchField } from "./frame/search";
import type { Links } from "./links";
import type { Page } from "./page";
import { CodePane } from "./panes/code";
import type { Linked } from "./panes/linked";

/** Characters of source text that are searched: more is not read. */
const MOST = 1 << 25;
const TOO_MUCH = "This expression takes long: not all was looked at. A text without re: is looked for everywhere.";
/** Documents whose words are kept: the one that was opened, and the newest versions compiled here. */
const MOST_VERSIONS = 64;
/** Source texts that are asked for at once. */
const AT_ONCE = 4;

/** The search: in the panes of the kernel that is shown, and in all kernels, which the list then shows alone. */
export class Searching {
  readonly field: SearchField;
  private query: Query | null = null;
  /** What all kernels were searched for, and which they were: of one that was compiled anew the version. */
  private sought: Query | null = null;
  private soughtIn: readonly ProgramInfo[] = [];
  private at = -1;
  private readonly words = new Kept<SearchIndex | null>(MOST_VERSIONS);
  private readonly texts = new Map<string, SourceText>();
  /** Characters of source text that may still be read. */
  private room = MOST;
  private turn = 0;

  constructor(
    private readonly page: Page & { readonly links: Links },
    private readonly list: Navigator,
    openList: () => void,
  ) {
    this.field = new SearchField({
      find: (query) => this.find(query),
      step: (by) => this.step(by),
      stepKernel: (by) => this.stepKernel(by),
      list: openList,
      leave: () => page.layout.of("code")?.linked?.pane.focus(),
    });
  }

  focus(): void {
    this.field.focus();
  }

  /** Looks again in panes that were made anew. */
  again(): void {
    if (this.query !== null) this.find(this.query);
  }

  private find(query: Query | null): void {
    const { page, field } = this;
    const { links, kernel } = page;
    this.query = query;
    this.at = -1;
    links.hits.clear();
    const panes = query === null || kernel === null ? [] : links.linkedPanes();
    let all = 0;
    if (query?.kind === "pattern") query.pattern.begin();
    for (const linked of panes) {
      const lines = find(kernel as NonNullable<typeof kernel>, linked, query as Query);
      links.hits.set(linked, lines);
      all += lines.length;
    }
    if (query !== null && kernel !== null) {
      field.tell(all === 0 ? "not in this kernel" : `${all}`);
      page.status.say(`${all} found`);
      if (query.kind === "pattern" && query.pattern.isOver) field.warn(TOO_MUCH);
    }
    field.showHere(panes.map((linked) => ({ title: linked.title, count: links.hits.get(linked)?.length ?? 0, unit: linked instanceof CodePane ? "instruction" : "line", go: () => this.stepIn(linked) })));
    for (const linked of links.linkedPanes()) linked.pane.mark(links.hits.get(linked) ?? null);
    links.mark(null);
    void this.findEverywhere(query);
  }

  /** All kernels, without reading them. */
  private async findEverywhere(query: Query | null): Promise<void> {
    const { index, listed } = this.page;
    if ((query === this.sought && (query === null || listed === this.soughtIn)) || index === null) return;
    this.sought = query;
    this.soughtIn = listed;
    const turn = ++this.turn;
    const tell = (hits: Map<string, number> | null): void => {
      const kernels = listed.reduce((sum, { kernels: { name } }) => sum + name.length, 0);
      this.list.filter(hits, query?.kind === "text" && !isWord(query) ? query.text : "");
      this.field.showEverywhere(hits === null ? null : { kernels: hits.size, all: kernels });
    };
    if (query === null) return tell(null);
    if (query.kind === "register") {
      tell(null);
      return this.field.showEverywhere("Registers are looked for in this kernel alone.");
    }
    const slow = window.setTimeout(() => turn === this.turn && this.field.showEverywhere("reading what kernels have…"), 150);
    try {
      const all = await this.wordsOf(listed);
      const texts = isWord(query) || query.kind === "opcode" || query.kind === "function" ? new Map<string, SourceText>() : await this.readTexts(listed);
      if (turn !== this.turn) return;
      performance.mark("kernlens: search");
      if (query.kind === "pattern") query.pattern.begin();
      tell(findAll(all, texts, query));
      if (query.kind === "pattern" && query.pattern.isOver) this.field.warn(TOO_MUCH);
      performance.measure("kernlens: searched", "kernlens: search");
    } catch (problem) {
      if (turn !== this.turn) return;
      this.sought = null;
      this.field.showEverywhere(sentenceOf(problem));
    } finally {
      clearTimeout(slow);
    }
  }

  /** What the programs of the list are found by: of a version that was compiled here what its own document says. */
  private async wordsOf(listed: readonly ProgramInfo[]): Promise<Searched[]> {
    const read = await this.page.source.index();
    const ids = new Set(read.programs.map(({ id }) => id));
    return Promise.all(
      listed.map(async (program) => {
        const document = ids.has(program.id) ? read : (this.page.compiler?.documentOf(program) ?? null);
        return document === null ? { program, words: null } : searched(program, document, await this.readWords(document));
      }),
    );
  }

  private async readWords(document: Index): Promise<SearchIndex | null> {
    const { search } = document;
    return search === null ? null : this.words.get(search, async () => readSearch(await this.page.source.chunk(search), document));
  }

  /** The texts of all source files, each read once. */
  private async readTexts(listed: readonly ProgramInfo[]): Promise<ReadonlyMap<string, SourceText>> {
    const chunks = sourceChunks({ programs: [...listed] }).filter((id) => !this.texts.has(id));
    const readNext = async (): Promise<void> => {
      for (let id = chunks.shift(); id !== undefined && this.room > 0; id = chunks.shift()) {
        const text = readText(await this.page.source.chunk(id));
        this.room -= text.length;
        this.texts.set(id, new SourceText(text));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, readNext));
    return this.texts;
  }

  /** To the next place in this kernel: none other is opened by it. */
  private step(by: number): void {
    const places = this.places();
    if (places.length === 0) return this.page.tell(this.query === null ? "Nothing is looked for." : "This kernel has none: Alt and an arrow go to the next kernel that has.");
    this.go(places, (this.at + by + places.length + (this.at < 0 && by < 0 ? 1 : 0)) % places.length);
  }

  /** To the first place in a pane. */
  private stepIn(linked: Linked): void {
    const places = this.places();
    const first = places.findIndex((place) => place.linked === linked);
    if (first >= 0) this.go(places, first);
  }

  private places(): { linked: Linked; line: number }[] {
    const { links } = this.page;
    return links.linkedPanes().flatMap((linked) => Array.from(links.hits.get(linked) ?? [], (line) => ({ linked, line })));
  }

  private go(places: { linked: Linked; line: number }[], to: number): void {
    const { layout, status } = this.page;
    this.at = to;
    const { linked, line } = places[to];
    const slot = layout.slotOf(linked);
    if (slot !== null) layout.bringToFront(slot);
    linked.reveal(line);
    linked.pane.show(line);
    this.field.tell(`${to + 1} of ${places.length}`);
    status.say(`${to + 1} of ${places.length}, in ${linked.title}`);
  }

  private stepKernel(by: number): void {
    const entry: Entry | null = this.query === null ? null : this.list.after(by);
    if (entry === null) return this.page.tell("No kernel of the list has this.");
    void this.page.open(entry);
  }
}
