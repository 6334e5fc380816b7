"""The measurement of the viewer by hand, on a quiet machine: how long it takes to open, a hover, and a search.

    python -m tests.browser.measure [REPORT.html] [--runs 3] [--instructions 25000]

Without a report, three are made up: a kernel of 25,000 instructions with 2,000 source lines, 60,000 of LLVM IR and 30,000 of
vISA; 3,000 small kernels; and 300 kernels with 40 opcodes each and ten sources of 2,000 lines, which are searched.
The best of the runs counts: other work on the machine only adds; "processor" is the page's own time, whatever else runs.
Limits: the large kernel opens in 1.0 s, 95 of 100 hovers over it take 5 ms of script, and half of them show after 30 ms; 3,000
kernels open in 1.5 s; a search over 300 takes 100 ms, but for the first, which reads what is searched.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from kernlens.report.explore.chunks import Chunks
from kernlens.report.explore.explore_document import ExploreDocument
from kernlens.report.explore.name_groups import Listed
from kernlens.report.explore.packing import deltas
from kernlens.report.explore.single_file import page, viewer_script
from tests.browser.made import chunk_of, many_kernels, small_document

LINES, LLVM, VISA, CODE = 2_000, 60_000, 30_000, 25_000

#: From inside: a hover's script is what its event's listeners and the next frame's callbacks take; it is shown when a task runs
#: after that frame.
COUNT = """
window.hovers = [];
const ask = window.requestAnimationFrame.bind(window);
let script = 0;
window.requestAnimationFrame = callback => ask(time => {
  const from = performance.now();
  callback(time);
  script += performance.now() - from;
});
addEventListener("mousemove", event => {
  const from = performance.now();
  script = 0;
  queueMicrotask(() => script += performance.now() - from);
  ask(() => setTimeout(() => hovers.push([script, performance.now() - from])));
}, {capture: true});
"""


def large(count: int = CODE) -> ExploreDocument:
    """Return a kernel as large as the largest, with every line of its source spread over all texts."""
    rng = random.Random(14)
    small = small_document(
        source="\n".join(f"  value += input[{line}] * weight; // line {line}" for line in range(1, LINES + 1))
    )
    place = [min(LINES - 1, int(rng.expovariate(1 / 300))) for _ in range(LLVM)]
    chunks = Chunks()
    columns: dict[str, Any] = small.index["programs"][0]
    rows = [
        f"        add (16|M0)              r{n % 120}.0<1>:f     r{n % 90}.0<1;1,0>:f     r7.0<0;1,0>:f    {{I@1}}"
        for n in range(count)
    ]
    kernel = {
        "schema": 2,
        "kind": "kernel",
        "name": "add",
        "warning": None,
        "missing": {},
        "advice": [],
        "files": ["add.cl"],
        "places": {"file": [0] * LINES, "line": [1] * LINES, "column": [3] * LINES, "caller": [-1] * LINES},
        "code": {
            "text": "\n".join(rows),
            "offset": deltas(range(0, 16 * count, 16)),
            "size": [16] * count,
            "opcode": ["add"],
            "op": [0] * count,
            "place": deltas(place[:count]),
            "flags": [0] * count,
            "id": deltas(range(count)),
            "block": deltas(range(0, count, 28)),
            "depth": [0] * len(range(0, count, 28)),
            "targets": [[n, max(0, n - 200)] for n in range(27, count, 28)],
            "wait": {"row": [], "back": []},
            # The first has nothing before it.
            "distance": [0, *[1] * (count - 1)],
            "message": {"row": [], "kind": [], "kinds": []},
            "live": [40 + n % 60 for n in range(count)],
            "peak": {"row": 59, "registers": 99, "held": []},
            "is_lower_bound": False,
            "use": None,
            "samples": None,
            # As dense as real code: a row in five waits, and one in a hundred long.
            "cycles": {
                "start": deltas([n % 28 * 4 for n in range(count)]),
                "issue": [2] * count,
                "wait": {
                    "row": deltas(range(3, count, 5)),
                    "back": [2] * len(range(3, count, 5)),
                    "cycles": [150 if n % 100 == 3 else 4 for n in range(3, count, 5)],
                    "why": [0] * len(range(3, count, 5)),
                    "reasons": ["written"],
                },
            },
        },
        "stages": [
            stage("llvm-codegen", 0, LLVM, place, "  %{n} = fadd fast float %{m}, %weight.{n}, !dbg !{n}"),
            stage("visa", LLVM, VISA, place, "    add (M1, 16) V{n}(0,0)<1> V{m}(0,0)<1;1,0> V7(0,0)<0;1,0>"),
        ],
    }
    chunks.add("kernel", "a" * 16, lambda: kernel)
    chunks.add("source", "b" * 16, lambda: {"schema": 2, "kind": "source", "text": source_of(small)})
    columns["kernels"]["instructions"] = [count]
    columns["stages"] = [
        {"name": name, "attempt": 1, "scope": "kernel", "title": title, "sentence": "", "meta": None}
        for name, title in (("llvm-codegen", "LLVM IR, last"), ("visa", "vISA"))
    ]
    return ExploreDocument(small.index | {"programs": [columns]}, chunks)


def source_of(document: ExploreDocument) -> str:
    from tests.explore_reader import unpacked

    return str(unpacked(document.chunks["b" * 16])["text"])


def stage(name: str, first: int, count: int, place: list[int], shape: str) -> dict[str, Any]:
    return {
        "stage": name, "attempt": 1, "text": "\n".join(shape.format(n=n, m=n // 2) for n in range(count)), "missing": None,
        "row": deltas(range(first, first + count)),
        "line": deltas(range(1, count + 1)), "place": deltas(place[:count]), "id": None, "ids": None, "functions": [],
    }  # fmt: skip


def listed(count: int) -> list[Listed]:
    """Return so many kernels of twelve builds."""
    builds = [
        (device, toolchain)
        for device in ("dg2", "bmg", "pvc", "lnl", "skl", "mtl")
        for toolchain in ("system", "newest")
    ]
    each = count // len(builds)
    return [
        Listed(f"filter_{row % 7}_of_{row}_pixels", f"filters{row % 10}.cl", device=device, toolchain=toolchain)
        for device, toolchain in builds
        for row in range(each)
    ]


def searched(count: int = 300) -> ExploreDocument:
    """Return so many kernels, with what they are searched by."""
    rng = random.Random(5)
    document = many_kernels(listed(count), [(100 + row % 977, 16, 64 * (row % 9 == 0)) for row in range(count)])
    chunks = Chunks()
    kernel = chunk_of(document)
    chunks.add("kernel", "a" * 16, lambda: kernel)
    words = [f"opcode{number}" for number in range(60)]
    programs = document.index["programs"]
    paths = {program["name"]: f"{number:016x}" for number, program in enumerate(programs)}
    for path, chunk in paths.items():
        text = "\n".join(f"  value += input[{rng.randrange(999)}] * weight; // {path} {line}" for line in range(LINES))
        chunks.add("source", chunk, lambda text=text: {"schema": 2, "kind": "source", "text": text})  # type: ignore[misc]
    for program in programs:
        program["files"] = [
            {"path": program["name"], "origin": "disk", "lines": None, "chunk": paths[program["name"]], "missing": None}
        ]
    kernels = [
        [
            {
                "opcodes": [part for op in rng.sample(range(60), 40) for part in (op, 9)],
                "lines": [[file, 1, LINES]],
                "atomics": row % 3,
            }
            for row, _ in enumerate(program["kernels"]["name"])
        ]
        for program in programs
        for file in [list(paths).index(program["name"])]
    ]
    lists = {"opcodes": words, "functions": [], "files": list(paths), "kernels": kernels}
    chunks.add("search", "5" * 16, lambda: {"schema": 2, "kind": "search", **lists})
    return ExploreDocument(document.index | {"search": "5" * 16, "programs": programs}, chunks)


def opened(browser: Browser, address: str) -> tuple[Page, dict[str, float]]:
    """Open the page once; return it, and how long that took."""
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.add_init_script(COUNT)
    protocol = tab.context.new_cdp_session(tab)
    protocol.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(address)
    wall = tab.evaluate(
        """async () => {
          while (performance.getEntriesByName("kernlens: shown").length === 0) await new Promise(done => setTimeout(done, 5));
          await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
          return performance.now();
        }"""
    )
    metrics = {each["name"]: each["value"] for each in protocol.send("Performance.getMetrics")["metrics"]}
    return tab, {"open, ms": wall, "open, processor, ms": 1000 * metrics["TaskDuration"]}


def hovering(browser: Browser, address: str) -> dict[str, float]:
    """Open the page once and move over all panes; return the times."""
    tab, times = opened(browser, address)
    rng = random.Random(9)
    boxes = [box for pane in tab.locator(".cm-scroller").all() if (box := pane.bounding_box())]
    for _ in range(160):
        box = rng.choice(boxes)
        tab.mouse.move(box["x"] + rng.random() * box["width"] * 0.8, box["y"] + rng.random() * box["height"] * 0.95)
        tab.wait_for_timeout(30)
    hovers = tab.evaluate("hovers")
    heap = tab.evaluate("performance.memory?.usedJSHeapSize ?? 0")
    nodes = tab.evaluate("document.getElementById('kernlens').shadowRoot.querySelectorAll('*').length")
    tab.close()
    script = sorted(each[0] for each in hovers)
    shown_after = sorted(each[1] for each in hovers)
    at = int(len(hovers) * 0.95)
    return times | {
        "hover script p95, ms": script[at],
        "hover shown p50, ms": shown_after[len(hovers) // 2],
        "hover shown p95, ms": shown_after[at],
        "heap, MB": heap / 1e6,
        "elements": nodes,
    }


def opening(browser: Browser, address: str) -> dict[str, float]:
    """Open the page once; return the times."""
    tab, times = opened(browser, address)
    tab.close()
    return times


def searching(browser: Browser, address: str) -> dict[str, float]:
    """Open the page once, and search; return how long it takes from a letter to the list on the screen,
    less the pause in which others may follow."""
    tab, times = opened(browser, address)
    tab.locator(".find input").focus()
    took = []
    for word in (
        "opcode7",
        "weight",
        "input[7",
        "op:opcode1",
        "atomic",
        "spills",
        "re:pixels$",
        "weight; // filters0.cl 1",
    ):
        took.append(
            tab.evaluate(
                """async word => {
                  const input = document.getElementById("kernlens").shadowRoot.querySelector(".find input");
                  performance.clearMeasures("kernlens: searched");
                  input.value = word;
                  const from = performance.now();
                  input.dispatchEvent(new InputEvent("input"));
                  const isOver = () => performance.getEntriesByName("kernlens: searched").length > 0;
                  while (!isOver()) await new Promise(done => setTimeout(done));
                  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
                  return performance.now() - from - 120;
                }""",
                word,
            )
        )
    tab.close()
    return times | {"first search, ms": took[0] + took[1], "slowest search behind it, ms": max(took[2:])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--instructions", type=int, default=CODE, help="of the large kernel, such as 72000 or 1000000")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        if words.report is not None:
            tell(words.report, [hovering(browser, words.report.resolve().as_uri()) for _ in range(words.runs)])
            return
        many = many_kernels(listed(3000), [(100 + row % 977, 16, 0) for row in range(3000)])
        for name, document, measured in (
            (f"{words.instructions:,} instructions", large(words.instructions), hovering),
            ("3,000 kernels", many, opening),
            ("a search over 300 kernels", searched(), searching),
        ):
            path = Path(folder) / f"{name}.html"
            path.write_text("".join(page(document, viewer_script())))
            tell(path, [measured(browser, path.as_uri()) for _ in range(words.runs)])


def tell(path: Path, runs: list[dict[str, float]]) -> None:
    print(f"{path.stem}: {path.stat().st_size:,} bytes")
    for name in runs[0]:
        figures = [figures[name] for figures in runs]
        print(f"  {name:28} best {min(figures):8.1f}   all {', '.join(f'{figure:.1f}' for figure in figures)}")


if __name__ == "__main__":
    main()
