"""The unit tests that a change touches, the nearest first: ``python -m tests.touched [REVISION]``, as scripts/check.sh runs it.

A file of tests is touched if it imports a changed module, at once or through others. It is the nearer the fewer imports lie
between, and nearer still in the changed module's own room. Tests are run as long as processor time is left, and the last line
says which were not.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests.tree import ROOT

#: Seconds of processor time after which no test is begun; ruff, mypy and the last test have what is left of twenty.
SECONDS = 14.0
#: The most files of tests that are collected: more could not be run in that time.
MOST_FILES = 80
#: What changes everything, by the beginning of its path.
EVERYTHING = (
    *("tests/conftest.py", "tests/unit/conftest.py", "tests/environment.py", "tests/touched.py", "scripts/", "native/"),
    *("pyproject.toml", "setup.py", ".ci/"),
)
#: What no module imports: the beginning of its path -> the tests that look at it.
LOOKED_AT = {
    "docs/": ("tests/unit/docs", "tests/unit/rules"),
    "README.md": ("tests/unit/docs",),
    "CHANGELOG.md": ("tests/unit/docs",),
    "CONTRIBUTING.md": ("tests/unit/docs",),
    "examples/": ("tests/unit/docs", "tests/unit/package"),
    "viewer/": ("tests/unit/viewer",),
    "editors/": ("tests/unit/viewer",),
    "src/kernlens/explorer/viewer/": ("tests/unit/viewer", "tests/unit/report"),
    "tests/fuzz/corpus/": ("tests/unit/testing",),
}
#: They look at all modules, whichever has changed; they come behind the tests that import it themselves.
RULES = "tests/unit/rules"
_RULES_AT = 1.5

_IMPORT = re.compile(
    r"^([ \t]*)(?:from[ \t]+((?:kernlens|tests)[\w.]*)[ \t]+import[ \t]+(\([^)]*\)|.*)|import[ \t]+((?:kernlens|tests)[\w.]*))",
    re.M,
)
_TYPES_ALONE = re.compile(r"^if TYPE_CHECKING:\n(?:(?:[ \t]+.*)?\n)+", re.M)
_VERB = re.compile(r"\bkernlens\(\s*\"(\w+)\"")


def changed_files(revision: str) -> list[str]:
    """Return the files that differ from a revision, with those that git does not know yet."""
    answers = [
        subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for words in (["diff", "--name-only", "-z", revision], ["ls-files", "--others", "--exclude-standard", "-z"])
    ]
    return sorted({name for answer in answers for name in answer.split("\0") if name})


def imports(text: str) -> Iterator[str]:
    """Yield the dotted names of what a module of the tree imports while it runs, and of the verbs that a test calls."""
    for _, base, names, name in _IMPORT.findall(_TYPES_ALONE.sub("", text)):
        if name:
            yield name
        else:
            yield base
            yield from (f"{base}.{word}" for word in re.findall(r"\w+", names.partition("#")[0]))
    yield from (f"kernlens.cli.{verb}" for verb in _VERB.findall(text))


def module_name(path: Path) -> str:
    """Return the dotted name of a file below ``src`` or ``tests``."""
    base = ROOT / "src" if path.is_relative_to(ROOT / "src") else ROOT
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def import_graph(paths: Iterable[Path]) -> dict[str, set[str]]:
    """Return which modules each one imports: those named and the packages around them, as Python does."""
    texts = {module_name(path): path.read_text("utf-8") for path in paths}
    graph: dict[str, set[str]] = {}
    for name, text in texts.items():
        named = set(imports(text)) & texts.keys()
        around = {".".join(each.split(".")[:length]) for each in named for length in range(1, each.count(".") + 1)}
        graph[name] = (named | around & texts.keys()) - {name}
    return graph


def distances(graph: Mapping[str, set[str]], changed: Iterable[str]) -> dict[str, int]:
    """Return how many imports lead from each module to the nearest changed one."""
    users: dict[str, set[str]] = {}
    for name, imported in graph.items():
        for each in imported:
            users.setdefault(each, set()).add(name)
    far = dict.fromkeys(changed, 0)
    waiting = deque(far)
    while waiting:
        name = waiting.popleft()
        for user in users.get(name, ()):
            if user not in far:
                far[user] = far[name] + 1
                waiting.append(user)
    return far


def touched(changed: Sequence[str], graph: Mapping[str, set[str]], tests: Iterable[str]) -> dict[str, float] | None:
    """Return how far each touched file of tests is from these changed files; None if all of them are touched."""
    if any(name.startswith(EVERYTHING) for name in changed):
        return None
    tests = list(tests)
    near: dict[str, float] = {}
    for beginning, folders in LOOKED_AT.items():
        if any(name.startswith(beginning) for name in changed):
            near |= {test: 1.0 for test in tests if test.startswith(tuple(f"{each}/" for each in folders))}
    modules = [module_name(ROOT / name) for name in changed if name.endswith(".py")]
    rooms = {module.split(".")[1] for module in modules if module.startswith("kernlens.")}
    far = distances(graph, modules)
    for test in tests:
        if (steps := far.get(module_name(ROOT / test))) is not None:
            near[test] = min(near.get(test, steps), steps - (test.split("/")[2] in rooms and steps > 1))
    if modules:
        near |= {test: min(near.get(test, _RULES_AT), _RULES_AT) for test in tests if test.startswith(f"{RULES}/")}
    return near


class Budget:
    """A plugin of pytest's that begins no test when the processor time is spent, and says which it left out."""

    def __init__(self, not_collected: Sequence[str]) -> None:
        self._left: Counter[str] = Counter()
        self._not_collected = not_collected

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if sum(os.times()[:4]) < SECONDS:
            return None
        self._left[item.nodeid.partition("::")[0]] += 1
        return True

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        files = [*self._left, *self._not_collected]
        if files:
            rooms = ", ".join(
                f"{room} {count}" for room, count in Counter(each.split("/")[2] for each in files).items()
            )
            terminalreporter.write_line(
                f"left out, as {SECONDS:.0f} s of processor time are spent: {self._left.total()} tests of {len(self._left)}"
                f" files and {len(self._not_collected)} files more, all farther from the change (files: {rooms});"
                " bash scripts/check.sh --all runs them"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "revision", nargs="?", default="HEAD", help="the change is what differs from it (default: HEAD)"
    )
    changed = changed_files(parser.parse_args().revision)
    if not changed:
        print("nothing has changed since then; bash scripts/check.sh --all runs all unit tests")
        return 0
    paths = [*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    tests = [str(path.relative_to(ROOT)) for path in sorted(paths) if path.name.startswith("test_")]
    unit = [test for test in tests if test.startswith("tests/unit/")]
    near = touched(changed, import_graph(paths), unit)
    if near is None:
        print("the change touches all tests")
        os.execv(sys.executable, [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not slow", "tests/unit"])
    if not near:
        print(f"no unit test looks at {', '.join(changed[:5])}")
        return 0
    order = sorted(near, key=lambda test: (test not in changed, near[test], test))
    print(f"{len(order)} of {len(unit)} files of unit tests are touched", flush=True)
    # Few processes would gain little: each collects, and the time of all of them counts.
    return int(
        pytest.main(
            ["-q", "-p", "no:xdist", "-m", "not slow", *order[:MOST_FILES]], plugins=[Budget(order[MOST_FILES:])]
        )
    )


if __name__ == "__main__":
    sys.exit(main())
