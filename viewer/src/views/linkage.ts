import type { HttpSource } from "../document/http";
import { DocumentError, ServerGone } from "../document/source";
import { fill, h, hex, plural } from "../dom";
import { failure, nothing } from "../frame/message";
import type { Page } from "../page";
import { table, type View } from "./view";

/** The answer of `kernlens link --json` (docs/json.md), as far as it is shown. */
interface LinkAnswer {
  driver: string;
  links: boolean | null;
  words: string;
  code_name: string | null;
  crash: boolean | string | null;
  obstacles: string[];
  notes: string[];
  modules: { name: string; format: string; device: string | null; linked: boolean }[];
  edges: { importer: number; provider: number; symbol: string }[];
  unresolved: { symbol: string; module: number; advice: string; uses: { holder: string; offset: number | null; path: string | null; line: number | null }[] }[];
  duplicates: { symbol: string; modules: number[] }[];
  mismatches: { symbol: string; importer: number; provider: number; "wanted": string; "given": string }[];
  clashes: { symbol: string; importer: number; provider: number; holder: string }[];
  cycles: number[][];
  log: string[] | null;
}

type Cell = "gives" | "gets" | "lacks" | "twice";
const WORDS: Record<Cell, string> = { gives: "◆ gives", gets: "← gets", lacks: "✗ lacks", twice: "◆◆ gives too" };

/** Which module gives which symbol to which, and what nobody gives. */
export class LinkageView implements View {
  readonly name = "linkage";
  readonly title = "Linkage";
  readonly hint = "Which module gives which symbol to which";
  readonly element = h("div", { class: "linkage" });
  private read: Promise<LinkAnswer> | null = null;

  constructor(
    private readonly page: Page,
    private readonly source: HttpSource,
  ) {}

  show(): void {
    if (this.read !== null) return;
    fill(this.element, h("p", { class: "dim waiting" }, "reading the modules"));
    this.read = this.source.json("/api/link") as Promise<LinkAnswer>;
    this.read.then(
      (answer) => this.draw(answer),
      (problem: unknown) => {
        this.read = null;
        const isRefused = problem instanceof DocumentError && !(problem instanceof ServerGone);
        fill(this.element, isRefused ? nothing(`${problem.message}.`, problem.next) : h("div", { class: "message" }, ...failure(problem, () => this.show())));
      },
    );
  }

  private draw(answer: LinkAnswer): void {
    const verdict = answer.links === null ? "whether they link is not known" : answer.links ? "they link" : "they do not link";
    const parts: HTMLElement[] = [h("h2", { class: answer.links === false ? "warn" : null }, `${plural(answer.modules.length, "module")}, ${verdict}`), h("p", {}, answer.words), h("p", { class: "dim" }, `as the driver ${answer.driver} does it`)];
    for (const sentence of [...answer.obstacles, ...answer.notes]) parts.push(h("p", { class: "warn" }, sentence));
    parts.push(this.grid(answer));
    if (answer.unresolved.length > 0) parts.push(h("h3", { class: "warn" }, "Nobody gives"), h("ul", {}, ...answer.unresolved.map((each) => unresolved(each, answer))));
    for (const { symbol, importer, provider, "wanted": declared, "given": defined } of answer.mismatches)
      parts.push(h("p", { class: "warn" }, h("code", {}, symbol), `: ${name(answer, importer)} wants ${declared}, ${name(answer, provider)} has ${defined}`));
    for (const { symbol, importer, provider, holder } of answer.clashes)
      parts.push(h("p", { class: "warn" }, h("code", {}, holder), ` of ${name(answer, importer)} calls `, h("code", {}, symbol), ` of ${name(answer, provider)}, which is compiled for other registers or sub-groups`));
    for (const cycle of answer.cycles) parts.push(h("p", {}, `In a circle: ${cycle.map((module) => name(answer, module)).join(", ")}`));
    if (answer.log !== null && answer.log.length > 0) parts.push(h("h3", {}, "What the driver will say"), h("pre", { class: "log", tabindex: "0" }, answer.log.join("\n")));
    fill(this.element, ...parts);
    this.page.status.say(verdict, 0);
  }

  /** Modules are columns, symbols rows. */
  private grid(answer: LinkAnswer): HTMLElement {
    const cells = new Map<string, Map<number, Cell>>();
    const at = (symbol: string): Map<number, Cell> => {
      const known = cells.get(symbol) ?? new Map<number, Cell>();
      cells.set(symbol, known);
      return known;
    };
    for (const { symbol, importer, provider } of answer.edges) at(symbol).set(importer, "gets").set(provider, "gives");
    for (const { symbol, modules } of answer.duplicates) modules.forEach((module, index) => at(symbol).set(module, index === 0 ? "gives" : "twice"));
    for (const { symbol, module } of answer.unresolved) at(symbol).set(module, "lacks");
    if (cells.size === 0) return nothing("The modules share no symbols: neither gives another anything.");
    const rows = [...cells].sort(([left], [right]) => (left < right ? -1 : 1)).map(([symbol, of]) =>
      h(
        "tr",
        {},
        h("th", { scope: "row", class: "mono" }, symbol),
        ...answer.modules.map((_, module) => {
          const cell = of.get(module);
          return h("td", { class: cell ?? null }, cell === undefined ? "" : WORDS[cell]);
        }),
      ),
    );
    return table("Symbols and modules", ["symbol", ...answer.modules.map(({ name: title, device }) => (device === null ? title : `${title} (${device})`))], rows);
  }
}

function name(answer: LinkAnswer, module: number): string {
  return answer.modules[module]?.name ?? "?";
}

function unresolved({ symbol, module, advice, uses }: LinkAnswer["unresolved"][number], answer: LinkAnswer): HTMLElement {
  const sites = uses.slice(0, 4).map(({ holder, offset, path, line }) => `${holder}${offset === null ? "" : ` at ${hex(offset)}`}${path === null ? "" : ` (${path}:${line ?? "?"})`}`);
  if (uses.length > 4) sites.push(`${uses.length - 4} more`);
  return h("li", {}, h("code", {}, symbol), `, needed by ${name(answer, module)} in ${sites.join(", ")}`, h("p", { class: "dim" }, advice));
}
