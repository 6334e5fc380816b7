import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const CSS = readFileSync(new URL("../src/style/tokens.css", import.meta.url), "utf-8");

type Rgb = [number, number, number];

/** A token's colours, on light and on dark ground. */
function token(name: string): [Rgb, Rgb] {
  const match = new RegExp(`--${name}: light-dark\\((#[0-9a-f]+), (#[0-9a-f]+)\\)`).exec(CSS);
  if (match === null) throw new Error(`there is no token ${name}`);
  return [rgb(match[1]), rgb(match[2])];
}

function rgb(hex: string): Rgb {
  const digits = hex.length === 4 ? Array.from(hex.slice(1), (digit) => digit + digit) : (hex.slice(1).match(/../g) ?? []);
  return digits.map((each) => Number.parseInt(each, 16)) as Rgb;
}

/** WCAG 2.2, "contrast ratio" and "relative luminance". */
function contrast(left: Rgb, right: Rgb): number {
  const [light, dark] = [luminance(left), luminance(right)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

const THEMES = ["light", "dark"] as const;

test.each([
  ["ink", [15.9, 14.9, 13.3], [14.3, 13.2, 10.1]],
  ["soft", [6.3, 5.9, 5.3], [7.4, 6.8, 5.2]],
  ["accent", [6.5, 6.1, 5.4], [8.2, 7.6, 5.8]],
  ["warn", [6.3, 5.9, 5.3], [10.2, 9.4, 7.2]],
  ["wait", [6.7, 6.2, 5.6], [8.6, 7.9, 6.0]],
  ["better", [6.6, 6.1, 5.5], [10.3, 9.5, 7.2]],
  ["error", [6.5, 6.1, 5.5], [9.1, 8.4, 6.4]],
])("%s is read on paper, on panels and on what is pinned", (name, light, dark) => {
  const grounds = ["paper", "panel", "pin"].map(token);
  for (const [theme, least] of [light, dark].entries()) {
    const read = grounds.map((ground) => contrast(token(name)[theme], ground[theme]));
    for (const [ground, ratio] of read.entries()) expect(ratio, `${THEMES[theme]} ${ground}`).toBeGreaterThanOrEqual(least[ground] - 0.1);
  }
});

test.each([["warn", "worse-ground"], ["better", "better-ground"], ["error", "error-ground"]])("%s is read on its own ground", (name, ground) => {
  for (const theme of [0, 1]) expect(contrast(token(name)[theme], token(ground)[theme])).toBeGreaterThanOrEqual(4.5);
});

test("syntax is read everywhere", () => {
  for (const theme of [0, 1]) {
    for (const name of ["k", "c", "n", "f", "r", "w", "m", "s"])
      for (const ground of ["paper", "panel"]) expect(contrast(token(name)[theme], token(ground)[theme]), `${name} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    for (const name of ["pin-soft", "pin-m", "pin-w", "pin-n", "pin-r", "pin-k", "pin-f", "pin-wait"])
      for (const ground of ["pin", "sel", "via"]) expect(contrast(token(name)[theme], token(ground)[theme]), `${name} on ${ground}`).toBeGreaterThanOrEqual(4.5);
  }
});

test("ink is read on every step of heat", () => {
  const steps = [...CSS.matchAll(/background: light-dark\(rgb\((\d+) (\d+) (\d+) \/ (\d+)%\), rgb\((\d+) (\d+) (\d+) \/ (\d+)%\)\)/g)];
  expect(steps.length).toBe(16);
  for (const step of steps) {
    const numbers = step.slice(1).map(Number);
    for (const theme of [0, 1]) {
      const [red, green, blue, share] = numbers.slice(4 * theme, 4 * theme + 4);
      const paper = token("paper")[theme];
      const ground = [red, green, blue].map((value, at) => (value * share + paper[at] * (100 - share)) / 100) as Rgb;
      expect(contrast(token("ink")[theme], ground), step[0]).toBeGreaterThanOrEqual(7);
    }
  }
});
