/** Elements without markup: whatever comes from a document goes in as text or as the value of an attribute. */

type Child = Node | string | number | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** An element; `onclick` and its kin are listeners, true is an empty attribute, null and false leave one out. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key.slice(2), value as EventListener);
    else element.setAttribute(key, value === true ? "" : READ.has(key) ? visible(String(value)) : String(value));
  }
  append(element, children);
  return element;
}

/** Attributes that are read as text is. */
const READ: ReadonlySet<string> = new Set(["title", "aria-label", "placeholder"]);

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(String(child)));
  }
}

/** A sentence whose words in backticks are code. */
export function prose(sentence: string): Node[] {
  return sentence.split("`").map((words, index) => (index % 2 === 1 ? h("code", {}, words) : document.createTextNode(visible(words))));
}

/** A text whose control characters are seen: escapes, and those that turn the direction of what follows (CVE-2021-42574). */
export function visible(text: string): string {
  return text.replace(CONTROLS, (letter) => {
    const code = letter.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : code === 127 ? "\u2421" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
  });
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it is about these.
const CONTROLS = /[\0-\b\v\f\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Puts these children in place of what an element holds. */
export function fill(element: Element, ...children: Child[]): void {
  keepingFocus(element, () => {
    element.replaceChildren();
    append(element, children);
  });
}

const FOCUSABLE = "button, input, select, textarea, [tabindex]";

/**
 * Changes what an element holds; whoever has the focus in it keeps it: the same element if it is still there, else the one with
 * the same key (`data-key`), else the one that has taken its place. Without this each redrawing would send the keyboard back
 * to the beginning of the page.
 */
export function keepingFocus(element: Element, change: () => void): void {
  const root = element.getRootNode();
  const focused = root instanceof ShadowRoot ? root.activeElement : null;
  if (!(focused instanceof HTMLElement) || focused === element || !element.contains(focused)) return change();
  const at = Array.from(element.querySelectorAll(FOCUSABLE)).indexOf(focused);
  const { key } = focused.dataset;
  change();
  if (root instanceof ShadowRoot && root.activeElement === focused) return;
  const now = Array.from(element.querySelectorAll<HTMLElement>(FOCUSABLE));
  const same = now.includes(focused) ? focused : key === undefined ? undefined : now.find(({ dataset }) => dataset.key === key);
  (same ?? now[Math.min(at, now.length - 1)])?.focus({ preventScroll: true });
}

const SVG = "http://www.w3.org/2000/svg";

export function svg(name: string, attributes: Record<string, string | number> = {}, ...children: Node[]): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Says what was copied, or why it was not, through `tell`. */
export async function copyText(text: string, tell: (sentence: string) => void): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell("Copied.");
  } catch {
    // Pages opened from disk and sandboxed frames may have no clipboard: a selected field still answers Ctrl+C.
    const area = h("textarea", { readonly: true, "aria-label": "Text to copy" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    tell(copied ? "Copied." : "This browser does not let the page copy: select the text and press Ctrl+C.");
  }
}

const NUMBERS = new Intl.NumberFormat("en-US");

/** A short form of a number with thousands separated, as in 25,000. */
export function count(value: number): string {
  return NUMBERS.format(value);
}

/** A number for where there is room for five characters: the title has all of it. */
export function brief(value: number): string {
  if (value < 9_950) return count(value);
  return value < 99_500 ? `${(value / 1000).toFixed(1)}k` : `${count(Math.round(value / 1000))}k`;
}

/** A device's time with three digits, as in 15.2 us. */
export function duration(nanoseconds: number): string {
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]] as const) if (nanoseconds >= size) return `${NUMBERS.format(Number((nanoseconds / size).toPrecision(3)))} ${unit}`;
  return `${nanoseconds} ns`;
}

/** The largest of many numbers, and of `least`: more than fit into the arguments of one call. */
export function largest(values: Iterable<number>, least: number): number {
  let largest = least;
  for (const value of values) largest = Math.max(largest, value);
  return largest;
}

export function plural(value: number, single: string, many = `${single}s`): string {
  return `${count(value)} ${value === 1 ? single : many}`;
}

/** A clause of a document as a sentence of its own. */
export function sentence(clause: string): string {
  return `${clause.replace(/^[a-z]/, (letter) => letter.toUpperCase())}.`;
}

export function hex(offset: number): string {
  return `0x${offset.toString(16).padStart(4, "0")}`;
}

/** A share in percent, rounded as the command line does it: a half goes to the even digit, 31.25 to 31.2. */
export function percent(part: number, whole: number): string {
  if (whole <= 0) return "–";
  const share = (100 * part) / whole;
  if (part > 0 && share < 0.05) return "<0.1";
  // Of binary fractions only a quarter is a half of a tenth that toFixed rounds up to an odd digit.
  return share % 1 === 0.25 ? `${Math.floor(share)}.2` : share.toFixed(1);
}
