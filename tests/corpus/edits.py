"""Edits of real kernels against what ``diff`` says of them: ``python -m tests.corpus.edits [NAME...] [--newest-root ROOT]``.

Of each edit both directions are compared: one mirrors the other, and every figure is the one that ``annotate --json`` prints
of that side.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.corpus.edit_list import AS_MANY, EDITS, FEWER, MORE, Change, Edit
from tests.corpus.packages import fetch

_COUNTED = "instructions"


def problems(edit: Edit, folder: Path) -> list[str]:
    """Return what is not as expected, a sentence each; ``folder`` is empty and takes both sides."""
    old, new = _sides(edit, folder)
    there, back = (
        _document("diff", *both, *_words(edit, turned)) for turned, both in enumerate(((old, new), (new, old)))
    )
    return [*_unexpected(edit, there, folder), *_not_mirrored(there, back), *_not_annotated(edit, there, (old, new))]


def _sides(edit: Edit, folder: Path) -> tuple[Path, Path]:
    source = fetch(["darktable"]) / "darktable/usr/share/darktable/kernels"
    for side in ("old", "new"):
        (folder / side).mkdir()
        for path in (*source.glob("*.h"), *source.glob("*.cl")):
            shutil.copy(path, folder / side)
    path = folder / "new" / (edit.edited or edit.file)
    for before, after in edit.replaced:
        text = path.read_text()
        assert before in text, f"{edit.name}: {path.name} does not hold {before!r}"
        path.write_text(text.replace(before, after, 1))
    for file, text in edit.new_files.items():
        (folder / "new" / file).write_text(text)
    return folder / "old" / edit.file, folder / "new" / edit.file


def _words(edit: Edit, turned: int) -> list[str]:
    words = ["--device", edit.device, "--toolchain", edit.toolchain]
    if any(edit.options):
        words += [f"--build-options={each}" for each in (reversed(edit.options) if turned else edit.options)]
    return words


def _document(*words: str | Path) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "kernlens", *map(str, words), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def _unexpected(edit: Edit, document: Any, folder: Path) -> Iterator[str]:
    kernels = {kernel["name"]: kernel for kernel in document["kernels"]}
    sides = {side: {each["kernel"] for each in document[side]} for side in ("only_old", "only_new")}
    for side, expected in (("only_old", edit.only_old), ("only_new", edit.only_new)):
        if sides[side] != expected:
            yield f"{side} is {sorted(map(str, sides[side]))}, not {sorted(expected)}"
    renamed = {each["name"]: each["old_name"] for each in document["renamed"]}
    if renamed != edit.renamed:
        yield f"renamed are {renamed}, not {edit.renamed}"
    if kernels.keys() != edit.changes.keys():
        yield f"changed are {sorted(kernels)}, not {sorted(edit.changes)}"
    for name in kernels.keys() & edit.changes.keys():
        for problem in _unexpected_of_kernel(edit, edit.changes[name], kernels[name], folder):
            yield f"{name}: {problem}"


def _unexpected_of_kernel(edit: Edit, change: Change, kernel: Any, folder: Path) -> Iterator[str]:
    figures = {each["metric"]: (each["old"], each["new"]) for each in kernel["figures"]}
    spills = figures.get("spill_stores", figures.get("spill_bytes", (0, 0)))
    for what, expected, (old, new) in (
        ("instructions", change.instructions, figures.get(_COUNTED, (0, 0))),
        ("spills", change.spills, spills),
    ):
        wrong = {MORE: new <= old, FEWER: new >= old, AS_MANY: new != old}
        if wrong.get(expected):
            yield f"{what} went from {old} to {new}, not to {expected}"
    old, new = figures.get(_COUNTED, (0, 0))
    if kernel["lines"] and sum(line["new"] - line["old"] for line in kernel["lines"]) != new - old:
        yield "the lines do not add up to the difference of instructions"
    if change.simd is not None and figures.get("simd") != change.simd:
        yield f"SIMD is {figures.get('simd')}, not {change.simd}"
    named = set()
    for line in [*(each for each in kernel["lines"] if each["edited"]), *kernel["edited"]]:
        side, number = ("new", line["new_line"]) if line["new_line"] else ("old", line["old_line"])
        named.add(_text(folder / side, line["path"], number))
    for cause in change.cause:
        if not any(cause in text for text in named):
            yield f"no line with {cause!r} is named as edited, only {sorted(named)}"
    edited = [text for texts in edit.replaced for part in texts for text in part.splitlines()]
    for text in named:
        if not any(text.strip() in each or each.strip() in text for each in edited if each.strip()):
            yield f"{text.strip()!r} is named as edited"


def _text(folder: Path, path: str, number: int) -> str:
    file = next(each for each in folder.iterdir() if each.name == Path(path).name)
    return file.read_text().splitlines()[number - 1]


def _not_mirrored(there: Any, back: Any) -> Iterator[str]:
    if (there["equal"], there["compared"]) != (back["equal"], back["compared"]):
        yield "one direction is equal, or has more pairs, than the other"
    for side, opposite in (("only_old", "only_new"), ("only_new", "only_old")):
        if [each["kernel"] for each in there[side]] != [each["kernel"] for each in back[opposite]]:
            yield f"{side} is not the {opposite} of the other direction"
    if {each["name"]: each["old_name"] for each in there["renamed"]} != {
        each["old_name"]: each["name"] for each in back["renamed"]
    }:
        yield "the other direction has other renamed kernels"
    forth, mirrored = (
        {_key(each, side): each for each in document["kernels"]} for document, side in ((there, 0), (back, 1))
    )
    if forth.keys() != mirrored.keys():
        yield "the other direction has other changed kernels"
    for key in forth.keys() & mirrored.keys():
        kernel, turned = forth[key], mirrored[key]
        if sorted((each["metric"], each["old"], each["new"]) for each in kernel["figures"]) != sorted(
            (each["metric"], each["new"], each["old"]) for each in turned["figures"]
        ):
            yield f"{key}: the figures are not mirrored"
        if _lines(kernel, "old", "new") != _lines(turned, "new", "old"):
            yield f"{key}: the lines are not mirrored"


def _key(kernel: Any, side: int) -> str:
    return str((kernel["name"], kernel.get("old_name") or kernel["name"])[side])


def _lines(kernel: Any, before: str, after: str) -> list[Any]:
    return sorted(
        (
            Path(line["path"] or "").name,
            line[f"{before}_line"] or 0,
            line[f"{after}_line"] or 0,
            line["prologue"],
            line["inherited"],
            line["change"],
            str(line["edited"]),
            line[before],
            line[after],
            line["removed" if before == "old" else "added"],
            line["added" if before == "old" else "removed"],
        )
        for line in kernel["lines"]
    )


def _not_annotated(edit: Edit, document: Any, sides: tuple[Path, Path]) -> Iterator[str]:
    """Compare every figure with the one of ``annotate`` of that side."""
    changed = [kernel for kernel in document["kernels"] if kernel["figures"]]
    if not changed:
        return
    for number, (side, path) in enumerate(zip(("old", "new"), sides, strict=True)):
        recording = path.with_suffix(".klens")
        options = edit.options[number]
        words = ["--device", edit.device, "--toolchain", edit.toolchain, f"--build-options={options}"]
        _document("compile", path, *words, "-o", recording)
        for kernel in changed:
            name = (kernel.get("old_name") or kernel["name"]) if side == "old" else kernel["name"]
            (program,) = _document("annotate", recording, "--kernel", name, "--top", "1")["programs"]
            (of_side,) = program["kernels"]
            for each in kernel["figures"]:
                value = of_side.get(each["metric"], of_side.get("costs", {}).get(each["metric"], "missing"))
                if value != each[side]:
                    yield f"{name}: {each['metric']} is {each[side]} in diff, and {value} in annotate"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the edits' names; all by default")
    parser.add_argument("--newest-root", help="the newest driver's root folder")
    arguments = parser.parse_args()
    if arguments.newest_root:
        os.environ["KERNLENS_NEWEST_ROOT"] = arguments.newest_root
    chosen = [edit for edit in EDITS if not arguments.names or any(name in edit.name for name in arguments.names)]
    wrong = 0
    for edit in chosen:
        with tempfile.TemporaryDirectory() as folder:
            sentences = problems(edit, Path(folder))
        wrong += bool(sentences)
        print(f"{'wrong' if sentences else 'right'}  {edit.name}", *sentences, sep="\n       ", flush=True)
    print(f"{len(chosen) - wrong} of {len(chosen)} edits are as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
