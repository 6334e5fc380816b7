/** The versions of a program, as long as the tab lives. */

const PREFIX = "kernlens.versions1.";

export function recall(program: string): string | null {
  return sessionStorage.getItem(PREFIX + program);
}

/** Keeps them, if they are not too large for the browser: then they last as long as the page. */
export function remember(program: string, versions: string): void {
  try {
    sessionStorage.setItem(PREFIX + program, versions);
  } catch (problem) {
    if (!(problem instanceof DOMException)) throw problem;
    sessionStorage.removeItem(PREFIX + program);
  }
}
