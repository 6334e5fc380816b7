import { count, fill, h } from "../dom";

/** A version as the strip shows it. */
export interface ShownVersion {
  number: number;
  name: string;
  /** Its figure, and by how much that differs from the version that it is compared with; null where it is not known. */
  figure: number | null;
  change: { by: number; from: number; isApart: boolean } | null;
  errors: number;
  isCurrent: boolean;
  /** The others are compared with it. */
  isBase: boolean;
  /** What came of it on the kept launch; null if it did not run. */
  badge: Badge | null;
}

export interface Badge {
  words: string;
  kind: "equal" | "differs" | "unknown";
  title: string;
}

/** Versions that stand side by side; older ones are in a list. */
const SIDE_BY_SIDE = 6;

/** Above the source: the versions of the kernel, and what they are compared with. */
export class VersionStrip {
  readonly element = h("div", { class: "versions" });
  private readonly bar = h("div", { class: "strip-of-versions", role: "toolbar", "aria-label": "Versions of this kernel" });
  private readonly banner = h("p", { class: "of-which", role: "alert", hidden: true });

  constructor(
    private readonly choose: (number: number) => void,
    private readonly compareWith: (number: number) => void,
  ) {
    this.element.append(this.bar, this.banner);
    this.bar.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** `told` is what the figures are of, where they are not of the current version. */
  show(versions: readonly ShownVersion[], told: string | null): void {
    const older = versions.slice(1, Math.max(1, versions.length - SIDE_BY_SIDE + 1));
    const shown = versions.filter((version) => !older.includes(version));
    const buttons = shown.map((version) => this.button(version));
    const current = versions.find(({ isCurrent }) => isCurrent);
    const compared = versions.filter(({ errors, number }) => errors === 0 && number !== current?.number);
    fill(this.bar, buttons[0], older.length === 0 ? null : this.olderOnes(older), ...buttons.slice(1), compared.every(({ isBase }) => !isBase) ? null : this.against(compared));
    // One stop for Tab; arrows go on.
    const stops = Array.from(this.bar.querySelectorAll<HTMLElement>("button, select"));
    const at = Math.max(0, stops.findIndex((stop) => stop.getAttribute("aria-current") === "true"));
    stops.forEach((stop, index) => (stop.tabIndex = index === at ? 0 : -1));
    this.bring(stops[at]);
    this.banner.hidden = told === null;
    if (told !== null && this.banner.textContent !== told) this.banner.textContent = told;
  }

  /** Scrolls the strip alone, so far that this is seen. */
  private bring(version: HTMLElement | undefined): void {
    if (version === undefined) return;
    const [box, bar] = [version.getBoundingClientRect(), this.bar.getBoundingClientRect()];
    if (box.right > bar.right) this.bar.scrollLeft += box.right - bar.right + 8;
    else if (box.left < bar.left) this.bar.scrollLeft -= bar.left - box.left + 8;
  }

  private button({ number, name, figure, change, errors, isCurrent, isBase, badge }: ShownVersion): HTMLElement {
    const words = errors > 0 ? errorWords(errors) : figure === null ? "" : count(figure);
    const title = `Version ${number}, ${name}${words === "" ? "" : `: ${words}${errors > 0 ? "" : " instructions"}`}${isBase ? "; the figures are compared with it" : ""}`;
    return h(
      "button",
      { class: isBase ? "version base" : "version", type: "button", title, "data-key": `version ${number}`, "aria-current": String(isCurrent), onclick: () => this.choose(number) },
      h("i", {}, String(number)),
      h("span", { class: "name" }, name),
      errors > 0 ? h("b", { class: "errors" }, words) : h("b", {}, words),
      errors > 0 || change === null ? null : h("b", { class: change.isApart ? null : change.by > 0 ? "up" : change.by < 0 ? "down" : null, title: `Against version ${change.from}${change.isApart ? ", of another device" : ""}` }, change.by === 0 ? "±0" : `${change.by > 0 ? "+" : "−"}${count(Math.abs(change.by))}`),
      badge === null ? null : h("b", { class: `replayed ${badge.kind}`, title: `On the kept launch: ${badge.title}` }, badge.words),
    );
  }

  private olderOnes(older: readonly ShownVersion[]): HTMLElement {
    const select = h("select", { "aria-label": "Older versions", onchange: () => this.choose(Number(select.value)) });
    select.append(h("option", { value: "", disabled: true }, `${older.length} older`));
    for (const { number, name, figure, errors } of older) select.append(h("option", { value: number }, `${number} ${name} ${errors > 0 ? errorWords(errors) : (figure ?? "")}`));
    const current = older.find(({ isCurrent }) => isCurrent);
    select.value = current === undefined ? "" : String(current.number);
    if (current !== undefined) select.setAttribute("aria-current", "true");
    return select;
  }

  private against(compared: readonly ShownVersion[]): HTMLElement {
    const select = h("select", { onchange: () => this.compareWith(Number(select.value)) });
    for (const { number, name } of compared) select.append(h("option", { value: number }, `${number} ${name}`));
    const base = compared.find(({ isBase }) => isBase);
    select.value = base === undefined ? "" : String(base.number);
    return h("label", { class: "against" }, "against ", select);
  }

  private pressed(event: KeyboardEvent): void {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0 || event.ctrlKey || event.altKey) return;
    const stops = Array.from(this.bar.querySelectorAll<HTMLElement>("button, select"));
    const { activeElement } = this.bar.getRootNode() as ShadowRoot;
    const at = stops.findIndex((stop) => stop.contains(activeElement));
    if (at < 0) return;
    const next = stops[(at + step + stops.length) % stops.length];
    for (const stop of stops) stop.tabIndex = stop === next ? 0 : -1;
    next.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}

export function errorWords(errors: number): string {
  return errors === 1 ? "1 error" : `${errors} errors`;
}
