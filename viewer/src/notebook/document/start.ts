import type { StartLine } from "../../document/schema";

/** A notebook shows one kernel: it says nowhere to start. */
export function startOf(): StartLine[] {
  return [];
}
