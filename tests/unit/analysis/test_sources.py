"""Which text belongs to which file of a line table."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import md5
from types import FrameType

import pytest

from kernlens.analysis.source_matching import match_sources
from kernlens.model.build import Source
from kernlens.model.line_table import LineTable, SourceFile


def table(*files: SourceFile | str, directory: str = "/build", used: tuple[int, ...] | None = None) -> LineTable:
    """A version 4 table whose rows use all files, or those numbered from 1 in ``used``."""
    named = tuple(SourceFile(file) if isinstance(file, str) else file for file in ("", *files))
    numbers = array("I", range(1, len(named)) if used is None else used)
    zeros = array("I", bytes(4 * len(numbers)))
    return LineTable(named, zeros, numbers, zeros, zeros, array("B", bytes(len(numbers))), directory=directory)


def disk(**texts: str) -> tuple[list[str], Callable[[str], Source | None]]:
    """The names that were asked for, and a reader that knows these."""
    asked: list[str] = []

    def read(path: str) -> Source | None:
        asked.append(path)
        return Source(path, texts[path]) if path in texts else None

    return asked, read


def matched(line_table: LineTable, *available: Source, **texts: str) -> dict[str, tuple[str, str]]:
    _asked, read = disk(**texts)
    return {source.path: (source.text, source.origin) for source in match_sources([line_table], available, read)}


def test_the_nameless_program_source() -> None:
    line_table = table("<stdin>", "1", "/inc/common.h", used=(2, 3))
    sources = (Source("common.h", "header", "recording"), Source("", "text", "program"))
    assert matched(line_table, *sources) == {"1": ("text", "program"), "/inc/common.h": ("header", "recording")}


def test_the_only_unclaimed_source_is_the_nameless_one() -> None:
    sources = (Source("sharpen.cl", "text", "recording"), Source("/inc/common.h", "header", "recording"))
    assert matched(table("1", "/inc/common.h"), *sources)["1"] == ("text", "recording")
    two = (*sources, Source("other.cl", "other", "recording"))
    assert "1" not in matched(table("1", "/inc/common.h"), *two)


def test_lines_that_directives_count_to_a_file() -> None:
    """As ffmpeg's programs are made: of one string for each file, with the file's name before it."""
    text = """float f;
#line 1 "/src/common.cl"
common
# 3 "a \\"b\\".cl" 1
third
#line 2
second
not third
#line 999999999 "far"
x"""
    line_table = table("/src/common.cl", 'a "b".cl', "far", "1")
    assert matched(line_table, Source("", text, "program"), **{"/src/common.cl": "of the disk"}) == {
        "/src/common.cl": ("common", "program"),
        'a "b".cl': ("\nsecond\nthird", "program"),
        "1": (text, "program"),
    }


def test_a_nameless_source_is_not_looked_up_on_disk() -> None:
    asked, read = disk(**{"/build/1": "wrong"})
    assert match_sources([table("<stdin>", "1", "2")], (), read) == ()
    assert asked == []


def test_names_match_whole_then_at_their_ends_and_only_when_clear() -> None:
    whole = Source("/build/src/k.cl", "whole", "spirv")
    assert matched(table("src/k.cl"), Source("k.cl", "end", "recording"), whole) == {"src/k.cl": ("whole", "spirv")}
    assert matched(table("src/k.cl"), Source("k.cl", "end", "recording")) == {"src/k.cl": ("end", "recording")}
    assert matched(table("src/k.cl"), Source("ak.cl", "no", "recording"), Source("x", "no", "recording")) == {}
    assert matched(table("k.cl"), Source("a/k.cl", "1", "spirv"), Source("b/k.cl", "2", "spirv")) == {}
    assert matched(table("x/src/k.cl"), Source("src/k.cl", "1", "spirv"), Source("k.cl", "2", "spirv")) == {}


def test_disk_is_asked_with_the_compile_directory() -> None:
    line_table = table("k.cl", "/abs/h.h", "C:\\x\\w.h")
    asked, read = disk(**{"/build/k.cl": "text"})
    assert [source.path for source in match_sources([line_table], (), read)] == ["k.cl"]
    assert asked == ["/build/k.cl", "/abs/h.h", "C:\\x\\w.h"]


def test_only_files_that_rows_name_are_asked_for() -> None:
    asked, read = disk()
    match_sources([table("k.cl", "secret.txt", used=(1,))], (), read)
    assert asked == ["/build/k.cl"]


@pytest.mark.slow
def test_many_files_and_many_sources_of_one_name_are_matched_in_one_pass() -> None:
    """Comparing each with each would be nine million comparisons of long paths."""
    deep = "/".join(["d"] * 300)
    sources = [Source(f"/s{number}/{deep}/k.cl", "text", "recording") for number in range(3000)]
    line_table = table(*(f"/t{number}/{deep}/k.cl" for number in range(3000)), "/s7/" + deep + "/k.cl")
    with counted_calls() as calls:
        assert matched(line_table, *sources) == {f"/s7/{deep}/k.cl": ("text", "recording")}
    assert calls[0] < 200_000


@contextmanager
def counted_calls() -> Iterator[list[int]]:
    """Counts the calls of Python functions."""
    calls = [0]

    def count(frame: FrameType, event: str, argument: object) -> None:
        calls[0] += event == "call"

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def test_text_in_the_table_and_checksums() -> None:
    text = "kernel void k() {}\n"
    good = SourceFile("good.cl", md5=md5(text.encode()).hexdigest())
    changed = SourceFile("changed.cl", md5="0" * 32)
    embedded = SourceFile("embedded.cl", text="embedded")
    texts = {"/build/good.cl": text, "/build/changed.cl": text, "/build/embedded.cl": "disk"}
    assert matched(table(good, changed, embedded), **texts) == {
        "good.cl": (text, "disk"),
        "embedded.cl": ("embedded", "binary"),
    }
