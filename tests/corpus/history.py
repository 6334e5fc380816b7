"""``diff --git`` over a real history: consecutive commits, the time of each, and every claim of its JSON and of its comment for
a pull request held against ``annotate --json``; of the comment at most 15 lines are above what is folded.

python -m tests.corpus.history REPOSITORY --commits 30 --from REV --device dg2 --options '-D WORKSIZE=256' 'kernel/*.cl'

The folders of the paths are written out for both sides of each commit and annotated file by file, which shares nothing with
``diff`` but the compiler and the decoder.
"""

from __future__ import annotations

import argparse
import html
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.warm_commands import kernlens

#: Figures of a kernel that annotate states under the same key.
_STATED = ("simd", "grf_count", "spill_bytes", "scratch_bytes", "slm_bytes", "barriers", "code_size")
#: Lines of a comment above what is folded, at most.
_FIRST = 15
#: Figures by their headings, where the key is another.
_KEYS = {
    "SIMD": "simd",
    "GRF count": "grf_count",
    "private": "private_bytes",
    "scratch": "scratch_bytes",
    "SLM": "slm_bytes",
}
_BOTH = re.compile(r"([\d,]+) -> ([\d,]+)")
_FIGURE = re.compile(r"(?:^|, )([A-Za-z][A-Za-z ]*?) (\d+(?:,\d{3})*) -> (\d+(?:,\d{3})*)")
#: A line of the source in a kernel's own block: counts of both sides, the number on the old side if it is another, the number,
#: and what follows the bar.
_ROW = re.compile(r"^ *([\d,]+) +([\d,]+) .*?(?:(\d+) -> )?(\d+) \| (.*)$")


@dataclass
class Checked:
    """The claims that were checked, by their kinds, and those that are wrong."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def same(self, kind: str, place: str, told: object, known: object) -> None:
        """Count a claim, and note it if it is not what is known."""
        self.counts[kind] += 1
        if told != known and not (isinstance(told, float) and isinstance(known, float) and math.isclose(told, known)):
            self.wrong.append(f"{place}: {kind}: {told!r}, but {known!r}")


@dataclass(frozen=True)
class Annotated:
    """A kernel as ``annotate --json`` has it."""

    document: dict[str, Any]

    @property
    def instructions(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.document["instructions"]
        return rows

    def figure(self, key: str) -> object:
        """Return a figure by its key; of one that annotate does not state, the key itself."""
        if key == "instructions":
            return len(self.instructions)
        return self.document.get(key, self.document.get("costs", {}).get(key, key))

    @cached_property
    def lines(self) -> Counter[tuple[str, int]]:
        """The number of instructions of each line, by the file's own name: two files of one source have different ones."""
        return Counter(
            (os.path.basename(row["path"]), row["line"]) for row in self.instructions if row["line"] is not None
        )

    @property
    def opcodes(self) -> list[str]:
        return [row["opcode"] for row in self.instructions]


#: The kernels of both sides by name, of each program.
Pairs = dict[str, tuple[Mapping[str, "Annotated"], Mapping[str, "Annotated"]]]


class Side:
    """The files of a commit, and the kernels of its sources as they are asked for."""

    def __init__(
        self, repository: str, commit: str, folder: Path, words: Sequence[str], folders: Sequence[str]
    ) -> None:
        git = ["git", "-C", repository]
        listed = subprocess.run([*git, "ls-tree", "-rz", commit, *folders], capture_output=True, check=True).stdout
        for entry in filter(None, listed.decode().split("\0")):
            about, _, path = entry.partition("\t")
            mode, _, blob = about.split()
            if mode.startswith("100"):
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(
                    subprocess.run([*git, "cat-file", "blob", blob], capture_output=True, check=True).stdout
                )
        self._folder = folder
        self._words = words
        self._kernels: dict[str, dict[str, Annotated]] = {}
        self.compiled: dict[str, bool] = {}

    def kernels(self, source: str) -> Mapping[str, Annotated]:
        """Return the kernels of a source by name; none if it does not compile."""
        if source not in self._kernels:
            recording = str(self._folder / "one.klens")
            done = kernlens("compile", source, *self._words, "-o", recording, cwd=self._folder)
            self.compiled[source] = done.returncode == 0
            # A source without a kernel compiles, and there is nothing to annotate.
            listed = kernlens("annotate", recording, "--json", cwd=self._folder).stdout if not done.returncode else ""
            programs = json.loads(listed)["programs"] if listed else []
            kernels = [kernel for program in programs for kernel in program["kernels"]]
            self._kernels[source] = {kernel["name"]: Annotated(kernel) for kernel in kernels}
        return self._kernels[source]

    def text(self, source: str) -> bytes:
        """Return the content of a file."""
        return (self._folder / source).read_bytes()


def main() -> int:
    """Print a line for each commit, and at the end the claims that were checked; the status is 1 if one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--commits", type=int, default=30)
    parser.add_argument("--from", dest="last", default="HEAD", help="the newest of them")
    parser.add_argument("--device", default="dg2")
    parser.add_argument("--toolchain", default="system")
    parser.add_argument("--options", default="")
    chosen = parser.parse_args()
    log = ["git", "-C", chosen.repository, "log", "--no-merges", "--format=%H %s", f"-n{chosen.commits}", chosen.last]
    listed = subprocess.run([*log, "--", *chosen.paths], capture_output=True, text=True, check=True).stdout
    words = ["--device", chosen.device, "--toolchain", chosen.toolchain, "--build-options", chosen.options]
    folders = sorted({path.partition("*")[0].rpartition("/")[0] for path in chosen.paths} - {""})
    checked, seconds = Checked(), []
    for commit, _, subject in (line.partition(" ") for line in reversed(listed.splitlines())):
        asked = ["diff", "--git", f"{commit}~1..{commit}", *chosen.paths, *words]
        begin = time.monotonic()
        done = kernlens(*asked, "--json", cwd=Path(chosen.repository))
        seconds.append(time.monotonic() - begin)
        if done.returncode not in (0, 1, 3) or not done.stdout:
            checked.wrong.append(f"{commit}: {done.stderr.strip()}")
            continue
        document = json.loads(done.stdout)
        comment = kernlens(*asked, "--markdown", cwd=Path(chosen.repository)).stdout
        with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
            sides = [
                Side(chosen.repository, name, Path(folder), words, folders)
                for name, folder in ((f"{commit}~1", old), (commit, new))
            ]
            pairs = check(document, sides, commit[:10], checked)
            check_comment(comment, pairs, commit[:10], checked)
        print(f"{commit[:10]}  {seconds[-1]:6.1f} s  {_words(document)}  {subject[:50]}", flush=True)
    for kind, count in sorted(checked.counts.items()):
        print(f"{count:8,} {kind}")
    count = sum(checked.counts.values())
    print(f"{count:8,} claims, {len(checked.wrong):,} wrong; {sum(seconds):.0f} s for {len(seconds)} commits")
    print("\n".join(checked.wrong))
    return 1 if checked.wrong else 0


def _words(document: Mapping[str, Any]) -> str:
    sources, summary = document["sources"], document["summary"]
    failed = sum(bool(each["old_failure"] or each["new_failure"]) for each in sources["compiled"])
    counts = (
        f"{summary['equal']} equal, {summary['grown']} grown, {summary['shrunk']} shrunk, {summary['others']} others"
    )
    return f"{len(sources['compiled'])} sources ({failed} fail), {sources['unchanged']} not compiled: {counts}"


def check(document: Mapping[str, Any], sides: Sequence[Side], place: str, checked: Checked) -> Pairs:
    """Hold each claim of a document of ``diff`` against both sides, and return the kernels of these."""
    pairs: Pairs = {}
    for source in document["sources"]["compiled"]:
        old, new = (
            side.kernels(source[key]) if source[key] else {} for side, key in zip(sides, ("old", "new"), strict=True)
        )
        for key, side in zip(("old", "new"), sides, strict=True):
            if source[key]:
                checked.same(
                    "a source compiles or not",
                    f"{place} {source[key]}",
                    source[f"{key}_failure"] is None,
                    side.compiled[source[key]],
                )
        pairs[os.path.splitext(source["new"] or source["old"])[0]] = (old, new)
    _move(pairs)
    differing = {(each["new"]["program"], each["name"]): each for each in document["kernels"]}
    compared = 0
    ratios: dict[str, list[float]] = {"instructions": [], "code_size": []}
    for program, (old, new) in pairs.items():
        for name in old.keys() & new.keys():
            compared += 1
            at = f"{place} {program} {name}"
            change = differing.get((program, name))
            _check_kernel(change, old[name], new[name], at, checked)
            for key, values in ratios.items() if change else ():
                values.append(new[name].figure(key) / old[name].figure(key))  # type: ignore[operator]  # numbers
        names = {
            key: {each["kernel"] for each in document[key] if each["program"] == program}
            for key in ("only_old", "only_new")
        }
        if old and new:
            checked.same(
                "kernels of one side",
                f"{place} {program}",
                names,
                {"only_old": old.keys() - new.keys(), "only_new": new.keys() - old.keys()},
            )
    checked.same("kernels compared", place, document["compared"], compared)
    for mean in document["summary"]["means"]:
        values = ratios.get(mean["metric"], [])
        if values:
            checked.same(
                "a mean",
                f"{place} {mean['metric']}",
                mean["ratio"],
                math.exp(math.fsum(map(math.log, values)) / len(values)),
            )
    return pairs


def _move(pairs: Pairs) -> None:
    """Put kernels that stand in another source now, the only ones of their name on each side, beside their old ones."""
    places: list[dict[str, list[str]]] = [{}, {}]
    for program, sides in pairs.items():
        for names, own, other in zip(places, sides, reversed(sides), strict=True):
            for name in own.keys() - other.keys():
                names.setdefault(name, []).append(program)
    for name in places[0].keys() & places[1].keys():
        if len(places[0][name]) == 1 == len(places[1][name]):
            (before,), (after,) = places[0][name], places[1][name]
            gone = dict(pairs[before][0])
            come = {**pairs[after][0], name: gone.pop(name)}
            pairs[before] = (gone, pairs[before][1])
            pairs[after] = (come, pairs[after][1])


def _check_kernel(change: Mapping[str, Any] | None, old: Annotated, new: Annotated, at: str, checked: Checked) -> None:
    figures = {each["metric"]: each for each in change["figures"]} if change else {}
    for key in (*_STATED, "instructions"):
        told = (figures[key]["old"], figures[key]["new"]) if key in figures else (old.figure(key),) * 2
        checked.same(f"figure {key}", at, told, (old.figure(key), new.figure(key)))
    if change is None or change["same_instructions"]:
        checked.same("equal code", at, old.opcodes, new.opcodes)
        return
    for line in change["lines"]:
        if line["path"] is None:
            continue
        for side, own in (("old", old), ("new", new)):
            number = line[f"{side}_line"]
            names = [name for name, known in own.lines if known == number and number is not None]
            base = os.path.basename(line["path"])
            # A renamed source is called by its new name.
            counted = own.lines.get((base if base in names else names[0], number), 0) if names else 0
            checked.same("instructions of a line", f"{at} {side} {line['path']}:{number}", line[side], counted)


def check_comment(comment: str, pairs: Pairs, place: str, checked: Checked) -> None:
    """Hold what a comment for a pull request says against both sides."""
    lines = html.unescape(re.sub(r"</?(?:code|pre|summary)>", "", comment)).splitlines()
    first = next((number for number, line in enumerate(lines) if line.startswith("<details>")), len(lines))
    checked.same("lines above the fold", place, first <= _FIRST or first, True)
    headings: list[str] = []
    kernel, program, path = "", "", ""
    for line in lines:
        words = line.strip("|").split("|") if line.startswith("|") else []
        if words[:2] == ["kernel", "program"]:
            headings = words[2:]
        elif len(words) > 2 and words[0] != "-":
            figures = zip(headings, words[2:], strict=True)
            _check_figures(dict(figures), words[0], words[1], pairs, place, checked)
        elif line.startswith("<details>"):
            # Of a kernel or a program with another name now, the new one; kernels that are called otherwise are not held.
            titled = re.match(r"<details>(\S+)  (?:\S+ on .* -> )?(\S+) on ", line)
            kernel, program = (titled[1], titled[2]) if titled else ("", "")
            is_held = all(kernel in side for side in pairs.get(program, ({},)))
            if titled:
                checked.counts[f"comment: a kernel's block{'' if is_held else ' that is not held'}"] += 1
            kernel, path = kernel if is_held else "", ""
        elif match := re.match(r"[-+] only here: (\S+)  (\S+) on [^:]*: (.*), ([\d,]+) bytes of code", line):
            side = pairs.get(match[2], ({}, {}))[line.startswith("+")]
            known = side[match[1]].figure("code_size") if match[1] in side else None
            checked.same("code of a kernel of one side", f"{place} {match[1]}", _number(match[4]), known)
        elif match := re.match(r"  \S+:\d+ (alone|left out): (\S+) (.*)", line):
            _check_hunk(match[1] == "alone", match[2], match[3], pairs, place, checked)
        elif kernel and (match := re.match(r"  (\S*\.\w+)$", line)):
            path = os.path.basename(match[1])
        elif kernel and line.startswith("  ") and _BOTH.search(line) and not line.startswith("   "):
            told = {each[1]: each[0] for each in _FIGURE.finditer(line.strip())}
            _check_figures(told, kernel, program, pairs, place, checked)
        elif kernel and path and (match := _ROW.match(line)):
            _check_row(match, path, pairs[program][0][kernel], pairs[program][1][kernel], place, checked)


def _check_figures(
    told: Mapping[str, str], kernel: str, program: str, pairs: Pairs, place: str, checked: Checked
) -> None:
    old, new = (side.get(kernel) for side in pairs.get(program, ({}, {})))
    for heading, cell in told.items():
        match = _BOTH.search(cell)
        if old is None or new is None:
            continue
        key = _KEYS.get(heading, heading.replace(" ", "_"))
        if match:
            known = old.figure(key), new.figure(key)
            checked.same(f"comment: {key}", f"{place} {kernel}", (_number(match[1]), _number(match[2])), known)
        elif cell == "=":
            checked.same(f"comment: {key} as before", f"{place} {kernel}", old.figure(key), new.figure(key))


def _check_hunk(is_alone: bool, kernel: str, words: str, pairs: Pairs, place: str, checked: Checked) -> None:
    """Hold what a hunk does against the side that it is compared with: the old one where it is alone."""
    sides = [pair[0 if is_alone else 1] for pair in pairs.values()]
    own = [side[kernel] for side in sides if kernel in side]
    for each in _FIGURE.finditer(words.partition(";")[0]) if len(own) == 1 else ():
        key = _KEYS.get(each[1], each[1].replace(" ", "_"))
        told = _number(each[2 if is_alone else 3])
        checked.same(f"comment: a hunk's {key}", f"{place} {kernel}", told, own[0].figure(key))


def _check_row(row: re.Match[str], path: str, old: Annotated, new: Annotated, place: str, checked: Checked) -> None:
    """Hold the counts of a line against both sides'."""
    marks = row[5].rpartition("  ; ")[2]
    for side, lines, count, number in (
        ("old", old.lines, row[1], None if "added" in marks else row[3] or row[4]),
        ("new", new.lines, row[2], None if "deleted" in marks else row[4]),
    ):
        known = sum(have for (_, line), have in lines.items() if number and line == int(number))
        own = lines.get((path, int(number)), 0) if number else 0
        # A renamed source, or an edited line whose number on the old side the comment does not say.
        if side == "old" and "edited" in marks and row[3] is None and own != _number(count):
            continue
        checked.same("comment: instructions of a line", f"{place} {side} {path}:{number}", _number(count), own or known)


def _number(text: str) -> int:
    return int(text.replace(",", ""))


if __name__ == "__main__":
    sys.exit(main())
