"""Colours, messages and the width of a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.cli.output import finish_output, prepare_output, print_lines, print_message
from kernlens.model.instruction_kind import InstructionKind
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.report.style import cut, rendered, style
from tests.unit.cli.test_terminal_text import Terminal, own_colours_removed, run
from tests.unit.conftest import Kernlens
from tests.writers.instruction_records import record

__all__ = ["run"]


@pytest.mark.parametrize(
    ("variables", "words", "coloured"),
    [
        ({}, (), True),
        ({"TERM": "dumb"}, (), False),
        ({"NO_COLOR": "1"}, (), False),
        ({"NO_COLOR": ""}, (), True),
        ({"NO_COLOR": "1"}, ("--color", "always"), True),
        ({"FORCE_COLOR": "1"}, ("--color", "never"), False),
        ({}, ("--color", "auto"), True),
    ],
)
def test_colours_on_a_terminal(
    variables: dict[str, str],
    words: tuple[str, ...],
    coloured: bool,
    file: Path,
    kernlens: Kernlens,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with monkeypatch.context() as patch, Terminal(patch) as read:
        assert kernlens("disasm", file, *words).status == 0
        text = read()
    assert ("\x1b[36m0x0000\x1b[0m" in text) == coloured


def test_colours_in_a_pipe_only_if_they_are_wanted(
    file: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\x1b" not in kernlens("disasm", file).out
    assert "\x1b[36m" in kernlens("disasm", file, "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[36m" in kernlens("disasm", file).out
    assert "\x1b" not in kernlens("disasm", file, "--color", "never").out


def test_messages_stand_where_they_were_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, Terminal(patch) as read:
        prepare_output()
        print_lines(["above"])
        print_message()
        print_message("a message")
        print_lines(["the end"])
        finish_output()
        assert read() == "above\na message\nthe end\n"


def test_listings_are_cut_at_the_width_of_a_terminal(
    file: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("TERM", "xterm")
    with monkeypatch.context() as patch, Terminal(patch) as read:
        assert kernlens("disasm", file).status == 0
        lines = own_colours_removed(read()).splitlines()
    assert max(map(len, lines)) == 20
    assert [line[-1] for line in lines if len(line) == 20] == ["…"] * sum(len(line) == 20 for line in lines)
    assert max(map(len, kernlens("disasm", file).out.splitlines())) > 20


@pytest.mark.parametrize("width", range(12))
def test_cutting_keeps_styles_whole(width: int) -> None:
    line = f"ab{style('cde', fg='red')}{style('fg', bold=True)}hi"
    assert rendered(cut(line, width)) == ("abcdefghi" if width >= 9 else "abcdefgh"[: max(width - 1, 0)] + "…")
    assert rendered(cut(line, width), True).count("\x1b[0m") == 2


def test_annotate_fits_the_width_of_a_terminal(file: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands are shortened there, and with --full neither they nor lines; a pipe gets all."""
    long = "(W)     send.dc0 (16|M0)         r26.0<1>:ud   r42.0<1;1,0>:ud  null:0  0x0  0x04842000  {A@2,$3} // wr:2+4, rd:8"

    def sends(size: int) -> IntelInstructions:
        count = size // 16
        kinds = [InstructionKind("move")] * count
        records = b"".join(record(offset=16 * number) for number in range(count))
        return IntelInstructions(records, ["send"], lambda: [long] * count, classify=lambda _: kinds)

    monkeypatch.setattr("tests.writers.programs._movs", sends)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")
    short = "(W) send.dc0 (16|M0) r26:ud  r42:ud  null:0  0x0     0x04842000  {A@2,$3}"

    def lines(*words: str) -> list[str]:
        with monkeypatch.context() as patch, Terminal(patch) as read:
            assert kernlens("annotate", file, *words).status == 0
            return own_colours_removed(read()).splitlines()

    printed = lines()
    assert max(map(len, printed)) <= 100
    assert sum(short in line for line in printed) == 6
    assert sum(long in line for line in lines("--full")) == 6
    assert sum(long in line for line in kernlens("annotate", file).out.splitlines()) == 6
