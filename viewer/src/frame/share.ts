import { HttpSource } from "../document/http";
import type { Kernel } from "../document/kernel";
import { sentenceOf, type Source } from "../document/source";
import { copyText, fill, h } from "../dom";
import { type State, toFragment } from "../state";

/** What the share menu knows of the page. */
export interface Shared {
  readonly source: Source;
  readonly state: State;
  readonly kernel: Kernel | null;
  tell(sentence: string): void;
  /** What no link holds because it would be too long, in a sentence; null: nothing. */
  readonly leftOut: string | null;
  /** The kernels that are seen: the one that is shown, its versions, and those that are compared. */
  readonly seen: SeenProgram[];
  /** The place that a report of them begins at. */
  readonly begin: State;
  print(): void;
}

/** Kernels of a program, by their names. */
export interface SeenProgram {
  id: string;
  kernels: string[];
  /** What it is called among its versions. */
  version?: string;
}

/** The button in the header and the menu that it opens: links, a report of what is seen, a summary on paper. */
export class Share {
  readonly button = h("button", { class: "tool", type: "button", "aria-haspopup": "dialog", "aria-expanded": "false", onclick: () => this.open() }, "Share");
  readonly element = h("dialog", { class: "pop share", "aria-label": "Share" });
  private readonly size = h("em", {});
  /** What a link leaves out now. */
  private readonly lacks = h("strong", { class: "lacks warn" });
  private asking: AbortController | null = null;

  constructor(private readonly page: Shared) {
    const { source } = page;
    const items = [item("Copy link", this.withKey(), [...this.words(), this.lacks], () => this.copyLink())];
    if (source instanceof HttpSource) {
      const secret = [h("strong", { class: "warn" }, "Secret."), " Holds this server's token: whoever has it may read and compile as you. For your own tabs."];
      items.push(item("Copy link with access", null, secret, () => this.copyAccess(source)));
      items.push(item("Save as report", this.size, ["One HTML file of what is seen, with its versions and the comparison. It needs no server."], () => void this.save(source)));
    }
    items.push(item("Print summary", null, ["Two pages: figures with the costliest lines, and the code of the pinned line."], () => page.print()));
    this.element.append(...items);
    for (const button of items) button.addEventListener("click", () => this.element.close());
    // A click beside the menu closes it; the browser gives the focus back.
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
    this.element.addEventListener("keydown", (event) => this.move(event));
    window.addEventListener("resize", () => this.element.open && this.place());
    this.element.addEventListener("close", () => {
      this.button.setAttribute("aria-expanded", "false");
      this.asking?.abort();
    });
  }

  copyLink(): void {
    const { source, state } = this.page;
    const fragment = toFragment(state);
    const link = source instanceof HttpSource ? source.address(fragment, false) : location.href.replace(/#.*$/s, "") + fragment;
    void copyText(link, (sentence) => this.page.tell(sentence === "Copied." ? `Copied the link to what is shown.${this.but()}` : sentence));
  }

  private copyAccess(source: HttpSource): void {
    const link = source.address(toFragment(this.page.state), true);
    void copyText(link, (sentence) => this.page.tell(sentence === "Copied." ? `Copied, with this server's secret: whoever opens the link may read and compile as you, until the server ends.${this.but()}` : sentence));
  }

  private but(): string {
    const { leftOut } = this.page;
    return leftOut === null ? "" : ` ${leftOut}`;
  }

  private withKey(): HTMLElement {
    return h("em", {}, h("kbd", {}, "⇧C"));
  }

  private words(): string[] {
    const { source } = this.page;
    if (!(source instanceof HttpSource)) return ["Kernel, pinned line, view and comparison. It leads to this file."];
    return ["Kernel, pinned line, view, edits and comparison. It works on this machine while the server runs; a browser without access asks for the token once. "];
  }

  private open(): void {
    fill(this.lacks, this.page.leftOut ?? "");
    this.element.showModal();
    this.place();
    this.button.setAttribute("aria-expanded", "true");
    const { source } = this.page;
    if (source instanceof HttpSource) void this.weigh(source);
  }

  /** Puts the menu under the button's end, as far as the page is wide enough. */
  private place(): void {
    const { bottom, right } = this.button.getBoundingClientRect();
    this.element.style.top = `${Math.round(bottom + 6)}px`;
    this.element.style.right = `${Math.max(8, Math.min(Math.round(innerWidth - right), innerWidth - this.element.offsetWidth - 8))}px`;
  }

  /** Says how large the report is, before it is saved. */
  private async weigh(source: HttpSource): Promise<void> {
    this.asking = new AbortController();
    fill(this.size, "…");
    try {
      const { size } = (await (await source.post("/api/report", this.request(true), this.asking.signal)).json()) as { size: number };
      fill(this.size, sizeWords(size));
    } catch {
      fill(this.size, ""); // Whoever saves it hears why it cannot be.
    }
  }

  private async save(source: HttpSource): Promise<void> {
    this.page.tell("The report is being made.");
    try {
      const answer = await source.post("/api/report", this.request(false), new AbortController().signal);
      const blob = await answer.blob();
      const link = h("a", { download: this.fileName(), href: URL.createObjectURL(blob) });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
      this.page.tell(`${this.fileName()}, ${sizeWords(blob.size)}: your browser saves it.`);
    } catch (problem) {
      this.page.tell(sentenceOf(problem));
    }
  }

  private request(only_size: boolean): Record<string, unknown> {
    return { only_size, state: toFragment(this.page.begin), programs: this.page.seen };
  }

  private fileName(): string {
    return `${(this.page.kernel?.name ?? "kernlens").replace(/[^\w.-]+/g, "_").slice(0, 80)}.html`;
  }

  /** The arrow keys go from item to item. */
  private move(event: KeyboardEvent): void {
    const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const buttons = [...this.element.querySelectorAll("button")];
    const root = this.element.getRootNode() as ShadowRoot;
    const at = buttons.indexOf(root.activeElement as HTMLButtonElement);
    buttons[(at + by + buttons.length) % buttons.length].focus();
  }
}

function item(title: string, more: HTMLElement | null, words: (string | Node)[], act: () => void): HTMLButtonElement {
  return h("button", { class: "item", type: "button", onclick: act }, h("span", {}, title), more, h("small", {}, ...words));
}

function sizeWords(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}
