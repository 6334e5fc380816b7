import type { App } from "../app";
import { HttpSource } from "../document/http";
import { fill, h } from "../dom";
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

  constructor(private readonly app: App) {
    const { source } = app;
    const served = source instanceof HttpSource ? [new LinkageView(app, source)] : [];
    this.views = [new CompareView(app), new PassesView(app), ...served, new SweepView(app)];
    for (const { name, title, hint } of this.views)
      this.buttons.append(h("button", { class: "tool", type: "button", title: hint, "data-view": name, "aria-pressed": "false", onclick: () => this.turn(name) }, title));
  }

  /** Shows what the state names; the panes for a name that is none. */
  show(): void {
    const view = this.views.find(({ name }) => name === this.app.state.view) ?? null;
    for (const button of this.buttons.children) button.setAttribute("aria-pressed", String(button.getAttribute("data-view") === view?.name));
    this.app.element.classList.toggle("viewing", view !== null);
    this.element.hidden = view === null;
    if (view === null) return;
    this.element.setAttribute("aria-label", view.title);
    if (view.element.parentElement !== this.element) fill(this.element, view.element);
    view.show();
  }

  /** From the panes to a view, and back. */
  turn(name: string): void {
    const { app } = this;
    app.go({ view: app.state.view === name ? "panes" : name }, "push");
    this.show();
    // Whoever was in what is out of sight now goes on in what stands in its place, not at the page's beginning.
    const { activeElement } = app.root;
    if (activeElement?.checkVisibility() === true) return;
    if (this.element.hidden) (app.layout.of("source") ?? app.layout.slots[0]).linked?.pane.focus();
    else this.element.focus();
  }
}
