import { HttpSource } from "../document/http";
import { fill, h } from "../dom";
import type { Page } from "../page";
import { CompareView } from "./compare";
import { LinkageView } from "./linkage";
import { PassesView } from "./passes";
import { SweepView } from "./sweep";
import type { View } from "./view";

/** What can stand where the panes are, and the buttons that put it there; the panes come back by the same button, or Esc. */
export class Views {
  readonly element = h("section", { class: "view", hidden: true, tabindex: "-1" });
  readonly buttons = h("div", { class: "views", role: "group", "aria-label": "Views" });
  private readonly views: View[];
  private readonly compare: CompareView;

  constructor(private readonly page: Page) {
    const { source } = page;
    const served = source instanceof HttpSource ? [new LinkageView(page, source)] : [];
    this.compare = new CompareView(page);
    this.views = [this.compare, new PassesView(page), ...served, new SweepView(page)];
    const panes = { name: "panes", title: "Code", hint: "Source, stages and machine code" };
    for (const { name, title, hint } of [panes, ...this.views])
      this.buttons.append(h("button", { class: "tool", type: "button", title: hint, "data-view": name, "aria-pressed": "false", onclick: () => this.turn(name) }, title));
  }

  /** The sides that are compared; null where no comparison is in sight. */
  get compared(): Page["compared"] {
    return this.page.state.view === this.compare.name ? this.compare.sides : null;
  }

  /** Shows what the state names; the panes for a name that is none. */
  show(): void {
    const view = this.views.find(({ name }) => name === this.page.state.view) ?? null;
    for (const button of this.buttons.children) button.setAttribute("aria-pressed", String(button.getAttribute("data-view") === (view?.name ?? "panes")));
    this.page.element.classList.toggle("viewing", view !== null);
    this.element.hidden = view === null;
    if (view === null) return;
    this.element.setAttribute("aria-label", view.title);
    if (view.element.parentElement !== this.element) fill(this.element, view.element);
    view.show();
  }

  /** From the panes to a view, and back. */
  turn(name: string): void {
    const { page } = this;
    page.go({ view: page.state.view === name ? "panes" : name }, "push");
    this.show();
    // Whoever was in what is out of sight now goes on in what stands in its place, not at the page's beginning.
    const { activeElement } = page.root;
    if (activeElement?.checkVisibility() === true) return;
    if (this.element.hidden) (page.layout.of("source") ?? page.layout.slots[0]).linked?.pane.focus();
    else this.element.focus();
  }
}
