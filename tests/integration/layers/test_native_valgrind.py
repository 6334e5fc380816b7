"""The layer and the second build's program under valgrind, which sees what the sanitizers do not: reads of undefined
values, and all that the drivers do with memory of ours.

Drivers have errors of their own, which nobody here can mend: an error counts if one of its stacks begins in code of ours
(:func:`is_ours`), be it the access, or where the memory was asked for or given back.

A compiler is some thirty times slower there, so this runs when it is asked for (docs/testing.md): with
``KERNLENS_VALGRIND=brief`` the fewest builds that take every way, on the compiler that starts fastest; with ``all`` every
check, and PoCL as well.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.layers.opencl_layer_fixtures import SLICES, Platform, intel, passed, pocl, work

__all__ = ["work"]

VALGRIND = (
    "valgrind",
    "--xml=yes",
    "--leak-check=full",
    "--num-callers=30",
    "--child-silent-after-fork=yes",
    # The second build's program is ours; the disassemblers and linkers that run as well are not.
    "--trace-children=yes",
    "--trace-children-skip=*llvm-dis*,*objdump,*spirv-dis,*/ld,*/ld.bfd,*/clang*",
)
OURS = ("libkernlens_opencl_layer.so", "kernlens_second_build", "snapshot_test")
#: Who allocates, copies and calls for others.
PASSED_OVER = ("/libc.so", "vgpreload_")

#: Platform -> how to run the test program.
RUNS = {"all": {"pocl": "checks", "dg2": "checks"}}.get(os.environ.get("KERNLENS_VALGRIND", ""), {"dg2": "brief"})
pytestmark = pytest.mark.skipif(
    "KERNLENS_VALGRIND" not in os.environ, reason="takes minutes: KERNLENS_VALGRIND is not set (docs/testing.md)"
)


def is_ours(stack: ET.Element) -> bool:
    """Whether the innermost frame outside the C library is of this project."""
    for frame in stack.findall("frame"):
        place = frame.findtext("obj", "")
        if not any(name in place for name in PASSED_OVER):
            return place.endswith(OURS)
    return False


def errors(folder: Path) -> Iterator[str]:
    """The errors of ours that the processes of a run had. Still reachable memory is none."""
    reports = sorted(folder.glob("*.xml"))
    assert reports, "valgrind wrote nothing"
    for report in reports:
        for error in ET.parse(report).getroot().findall("error"):
            if any(map(is_ours, error.findall("stack"))):
                yield ET.tostring(error, encoding="unicode")


TIME_LIMIT = 4 * 3600


def platform_named(name: str, folder: Path) -> Platform:
    platform = pocl(folder) if name == "pocl" else intel(name, SLICES[name])
    # Everything takes thirty times as long.
    environment = {**platform.environment, "KERNLENS_SNAPSHOT_TIMEOUT": "900"}
    return replace(platform, environment=environment, prefix=(*VALGRIND, f"--xml-file={folder}/%p.xml"))


@pytest.mark.parametrize("name", RUNS)
def test_no_error_is_ours(name: str, work: Path, tmp_path: Path) -> None:
    arguments = [str(work / "module.spv")] if RUNS[name] == "checks" else []
    passed(platform_named(name, tmp_path).run(work, RUNS[name], *arguments, time_limit=TIME_LIMIT))
    reports = list(errors(tmp_path))
    assert not reports, "\n\n".join(reports)


def test_an_error_is_ours_by_its_innermost_frame(tmp_path: Path) -> None:
    frames = "<frame><obj>/x/vgpreload_memcheck-amd64-linux.so</obj></frame><frame><obj>{}</obj></frame>"
    for place, count in (("/x/libkernlens_opencl_layer.so", 1), ("/x/libigc.so.1", 0)):
        stack = frames.format(place) + "<frame><obj>/x/snapshot_test</obj></frame>"
        (tmp_path / "1.xml").write_text(f"<valgrindoutput><error><stack>{stack}</stack></error></valgrindoutput>")
        assert len(list(errors(tmp_path))) == count
