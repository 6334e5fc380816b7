/** What keys that work in the editor too ask for: a compile, or a step among the versions. */
export function askedBy(event: KeyboardEvent): "compile" | -1 | 1 | null {
  if (!event.ctrlKey && !event.metaKey) return null;
  if (event.key === "Enter" && !event.defaultPrevented) return "compile";
  return !event.altKey ? null : event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : null;
}
