/** What a browser keeps of a reader's choices: sizes, theme, colours. */

const PREFIX = "kernlens.";

export function recall(key: string): string | null {
  try {
    return localStorage.getItem(PREFIX + key);
  } catch {
    return null; // sandboxed frames have no storage: choices then last as long as the page
  }
}

export function remember(key: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + key, value);
  } catch {
    return; // as above
  }
}
