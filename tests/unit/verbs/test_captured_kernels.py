"""The sentences and the table of a capture, where something cannot be read or built again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernlens.cli import capture as command
from kernlens.cli.answers.captured_table import kernel_table
from kernlens.errors import FormatError, UnsupportedError
from kernlens.model.build import Build
from kernlens.verbs.capture.capture import Capture
from kernlens.verbs.capture.captured import CapturedKernel, RecordedKernels
from kernlens.verbs.capture.second_builds import Findings, SecondBuildResult


class Damaged(RecordedKernels):
    def get(self, number: int, name: str) -> Any:
        raise FormatError("this is not an ELF file", format="elf")


class Broken:
    @property
    def resources(self) -> Any:
        raise FormatError("a record ends within itself", format="zebin")


class Undecodable(RecordedKernels):
    def get(self, number: int, name: str) -> Any:
        return Broken()


@pytest.mark.parametrize("kind", [Damaged, Undecodable])
def test_a_kernel_that_cannot_be_read_is_a_row_without_figures(kind: type[RecordedKernels]) -> None:
    kernel = CapturedKernel("scale", "program-1", "dg2", 1, launches=7, recorded=kind(Path("x.klens")))
    assert (kernel.figures, kernel.launches) == ({}, 7)


def test_build_options_are_in_the_table_where_they_differ(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the words that all programs share; of programs that were built alike there is no column."""
    options = ("-cl-mad-enable -DSIZE=1", "-DSIZE=2 -cl-mad-enable", "-cl-mad-enable")
    kernels = [
        CapturedKernel("scale", f"program-{number}", "dg2", options=own) for number, own in enumerate(options, 1)
    ]
    heading, *rows = kernel_table((*kernels,))
    assert "build options" in heading
    assert [[word for word in row.split() if word.startswith("-") and word != "-"] for row in rows] == [
        ["-DSIZE=1"],
        ["-DSIZE=2"],
        [],
    ]
    alike = [
        CapturedKernel("scale", "program-1", "dg2", options="-g"),
        CapturedKernel("blur", "program-2", "dg2", options="-g"),
    ]
    assert "build options" not in kernel_table((*alike,))[0]


def test_what_kernlens_did_not_do_is_not_the_builds_fault() -> None:
    findings = Findings()
    findings.add(
        Build("program-1", "dg2"), SecondBuildResult(plain=UnsupportedError("nothing confines compilers here"))
    )
    refused = Build("", "dg2", ok=False, reason="'x.h' file not found")
    findings.add(Build("program-2", "dg2"), SecondBuildResult(plain=refused))
    own, compilers = findings.sentences([])
    assert own == (
        "whether the added options changed the machine code of program-1 is not known: kernlens did not build it again"
        " without them: nothing confines compilers here"
    )
    assert compilers.endswith("the compiler refused it when it was built again without them: 'x.h' file not found")


def test_the_exit_status_is_the_applications(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(done: Capture, application: str, *, is_observed: bool) -> None:
        raise FormatError("this is not an ELF file", format="elf")

    done = Capture(Path("x.klens"), 0, (), 1, 0, 0, ())
    monkeypatch.setattr("kernlens.verbs.capture.capture.capture", lambda *words, **options: done)
    monkeypatch.setattr(command, "_tell", fail)
    with pytest.raises(SystemExit) as ended:
        command.command.main(["--", "app"], standalone_mode=False)
    assert ended.value.code == 0
    assert "this is not an ELF file" in capfd.readouterr().err
