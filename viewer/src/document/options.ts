/** The option by which kernlens has line tables written: it is there unless somebody left it out. */
const LINES = "-gline-tables-only";

/** Options without the one that nobody chose, for places where builds are told apart. */
export function withoutLines(options: string): string {
  return options.split(/\s+/).filter((word) => word !== LINES && word !== "").join(" ");
}
