import { h } from "../dom";

/** The end of a path that tells it from the others. */
export function shortest(path: string, among: string[]): string {
  const parts = path.split("/");
  for (let from = parts.length - 1; from > 0; from--) {
    const end = parts.slice(from).join("/");
    if (among.filter((other) => other === end || other.endsWith(`/${end}`)).length < 2) return end;
  }
  return path;
}

/** A choice among many, in the look of a tab; `more` is what it says where none of them is chosen. */
export function picker(label: string, options: [value: string, text: string][], value: string, choose: (value: string) => void, title: string, more = ""): HTMLElement {
  const select = h("select", { "aria-label": label, title: title === "" ? null : title, class: options.some(([each]) => each === value) ? "tab on" : "tab", onchange: () => choose(select.value) });
  if (more !== "" && !options.some(([each]) => each === value)) select.append(h("option", { value: "", disabled: true }, more));
  for (const [each, text] of options) select.append(h("option", { value: each }, text));
  select.value = options.some(([each]) => each === value) ? value : "";
  return select;
}
