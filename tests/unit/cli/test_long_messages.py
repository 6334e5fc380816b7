"""Messages that quote input are bounded, whatever they quote, and in as many lines as they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import AmbiguousKernelError, AssemblyError, KernlensError, UnknownKernelError
from tests.unit.conftest import Kernlens
from tests.writers.programs import binary

LONG = "x" * 3_000_000


@pytest.mark.parametrize(
    "error",
    [
        KernlensError(f"'{LONG}' is no name; write another"),
        UnknownKernelError(LONG, ["a"]),
        UnknownKernelError("a", [LONG, f"{LONG}y"]),
        UnknownKernelError(LONG, []),
        AmbiguousKernelError("x", [LONG] * 9),
        AssemblyError(f"line 1, column 1: {LONG}\n    {LONG}"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_s_message_is_bounded(error: KernlensError) -> None:
    assert len(str(error)) < 7000
    assert "characters are left out" in str(error)
    assert max(map(len, error.lines)) < 7000


def test_the_end_of_a_long_message_says_what_to_do() -> None:
    assert str(KernlensError(f"'{LONG}' is no name; write another")).endswith("x' is no name; write another")


def test_each_fault_of_a_text_has_its_line(kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    error = AssemblyError("line 1, column 2: it is odd\n    mov x\nand 3 more")
    assert error.lines == ("line 1, column 2: it is odd", "    mov x", "and 3 more")

    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("kernlens.verbs.assemble.assemble", refuse)
    done = kernlens("assemble", "a.asm", "--into", "b.bin", "-o", "c.bin")
    assert done.err == "kernlens: line 1, column 2: it is odd\n    mov x\nand 3 more\n"
    # A name cannot forge a line of its own.
    assert KernlensError("no file 'a\nkernlens: all is well'").lines == ("no file 'a\nkernlens: all is well'",)


def test_a_command_s_messages_are_bounded(kernlens: Kernlens, compiler: Path, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(binary())
    name = "k" * 120_000
    for words in (("annotate", tmp_path / "x.bin", "--kernel", name), ("annotate", tmp_path / "x.bin", f"--{name}")):
        done = kernlens(*words)
        assert done.status == 2
        assert max(map(len, done.err.splitlines())) < 17_000
    (tmp_path / "broken.cl").write_text(f"{'broken ' * 300_000}\n")
    done = kernlens("compile", tmp_path / "broken.cl", "--device", "skl", "-o", tmp_path / "x.klens")
    assert done.status == 3
    assert "error: it is broken\n  broken broken" in done.err
    assert len(done.err) < 2000
