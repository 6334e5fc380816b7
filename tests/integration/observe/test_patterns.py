"""Kernels with one fault each, on data: advice names it at its line, and of kernels that look alike nothing is said.

The expectations were written down before the first run. Two faults have no rule: see ``MISSED``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.dataclass import dataclass
from kernlens.verbs.advise import advise
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_hardware_counters import DATA, pytestmark  # noqa: F401
from tests.whole import each_run

SOURCE = DATA / "patterns.cl"
#: Faults that no rule tells: no figure of the code shows that a sampler, or a store of one byte, is slow.
MISSED = {"linear_of_texels", "one_byte_each"}


@dataclass(frozen=True)
class Pattern:
    """A kernel: the rule or cause that is expected, "silent" if none is, its launch, and the lines of its fault."""

    kind: str
    launch: str
    lines: frozenset[int]


def patterns() -> Iterator[tuple[str, Pattern]]:
    kind, launch = "", ""
    lines = SOURCE.read_text().splitlines()
    for number, line in enumerate(lines):
        if match := re.fullmatch(r"// ([\w -]+) \| (.*)", line):
            kind, launch = match.groups()
        elif match := re.match(r"kernel void (\w+)", line):
            body = range(number, lines.index("}", number))
            yield (
                match[1],
                Pattern(kind, launch, frozenset(each + 1 for each in body if lines[each].endswith("// here"))),
            )


PATTERNS = dict(patterns())
FAULTS = [name for name, pattern in PATTERNS.items() if pattern.kind != "silent"]
ALIKE = [name for name, pattern in PATTERNS.items() if pattern.kind == "silent"]


def told(name: str, device: str, folder: Path) -> list[tuple[str, int]]:
    """Return the kinds and lines of all causes of a kernel, in their order."""
    path, launch = str(SOURCE), PATTERNS[name].launch
    if launch != "compile":
        path = str(folder / "k.klens")
        size, group, *arguments = launch.split()
        observe(
            *(SOURCE,),
            kernel=name, size=list(map(int, size.split("x"))), group=list(map(int, group.split("x"))),
            arguments=arguments, device=device, seconds=60, recording=path,
        )  # fmt: skip
    ranked = advise(path, kernel=name, device=device).ranked
    return [(each.kind, each.place.line if each.place else 0) for each in ranked]


def test_there_are_twice_as_many_look_alikes() -> None:
    assert (len(FAULTS), len(ALIKE)) == (20, 40)


@pytest.mark.parametrize("device", ["dg2", "pvc"])
@pytest.mark.parametrize("name", each_run("linked_list", "tree_of_a_group", "edge_of_33", others=FAULTS))
def test_a_fault_is_told_at_its_line(name: str, device: str, tmp_path: Path) -> None:
    pattern, causes = PATTERNS[name], told(name, device, tmp_path)
    if name in MISSED:
        assert causes == []
    else:
        assert (pattern.kind, True) in [(kind, line in pattern.lines) for kind, line in causes]


@pytest.mark.parametrize("device", ["dg2", "pvc"])
@pytest.mark.parametrize("name", each_run("gathered", "whole_bodies", "sorted_in_local_memory", others=ALIKE))
def test_a_look_alike_is_silent(name: str, device: str, tmp_path: Path) -> None:
    assert told(name, device, tmp_path) == []
