import type { Kernel } from "../document/kernel";
import { count } from "../dom";

/** How deep in loops something is, as the end of a clause. */
export function inLoops(depth: number): string {
  return depth === 0 ? "" : depth === 1 ? ", in a loop" : `, in ${depth} loops`;
}

/** How many of a line's instructions are in loops, as the end of a clause: what a compiler hoists out of a loop is in none. */
export function loopedOf({ weights }: Pick<Kernel, "weights">, key: number): string {
  const words = inLoops(weights.depth[key]);
  const looped = weights.looped[key];
  return looped < weights.instructions[key] ? words.replace(",", `, ${count(looped)} of them`) : words;
}
