"""Tables and headings as wide as a terminal at most, and C++ names short enough for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.report.style import fit_to, rendered
from kernlens.report.table import table
from kernlens.report.width import Name, shortened
from tests.unit.cli.test_terminal_text import Terminal, own_colours_removed
from tests.unit.conftest import Kernlens
from tests.writers.elf import ElfWriter

ROUNDED = (
    "sycl::_V1::detail::RoundedRangeKernel<sycl::_V1::item<1, true>, 1, host::Functor<float, std::vector<int, 3> > >"
)
MANGLED = "_ZTSN4sycl3_V16detail18RoundedRangeKernelINS0_4itemILi1ELb1EEELi1E{}EE"


@pytest.fixture
def width() -> Iterator[None]:
    yield
    fit_to(None)


@pytest.mark.parametrize(
    ("room", "text"),
    [
        (200, ROUNDED),
        (100, "sycl::detail::RoundedRangeKernel<sycl::item<1, true>, 1, host::Functor<float, std::vector<…> > >"),
        (90, "sycl::detail::RoundedRangeKernel<sycl::item<…>, 1, host::Functor<float, std::vector<…> > >"),
        (72, "sycl::detail::RoundedRangeKernel<sycl::item<…>, 1, host::Functor<…> >"),
        (50, "sycl::detail::RoundedRangeKernel<…>"),
        (20, "sycl::detail::Round…"),
    ],
)
def test_names_lose_their_innermost_arguments_first(room: int, text: str) -> None:
    assert shortened(Name(ROUNDED), room) == text
    assert len(text) <= room


def test_operators_are_no_brackets() -> None:
    name = Name("std::enable_if<true>::type operator<<(Stream&, int)")
    assert shortened(name, 30) == "std::enable_if<true>::type op…"


@pytest.mark.parametrize("limit", [30, 40, 60, 80, 120, 400])
@pytest.mark.usefixtures("width")
def test_no_table_is_wider_than_it_may_be(limit: int) -> None:
    headings = ("kernel", "program", "SIMD", "instructions", "code bytes", "source")
    rows = [
        (Name(ROUNDED), "program-1", 32, 1_234_567, 22_296, "float a = b;"),
        (Name("blur"), "a program of a very long name", 8, None, 12, "x" * 90),
    ]
    whole = [rendered(line) for line in table(headings, rows)]
    fit_to(limit)
    lines = [rendered(line) for line in table(headings, rows)]
    assert max(map(len, whole)) > 250
    assert max(map(len, lines)) <= limit
    # No number is lost, and each part of the table has the names.
    for number in ("1,234,567", "22,296", "32", "SIMD", "instructions", "code bytes"):
        assert sum(number in line for line in lines) == 1
    assert sum(line.split()[0] == "blur" for line in lines) * 3 == len(lines)


def test_what_a_terminal_and_a_pipe_show(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    writer = ElfWriter()
    for arguments in ("N4host7FunctorIfSt6vectorIiLi3EEEE", "7Another"):
        writer.add(f".text.{MANGLED.format(arguments)}", bytes(64), flags=6)
    path = tmp_path / "x.bin"
    path.write_bytes(writer.build())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")

    def printed(*words: str) -> list[str]:
        with monkeypatch.context() as patch, Terminal(patch) as read:
            assert kernlens(*words).status == 0
            return own_colours_removed(read()).splitlines()

    whole = ROUNDED
    piped = kernlens("inspect", path).out
    assert whole in piped
    assert "typeinfo" not in piped
    assert any(whole in line for line in printed("inspect", "--full", str(path)))
    # Sentences are no tables.
    shown = [line for line in printed("inspect", str(path))[1:] if not re.search("no lines:|unknown for some", line)]
    assert [line for line in shown if len(line) > 80] == []
    assert sum("RoundedRangeK" in line for line in shown) >= 2


def test_a_place_keeps_its_line() -> None:
    assert shortened("kernels/program.cl:23", 12) == "kernels/…:23"
    assert shortened("a text that ends so: 23", 12) == "a text that…"
