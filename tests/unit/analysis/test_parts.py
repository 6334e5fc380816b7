"""Parts of a file: safe, unique names whatever the file says."""

from __future__ import annotations

from kernlens.analysis.parts import NAME_LIMIT, parts
from kernlens.model.binary import Container, Section
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.program import Kernels, Program


def container(name: str, kind: str = "raw", children: tuple[Container, ...] = ()) -> Container:
    result = Container(kind, name, 0, memoryview(b"code"))
    result.children = children
    return result


def paths(*containers: Container) -> list[tuple[str, ...]]:
    return [part.path for part in parts(containers, ())]


def test_no_name_leads_out_of_the_folder() -> None:
    evil = ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a\0b", "-rf", "C:\\x", "\u202e", "a/b", ".hidden"]
    for path in paths(*(container(name) for name in evil)):
        assert len(path) == 2
        for component in path:
            assert component
            assert component not in (".", "..")
            assert component[0] not in ".-"
            assert not set(component) & set("/\\\0:")


def test_equal_names_get_numbers_also_when_only_case_differs() -> None:
    result = [path[-1] for path in paths(container("k"), container("k"), container("K"))]
    assert result == ["k.gen", "k-2.gen", "K-3.gen"]


def test_long_names_are_cut() -> None:
    (path,) = paths(container("x" * 100_000))
    assert len(path[-1]) == NAME_LIMIT + len(".gen")


def test_sections_and_nested_containers_lie_in_a_folder_of_their_container() -> None:
    section = Section(1, ".text.k", 1, 0, 0, 0, 4, 0, 0, 1, 0, memoryview(b"code"))
    outer = container("p", "zebin", (container("inner"),))
    outer.sections = (section,)
    assert paths(outer) == [
        ("containers", "p.zebin"),
        ("containers", "p.parts", "text.k"),
        ("containers", "p.parts", "inner.gen"),
    ]


def test_sources_that_no_line_table_names_are_there_once() -> None:
    """As of an application that was captured without line tables."""
    named = Source("blur.cl", "kernel void blur() {}")
    build = Build("p", parts=HeldParts(sources=(Source("", named.text), Source("", "kernel void add() {}"))))
    program = Program("p", "zebin", Kernels({}), build=build, find_sources=lambda: (named,))
    sources = {part.path[-1]: bytes(part.content).decode() for part in parts((), [program])}
    assert sources == {"blur.cl": named.text, "program.cl": "kernel void add() {}"}
