"""Bounds and refusals, dropped one by one: ``python -m tests.dropped_bounds --draw 40 --seed 1``. A unit test has to fail each
time; those that none notices are listed.

A guard is an ``if`` whose block raises an error of kernlens's own; or whose block begins with a ``raise``, ``return``,
``break`` or ``continue`` and whose condition compares something with a constant, a name in capitals or a number above 1.
The tests are those nearest to the module (tests/touched.py), on a copy of the package; the tree itself is not changed.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.touched import RULES, import_graph, touched
from tests.tree import PACKAGE, ROOT, nodes_of, package_files, text_of

#: Files of tests that are run for a guard, the nearest first.
_MOST_FILES = 12
_ENDS = (ast.Raise, ast.Return, ast.Break, ast.Continue)


class Guard(NamedTuple):
    """The condition of an ``if``, by its place in a file."""

    path: Path
    line: int
    start: int
    stop: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(PACKAGE)}:{self.line}: if {self.text}"


def guards(path: Path) -> Iterator[Guard]:
    """Yield the guards of a file."""
    content = text_of(path).encode()
    starts = [0]
    for line in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in nodes_of(path):
        if isinstance(node, ast.If) and isinstance(node.body[0], _ENDS) and (_refuses(node) or _is_bound(node.test)):
            test = node.test
            assert test.end_lineno is not None
            assert test.end_col_offset is not None
            start = starts[test.lineno - 1] + test.col_offset
            stop = starts[test.end_lineno - 1] + test.end_col_offset
            yield Guard(path, test.lineno, start, stop, " ".join(content[start:stop].decode().split()))


def _refuses(node: ast.If) -> bool:
    first = node.body[0]
    if not isinstance(first, ast.Raise) or not isinstance(first.exc, ast.Call):
        return False
    name = first.exc.func
    return isinstance(name, ast.Name) and name.id.endswith("Error") and not hasattr(builtins, name.id)


def _is_bound(test: ast.expr) -> bool:
    compared = [
        side
        for node in ast.walk(test)
        if isinstance(node, ast.Compare)
        and any(isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for sign in node.ops)
        for side in (node.left, *node.comparators)
    ]
    names = {node.id for side in compared for node in ast.walk(side) if isinstance(node, ast.Name)}
    numbers = [side.value for side in compared if isinstance(side, ast.Constant) and isinstance(side.value, int)]
    return any(name.strip("_").isupper() and len(name) > 3 for name in names) or any(number > 1 for number in numbers)


def survives(guard: Guard, copy: Path, tests: list[str]) -> bool:
    """Return whether all tests pass when the guard is never true."""
    place = copy / guard.path.relative_to(PACKAGE.parent)
    content = guard.path.read_bytes()
    place.write_bytes(content[: guard.start] + b"False" + content[guard.stop :])
    words = ["-q", "-x", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    variables = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=variables, capture_output=True, timeout=900
        )
    except subprocess.TimeoutExpired:
        return False
    finally:
        place.write_bytes(content)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draw", type=int, default=40, help="how many guards are dropped (default: 40)")
    parser.add_argument("--seed", type=int, default=1, help="the draw, which is the same each time")
    parser.add_argument("--room", default="", help="only guards of these files: the beginning of their path")
    chosen = parser.parse_args()
    every = [
        guard
        for path in package_files()
        if str(path.relative_to(PACKAGE)).startswith(chosen.room)
        for guard in guards(path)
    ]
    drawn = random.Random(chosen.seed).sample(every, min(chosen.draw, len(every)))
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    graph = import_graph(paths)
    unit = [str(path.relative_to(ROOT)) for path in paths if path.name.startswith("test_")]
    unit = [name for name in unit if name.startswith("tests/unit/") and not name.startswith(f"{RULES}/")]
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy)
        for guard in drawn:
            near = touched([str(guard.path.relative_to(ROOT))], graph, unit) or {}
            tests = sorted(near, key=lambda name: (near[name], name))[:_MOST_FILES]
            has_survived = survives(guard, copy, tests)
            survivors += has_survived
            print(f"{'SURVIVED' if has_survived else 'noticed '} {guard}", flush=True)
    print(f"{len(every):,} guards, {len(drawn)} dropped (seed {chosen.seed}), {survivors} not noticed")
    return survivors > 0


if __name__ == "__main__":
    sys.exit(main())
