import type { Configuration } from "../document/options";
import { fill, h, plural } from "../dom";
import type { Offers } from "../page";

type Kind = "device" | "toolchain" | "options";
const KINDS: readonly Kind[] = ["device", "toolchain", "options"];
const TITLES: Record<Kind, string> = { device: "Device", toolchain: "Toolchain", options: "Options" };
/** Options that are offered to be typed, not pressed: they ask for words, or change nothing in the code. */
const TYPED = /[ A-Z]{2}| |^-[gw]|^-Werror|^-cl-std|arg-info/;
/** Builds that are compiled at one press. */
const MOST = 64;
/** Devices that are offered without a press on "more". */
const FEW = 24;

/** What else a build can be compiled for, as buttons: each compiles at once, or, where there are `several`, they are chosen together. */
export class OfferButtons {
  readonly element = h("section", { class: "offers", "aria-label": "Compile it for" });
  private readonly field = h("input", { type: "text", class: "mono", "aria-label": "Options to compile with", placeholder: "-cl-fast-relaxed-math …", spellcheck: "false", autocomplete: "off" });
  private readonly act = h("button", { class: "tool primary", type: "button", onclick: () => this.compile(this.configurations()) });
  private chosen: Record<Kind, Set<string>> = { device: new Set(), toolchain: new Set(), options: new Set() };
  private offers: Offers | null = null;
  private isWhole = false;

  constructor(
    private readonly several: boolean,
    private readonly compile: (configurations: Configuration[]) => void,
  ) {
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      event.stopPropagation();
      this.press("options", this.field.value.trim());
    });
  }

  show(offers: Offers): void {
    const isAnother = this.offers === null || KINDS.some((kind) => this.offers?.like[kind] !== offers.like[kind]);
    this.offers = offers;
    if (isAnother) this.chosen = { device: new Set([offers.like.device]), toolchain: new Set([offers.like.toolchain]), options: new Set([offers.like.options]) };
    this.draw();
  }

  private draw(): void {
    if (this.offers === null) return;
    const { choices, like } = this.offers;
    const able = this.several ? choices.toolchains.map(({ name }) => name) : this.able(like.device);
    const names: Record<Kind, [value: string, title: string][]> = {
      device: choices.devices.map(({ name, title }) => [name, title]),
      toolchain: choices.toolchains.filter(({ name }) => able.includes(name)).map(({ name, versions }) => [name, versions]),
      options: [...new Set([like.options, ...this.chosen.options, ...choices.options.filter((option) => !TYPED.test(option))])].map((option) => [option, option]),
    };
    fill(
      this.element,
      ...KINDS.map((kind) => h("div", { class: "offer", role: "group", "aria-label": `${TITLES[kind]} to compile for` }, h("b", {}, TITLES[kind]), h("span", {}, ...this.buttons(kind, names[kind]), kind === "options" ? this.field : null))),
      this.several ? h("p", {}, this.act) : null,
    );
    const number = this.configurations().length;
    this.act.disabled = number === 0 || number > MOST;
    this.act.textContent = number > MOST ? `${plural(number, "build")}: at most ${MOST} at once` : number === 0 ? "Choose a device and options" : `Compile ${plural(number, "build")}`;
  }

  /** Steppings and variants of a device stand behind "more", as long as none of them is chosen. */
  private buttons(kind: Kind, names: readonly [value: string, title: string][]): HTMLElement[] {
    const isVariant = (value: string): boolean => kind === "device" && names.length > FEW && (/^gfx/.test(value) !== /^gfx/.test(this.offers?.like.device ?? "") || names.some(([other]) => value.startsWith(`${other}-`)));
    const [main, more] = [false, true].map((is) => names.filter(([value]) => (isVariant(value) && !this.chosen[kind].has(value)) === is).map(([value, title]) => this.button(kind, value, title)));
    if (more.length === 0 || this.isWhole) return [...main, ...more];
    const turn = (): void => {
      this.isWhole = true;
      this.draw();
    };
    return [...main, h("button", { class: "opt more", type: "button", title: "Steppings, variants and other vendors' devices", onclick: turn }, `${more.length} more`)];
  }

  private button(kind: Kind, value: string, title: string): HTMLElement {
    const isOn = this.chosen[kind].has(value);
    // What it is compiled for already is no choice of another build.
    const isItself = !this.several && this.offers?.like[kind] === value;
    return h("button", { class: "opt", type: "button", title, "data-key": `${kind} ${value}`, "aria-pressed": String(isOn), disabled: isItself, onclick: () => this.press(kind, value) }, value === "" ? "no options" : value);
  }

  private press(kind: Kind, value: string): void {
    if (this.offers === null) return;
    if (!this.several) return this.compile([this.changed(kind, value, this.offers.like)]);
    if (!this.chosen[kind].delete(value)) this.chosen[kind].add(value);
    this.draw();
  }

  /** A configuration with another value; of a device that its toolchain does not know, with one that does. */
  private changed(kind: Kind, value: string, like: Configuration): Configuration {
    const changed = { ...like, [kind]: value };
    const able = this.able(changed.device);
    return able.includes(changed.toolchain) ? changed : { ...changed, toolchain: able[0] ?? changed.toolchain };
  }

  private configurations(): Configuration[] {
    const { device, toolchain, options } = this.chosen;
    // A device that no chosen toolchain compiles for is compiled by the first that does.
    const toolchainsOf = (name: string): string[] => {
      const able = this.able(name);
      const chosen = able.filter((each) => toolchain.has(each));
      return chosen.length > 0 ? chosen : able.slice(0, 1);
    };
    return [...device].flatMap((name) => toolchainsOf(name).flatMap((each) => [...options].map((words) => ({ device: name, toolchain: each, options: words, all_passes: false }))));
  }

  private able(device: string): string[] {
    return this.offers?.choices.devices.find(({ name }) => name === device)?.toolchains ?? [];
  }
}
