import type { Kernel } from "./document/kernel";
import { ORIGIN } from "./document/waits";
import { count, percent, sentence } from "./dom";
import { observedHeading, observedWeights, whyNotObserved } from "./observed_colours";
import type { Colour } from "./state";

/** What a kernel's lines have of that which a colour shows, by key. */
export function weightsOf(kernel: Kernel, colour: Colour): ArrayLike<number> {
  return observedWeights(kernel, colour) ?? kernel.weights[colour === "lines" || colour === "instr" ? "instructions" : (colour as "memory")];
}

/** Colours of source lines: a step of heat (0 none, 1 to 8, log scaled) or, in the colours of lines, 100 and one of 12 hues. */
export class Shades {
  private readonly steps: Uint8Array;
  private readonly weights: ArrayLike<number>;
  private readonly whole: number;

  constructor(
    private readonly kernel: Kernel,
    readonly colour: Colour,
  ) {
    const { places, code } = kernel;
    this.weights = weightsOf(kernel, colour);
    let most = 0;
    let sum = 0;
    for (let key = 0; key < places.keys; key++) {
      most = Math.max(most, this.weights[key]);
      sum += this.weights[key];
    }
    this.whole = colour === "waits" ? (code.waits?.sum ?? 0) : colour === "samples" ? (code.samples?.total ?? 0) : colour === "instr" || colour === "lines" ? code.count : sum;
    this.steps = new Uint8Array(places.keys);
    let hue = 0;
    for (let key = 0; key < places.keys; key++) {
      const weight = this.weights[key];
      if (weight === 0) continue;
      // Neighbours differ: hues go round in an order that keeps near ones apart.
      if (colour === "lines") this.steps[key] = 100 + ((hue++ * 5) % 12);
      else this.steps[key] = Math.max(1, Math.round((8 * Math.log1p(weight)) / Math.log1p(most)));
    }
  }

  of(key: number): number {
    return key < 0 ? 0 : this.steps[key];
  }

  figure(key: number): { value: string; share: string } {
    const weight = key < 0 ? 0 : this.weights[key];
    if (weight === 0) return { value: "", share: "" };
    return { value: weight >= 100_000 ? `${Math.round(weight / 1000)}k` : count(weight), share: percent(weight, this.whole) };
  }

  /** Keys from the heaviest down. */
  ranking(): number[] {
    const keys = Array.from(this.steps.keys()).filter((key) => this.weights[key] > 0);
    return keys.sort((left, right) => this.weights[right] - this.weights[left]);
  }

  /** Why no line has a colour; null where that says itself. */
  get empty(): string | null {
    if (this.ranking().length > 0) return null;
    if (this.colour === "spills") return "This kernel spills nothing.";
    if (observedHeading(this.colour) !== null) return whyNotObserved(this.kernel);
    if (this.colour === "samples") return this.kernel.code.samples === null ? "There are no samples of this kernel: --samples FILE reads them." : "No sample is on a line.";
    if (this.colour !== "waits") return null;
    const { waits } = this.kernel.missing;
    return waits === null ? `No instruction of a line waits: ${ORIGIN}.` : sentence(waits);
  }

  /** What stands above the figures of the source. */
  get heading(): [value: string, share: string] {
    return [observedHeading(this.colour) ?? (this.colour === "memory" || this.colour === "spills" ? "bytes" : this.colour === "waits" || this.colour === "samples" ? this.colour : "instr"), "%"];
  }
}
