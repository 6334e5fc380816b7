"""Which files are a user's own, by their paths in a line table."""

from __future__ import annotations

from array import array

import pytest

from kernlens.analysis.own_lines import on_own_lines
from kernlens.model.line_code import LineCode
from kernlens.model.line_table import InlinedCall, LineTable, SourceFile
from kernlens.model.source_map import SourceMap, SourcePlace

EMPTY = array("I")


def is_own(
    path: str, source: str = "src/k.cpp", directory: str = "/home/me/project", roots: tuple[str, ...] = ()
) -> bool:
    """Whether an instruction of ``path`` that was inlined into the program's source stays on its own line."""
    table = LineTable(
        files=(SourceFile(source), SourceFile(path)),
        offsets=array("I", (0,)),
        files_of=array("I", (1,)),
        lines=array("I", (5,)),
        columns=array("I", (0,)),
        flags=array("B", (0,)),
        directory=directory,
        source=source,
        find_inlined=lambda: (InlinedCall("f", 0, 16, 0, 9, 0),),
    )
    laid = on_own_lines(SourceMap(table, array("I", (0,)), array("i", (0,))), roots)
    place = laid.place(0)
    assert place in (SourcePlace(path, 5), SourcePlace(source, 9))
    assert laid.lines == {(place.path, place.line): LineCode((range(1),), 0)}
    assert bool(laid.inner_places(0)) == (place.path != path) == (not laid.inlined_at(0))
    return place.path == path


@pytest.mark.parametrize(
    "path",
    [
        "src/own.hpp",
        "/home/me/project/./src/own.hpp",
        "/home/me/project/lib/../src/deep/own.hpp",
        "/home/me/project/src/include/own.hpp",
    ],
)
def test_files_beside_the_source_are_own(path: str) -> None:
    assert is_own(path)


@pytest.mark.parametrize(
    "path",
    [
        "/sycl-jit-toolchain//bin/compiler/../../include/sycl/id.hpp",
        "/opt/intel/oneapi/compiler/latest/include/sycl/id.hpp",
        "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/cmath",
        "/home/me/project/src/venv/include/sycl/id.hpp",
        "/home/me/project/src2/own.hpp",
        "/home/me/project/other.hpp",
        "../other.hpp",
        "",
    ],
)
def test_other_files_are_not(path: str) -> None:
    assert not is_own(path)


def test_a_source_in_a_system_folder_has_files_beside_it() -> None:
    assert is_own("/usr/share/darktable/kernels/common.h", "/usr/share/darktable/kernels/basic.cl", "")
    assert not is_own("/usr/include/c++/12/cmath", "/k.cpp", "")
    assert is_own("/own.hpp", "/k.cpp", "")
    assert is_own("own.hpp", "k.cpp", "")
    assert not is_own("/usr/include/x.h", "k.cpp", "")


def test_files_below_a_root_are_own() -> None:
    assert is_own("/opt/library/x.hpp", roots=("/opt/library/",))
    assert not is_own("/opt/library2/x.hpp", roots=("/opt/library",))
