import type { Kernel } from "./document/kernel";

/** Colours of what an interpreter counted on data, with their names and titles. */
export type ObservedColour = "moved" | "runs" | "idle";
export const OBSERVED_NAMES: Record<ObservedColour, [name: string, title: string]> = {
  moved: ["Moved", "Bytes of global memory that each line moves, counted in an interpreter on data (7)"],
  runs: ["Runs", "How often work-items run each line, counted in an interpreter on data (8)"],
  idle: ["Idle lanes", "Lanes of a sub-group that idle at each line, on average, counted in an interpreter on data (9)"],
};

/** What lines have of a colour, by key; null for another colour. */
export function observedWeights({ observed, places }: Kernel, colour: string): ArrayLike<number> | null {
  if (colour !== "moved" && colour !== "runs" && colour !== "idle") return null;
  return observed?.[colour] ?? new Float64Array(places.keys);
}

/** What stands above such figures; null for another colour. */
export function observedHeading(colour: string): string | null {
  return colour === "moved" ? "bytes" : colour in OBSERVED_NAMES ? colour : null;
}

/** Why no line has such a colour. */
export function whyNotObserved(kernel: Kernel): string {
  return kernel.observed === null ? "This kernel was not observed: kernlens observe -o counts on data." : "No line has any.";
}
