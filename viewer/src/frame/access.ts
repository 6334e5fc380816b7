import { type HttpSource, tokenIn } from "../document/http";
import { sentenceOf } from "../document/source";
import { fill, h } from "../dom";
import type { Dialog } from "./dialog";

/** Asks for the server's token; with it the page begins anew, at the place that its address names. */
export function askAccess(dialog: Dialog, source: HttpSource): void {
  const field = h("input", { type: "text", autocomplete: "off", spellcheck: "false", required: true, "aria-label": "Address or token", placeholder: source.address("t=…", false) });
  const wrong = h("p", { class: "warn", role: "alert" });
  const form = h(
    "form",
    { class: "access" },
    h("p", {}, "Only who has its token may see what this server shows. ", h("b", {}, "kernlens serve prints the token in its address"), ", a new one each time it starts. Paste the address here."),
    h("p", { class: "dim" }, "This browser then remembers the token until the server ends, and what your link leads to opens."),
    h("div", { class: "ask" }, field, h("button", { class: "tool", type: "submit" }, "Open")),
    wrong,
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void open(field.value).catch((problem) => fill(wrong, sentenceOf(problem)));
  });
  const open = async (text: string): Promise<void> => {
    if (await source.opensWith(tokenIn(text))) return location.reload();
    fill(wrong, "That is not this server's token: a server that was started again has a new one, and prints it.");
    field.select();
  };
  dialog.open("This server asks for its token", form);
  field.focus();
}
