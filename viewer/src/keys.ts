/** What keys do, by the name that a key event has: at once, and as the second letter after `g`. */
export interface Keys {
  keys: Record<string, () => void>;
  afterG: Record<string, () => void>;
}

/** Single letters act nowhere where a letter is typed. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return target.type !== "checkbox" && target.type !== "radio";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}

export function listen(root: ShadowRoot, { keys, afterG }: Keys, letters: () => boolean): void {
  let isAfterG = 0;
  // On the window: with nothing focused, keys go to the page's body, outside of the shadow root.
  window.addEventListener("keydown", (pressed) => {
    if (pressed.defaultPrevented || pressed.ctrlKey || pressed.metaKey || pressed.altKey) return;
    const { key } = pressed;
    if (key === "Shift") return;
    if (key.length === 1 && (isTyping(pressed) || (!letters() && key !== "?"))) return;
    if (root.querySelector("dialog[open]") !== null) return;
    const table = isAfterG > performance.now() ? afterG : keys;
    isAfterG = 0;
    if (table === keys && key === "g") {
      isAfterG = performance.now() + 1500;
      return;
    }
    const act = Object.hasOwn(table, key) ? table[key] : undefined;
    if (act === undefined) return;
    act();
    pressed.preventDefault();
  });
}
