import { h } from "../dom";
import { recall, remember } from "../remember";

const [LEAST, MOST] = [180, 560];

/** The right edge of the list, which a pointer drags and arrow keys move. */
export function splitter(list: HTMLElement): HTMLElement {
  const before = Number(recall("list") ?? "0");
  let width = before >= LEAST && before <= MOST ? before : 0;
  const element = h("div", {
    class: "nav-split",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "Width of the list",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
    "aria-valuenow": LEAST,
    title: "Drag, or arrow keys",
  });
  const draw = (): void => {
    if (width > 0) list.parentElement?.style.setProperty("--nav", `${width}px`);
  };
  const set = (to: number): void => {
    width = Math.round(Math.min(MOST, Math.max(LEAST, to)));
    remember("list", String(width));
    draw();
  };
  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -10, ArrowRight: 10, PageDown: -60, PageUp: 60, Home: -MOST, End: MOST }[event.key];
    if (step === undefined) return;
    set(list.offsetWidth + step);
    event.preventDefault();
    event.stopPropagation();
  });
  element.addEventListener("pointerdown", (event) => {
    element.setPointerCapture(event.pointerId);
    const move = (to: PointerEvent): void => set(to.clientX - list.getBoundingClientRect().left);
    element.addEventListener("pointermove", move);
    element.addEventListener("lostpointercapture", () => element.removeEventListener("pointermove", move), { once: true });
    event.preventDefault();
  });
  // The list is on the page when it is first shown; without a choice of the reader its width is the page's.
  queueMicrotask(draw);
  new ResizeObserver(() => element.setAttribute("aria-valuenow", String(Math.round(list.offsetWidth)))).observe(list);
  return element;
}
