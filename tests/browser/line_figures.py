"""The figures of lines: as ``annotate`` says them in JSON and as text, and as they stand in the page, read from its DOM."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click.testing

from kernlens.cli.annotate import command
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.report.explore import ExploreDocument
from tests.browser.viewer import Viewer

#: Path and line -> the instructions of the line, and their share of the kernel's in percent, as they are written.
Figures = dict[tuple[str, int], tuple[str, str]]
#: A kernel, by its number in the document and its name.
Kernel = tuple[int, str]

#: Where an instruction has a line of its own from (docs/json.md, ``line_origin``).
OWN = ("table", "uncertain", "stage")
_KERNEL = re.compile(r"(\S.*?)  (\S.*) on \S+ \(\S+\)$")
_FILE = re.compile(r"  (\S.*)$")
_LINE = re.compile(r" +(\d+) +(\d+) +([\d.]+)%[^|]* \| ")

#: Opens a kernel by its link and reads each file with code from its beginning to its end, as far as rows are drawn.
_READ = """async ({link, paths}) => {
  const root = document.getElementById("kernlens").shadowRoot;
  const frame = () => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)));
  const until = async (what, words) => {
    for (let turn = 0; turn < 3000; turn++) {
      const value = what();
      if (value) return value;
      await frame();
    }
    throw new Error(`${link}: ${words} does not come`);
  };
  const shown = () => performance.getEntriesByName("kernlens: shown").length;
  const before = shown();
  location.hash = link;
  await until(() => shown() > before, "the kernel");
  const figures = [];
  for (const path of paths) {
    const content = () => root.querySelector(`.source-pane .cm-content[aria-label="${CSS.escape(`Source ${path}`)}"]`);
    if (content() === null) {
      const tab = [...root.querySelectorAll(".source-pane .tabs button")].find(each => each.title === path);
      const more = [...root.querySelectorAll(".source-pane .tabs option")].find(each => each.value === path);
      if (tab !== undefined) tab.click();
      else if (more !== undefined) {
        more.parentElement.value = path;
        more.parentElement.dispatchEvent(new Event("change"));
      } else continue;
    }
    const scroller = (await until(content, path)).closest(".cm-editor").querySelector(".cm-scroller");
    const read = new Set();
    for (scroller.scrollTop = 0; ; ) {
      await frame();
      for (const cell of scroller.querySelectorAll(".numbers .cm-gutterElement")) {
        const parts = [".ln", ".heat:not(.share)", ".heat.share"];
        const [line, value, share] = parts.map(each => cell.querySelector(each)?.textContent ?? "");
        if (value === "" || read.has(line) || cell.style.visibility === "hidden") continue;
        read.add(line);
        figures.push([path, Number(line), value, share]);
      }
      const top = scroller.scrollTop;
      scroller.scrollTop = top + scroller.clientHeight / 2;
      if (scroller.scrollTop === top) break;
    }
  }
  return figures;
}"""


def answer(path: Path | str, *words: str) -> str:
    """Return what ``kernlens annotate`` prints."""
    result = click.testing.CliRunner().invoke(command, [str(path), *words], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def in_json(document: Mapping[str, Any]) -> Iterator[tuple[Kernel, Figures]]:
    """Yield each kernel's lines by ``annotate --json``, counted here."""
    for number, program in enumerate(document["programs"]):
        for kernel in program["kernels"]:
            rows = kernel["instructions"]
            counts = Counter((row["path"], row["line"]) for row in rows if row["line"] and row["line_origin"] in OWN)
            yield (
                (number, kernel["name"]),
                {line: (f"{count:,}", f"{100 * count / len(rows):.1f}") for line, count in counts.items()},
            )


def in_text(text: str) -> list[tuple[str, Figures]]:
    """Return each kernel's name and lines by the text of ``annotate``, in its order."""
    kernels: list[tuple[str, Figures]] = []
    path = ""
    for row in text.split("\n"):
        if match := _KERNEL.match(row):
            kernels.append((match[1], {}))
        elif match := _LINE.match(row):
            kernels[-1][1][path, int(match[1])] = f"{int(match[2]):,}", match[3]  # the page separates thousands
        elif (match := _FILE.match(row)) and row[2] != " ":
            path = match[1]
    return kernels


def in_page(viewer: Viewer, document: ExploreDocument, kernel: Kernel) -> Figures:
    """Return a kernel's lines as they stand beside its source."""
    number, name = kernel
    program = document.index["programs"][number]
    paths = [file["path"] for file in program["files"]]
    link = f"#k={name}&p={program['id']}"
    rows: list[tuple[str, int, str, str]] = viewer.tab.evaluate(_READ, {"link": link, "paths": paths})
    return {(path, line): (value, share) for path, line, value, share in rows}


def differences(viewer: Viewer, document: ExploreDocument, path: Path | str) -> tuple[int, int, list[str]]:
    """Compare all kernels of a recording: how many kernels and lines were read in the page, and what differs."""
    stated = dict(in_json(json.loads(answer(path, "--json"))))
    told = in_text(answer(path))
    assert [name for name, _ in told] == [name for _, name in stated]
    listed = [program["kernels"]["name"] for program in document.index["programs"]]
    wrong, lines = [], 0
    kernels = 0
    for (kernel, figures), (_, text) in zip(stated.items(), told, strict=True):
        if kernel[1] not in listed[kernel[0]]:
            assert kernel[1] == PSEUDO_KERNEL
            continue
        kernels += 1
        shown = in_page(viewer, document, kernel)
        lines += len(shown)
        for where, other in (("page", shown), ("text", text)):
            for line in figures.keys() | other.keys():
                if figures.get(line) != other.get(line):
                    wrong.append(f"{kernel} {line}: {figures.get(line)} in JSON, {other.get(line)} in the {where}")
    return kernels, lines, wrong
