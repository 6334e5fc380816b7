import { fill, h, visible } from "../dom";

/** A sheet over the page: Esc and the button close it, the focus goes back to where it was. */
export class Dialog {
  readonly element = h("dialog", { class: "sheet" });
  private readonly title = h("h2", { id: "sheet-title" });
  private readonly body = h("div", { class: "sheet-body", tabindex: "0" });

  constructor() {
    this.element.setAttribute("aria-labelledby", "sheet-title");
    this.element.append(
      h("div", { class: "sheet-head" }, this.title, h("button", { class: "tool", type: "button", onclick: () => this.element.close() }, "Close")),
      this.body,
    );
    this.element.addEventListener("click", (event) => event.target === this.element && this.element.close());
  }

  open(title: string, ...parts: (Node | string)[]): void {
    this.title.textContent = visible(title);
    fill(this.body, ...parts);
    if (!this.element.open) this.element.showModal();
    this.body.scrollTop = 0;
    this.body.focus();
  }

  close(): void {
    this.element.close();
  }
}
