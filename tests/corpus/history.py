"""``diff --git`` over a real history: consecutive commits, the time of each, and every claim held against ``annotate --json``.

python -m tests.corpus.history REPOSITORY --commits 30 --from REV --device dg2 --options '-D WORKSIZE=256' 'kernel/*.cl'

Both sides of each commit are written out by ``git archive`` and annotated file by file, which shares nothing with ``diff`` but
the compiler and the decoder.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

#: Figures of a kernel that annotate states under the same key.
_STATED = ("simd", "grf_count", "spill_bytes", "scratch_bytes", "slm_bytes", "barriers", "code_size")


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
        return len(self.instructions) if key == "instructions" else self.document.get(key, key)

    @cached_property
    def lines(self) -> Counter[tuple[str, int]]:
        """The number of instructions of each line, by the file's own name: two files of one source have different ones."""
        return Counter(
            (os.path.basename(row["path"]), row["line"]) for row in self.instructions if row["line"] is not None
        )

    @property
    def opcodes(self) -> list[str]:
        return [row["opcode"] for row in self.instructions]


class Side:
    """The files of a commit, and the kernels of its sources as they are asked for."""

    def __init__(self, repository: str, commit: str, folder: Path, words: Sequence[str]) -> None:
        packed = subprocess.run(["git", "-C", repository, "archive", commit], capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        self._folder = folder
        self._words = words
        self._kernels: dict[str, dict[str, Annotated]] = {}

    def kernels(self, source: str) -> Mapping[str, Annotated]:
        """Return the kernels of a source by name; none if it does not compile."""
        if source not in self._kernels:
            recording = str(self._folder / "one.klens")
            done = kernlens("compile", source, *self._words, "-o", recording, folder=self._folder)
            programs = []
            if done.returncode == 0:
                programs = json.loads(kernlens("annotate", recording, "--json", folder=self._folder).stdout)["programs"]
            kernels = [kernel for program in programs for kernel in program["kernels"]]
            self._kernels[source] = {kernel["name"]: Annotated(kernel) for kernel in kernels}
        return self._kernels[source]

    def text(self, source: str) -> bytes:
        """Return the content of a file."""
        return (self._folder / source).read_bytes()


def kernlens(*words: str, folder: str | Path) -> subprocess.CompletedProcess[str]:
    """Run kernlens in a folder."""
    command = [sys.executable, "-c", "from kernlens.cli.main import main; main()", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


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
    checked, seconds = Checked(), []
    for commit, _, subject in (line.partition(" ") for line in reversed(listed.splitlines())):
        before, begin = os.times(), time.monotonic()
        done = kernlens(
            "diff", "--git", f"{commit}~1..{commit}", *chosen.paths, *words, "--json", folder=chosen.repository
        )
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        seconds.append(time.monotonic() - begin)
        if done.returncode not in (0, 1, 3) or not done.stdout:
            checked.wrong.append(f"{commit}: {done.stderr.strip()}")
            continue
        document = json.loads(done.stdout)
        with tempfile.TemporaryDirectory() as old, tempfile.TemporaryDirectory() as new:
            sides = [
                Side(chosen.repository, name, Path(folder), words)
                for name, folder in ((f"{commit}~1", old), (commit, new))
            ]
            check(document, sides, commit[:10], checked)
        print(
            f"{commit[:10]}  {seconds[-1]:6.1f} s  {spent:6.1f} s CPU  {_words(document)}  {subject[:50]}", flush=True
        )
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


def check(document: Mapping[str, Any], sides: Sequence[Side], place: str, checked: Checked) -> None:
    """Hold each claim of a document of ``diff`` against both sides."""
    pairs: dict[str, tuple[Mapping[str, Annotated], Mapping[str, Annotated]]] = {}
    for source in document["sources"]["compiled"]:
        old, new = (
            side.kernels(source[key]) if source[key] else {} for side, key in zip(sides, ("old", "new"), strict=True)
        )
        for key, kernels in (("old", old), ("new", new)):
            if source[key]:
                checked.same(
                    "a source compiles or not",
                    f"{place} {source[key]}",
                    source[f"{key}_failure"] is None,
                    bool(kernels),
                )
        pairs[os.path.splitext(source["new"] or source["old"])[0]] = (old, new)
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


if __name__ == "__main__":
    sys.exit(main())
