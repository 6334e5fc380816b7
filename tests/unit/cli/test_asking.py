"""At a terminal commands ask for what they lack: a device, and leave to fetch a compiler. Nobody else is asked."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from tests.unit.cli.test_sources_of_every_verb import COMPILERS, VERBS, source
from tests.unit.conftest import Kernlens

__all__ = ["source"]


def answer(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Have somebody sit at a terminal who answers with these lines."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr("kernlens.cli.asking.can_ask", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


@pytest.fixture
def no_compiler(compiler: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """Return the list that what is fetched is put into; before that the machine has no compiler."""
    monkeypatch.setattr("kernlens.toolchain.toolchains._system_compiler", lambda: None)
    fetched: list[str] = []

    def fetch(name: str, **_: object) -> None:
        fetched.append(name)
        monkeypatch.setattr("kernlens.toolchain.toolchains._system_compiler", lambda: compiler)

    monkeypatch.setattr("kernlens.toolchain.roots.add", fetch)
    return fetched


@pytest.mark.parametrize("verb", [*VERBS, "compile", "sweep"])
def test_the_device_is_asked_for_with_names(
    verb: str, kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "skl")
    done = kernlens(verb, source, *VERBS.get(verb, COMPILERS.get(verb, ())))
    assert done.status in (0, 1), done.err
    assert "no target device for scale.cl" in done.err
    assert "device (dg2, pvc, tgllp, ...): " in done.err
    if verb in VERBS:
        assert done.out == kernlens(verb, source, "--device", "skl", *VERBS[verb]).out


def test_no_answer_is_none(kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch)
    done = kernlens("annotate", source)
    assert (done.status, done.out) == (2, "")


def test_in_ci_nobody_is_asked(kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer(monkeypatch, "skl")
    monkeypatch.setenv("CI", "true")
    done = kernlens("annotate", source)
    assert done.status == 2
    assert "add --device D, such as dg2" in done.err


@pytest.mark.parametrize("verb", [*VERBS, "compile", "sweep", "stages"])
def test_without_a_compiler_the_command_that_fetches_one_is_named(
    verb: str, kernlens: Kernlens, source: Path, no_compiler: list[str]
) -> None:
    done = kernlens(verb, source, "--device", "skl", *VERBS.get(verb, COMPILERS.get(verb, ())))
    assert (done.status, done.out, no_compiler) == (3, "", [])
    assert "kernlens toolchain add newest" in done.err
    assert "repeat the command with --yes" in done.err
    assert "94 MB to fetch" in done.err


@pytest.mark.parametrize("verb", [*VERBS, "compile", "sweep"])
def test_with_yes_the_compiler_is_fetched_and_the_command_goes_on(
    verb: str, kernlens: Kernlens, source: Path, no_compiler: list[str]
) -> None:
    done = kernlens(verb, source, "--device", "skl", "--yes", *VERBS.get(verb, COMPILERS.get(verb, ())))
    assert no_compiler == ["newest"]
    assert done.status in (0, 1), done.err
    assert done.out
    assert "94 MB to fetch, 430 MB on the disk" in done.err


@pytest.mark.parametrize(("line", "is_fetched"), [("", True), ("y", True), ("no", False)])
def test_at_a_terminal_the_compiler_is_offered(
    line: str,
    is_fetched: bool,
    kernlens: Kernlens,
    source: Path,
    no_compiler: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer(monkeypatch, line)
    done = kernlens("annotate", source, "--device", "skl")
    assert bool(no_compiler) == is_fetched
    assert done.status == (0 if is_fetched else 3)
    assert "fetch it? [Y/n]" in done.err


@pytest.mark.parametrize(
    ("words", "cure", "lacks", "status"),
    [
        (
            ("observe", "--size", "16", "--group", "16", "--arg", "16"),
            "oclgrind",
            "kernlens.toolchain.oclgrind.has_oclgrind",
            2,
        ),
        (("annotate", "--device", "gfx1100"), "amd-newest", "kernlens.toolchain.device_compilers.amd_compiler", 2),
    ],
)
def test_what_else_is_missing_is_offered_too(
    words: tuple[str, ...],
    cure: str,
    lacks: str,
    status: int,
    kernlens: Kernlens,
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fetched: list[str] = []
    monkeypatch.setattr("kernlens.toolchain.roots.add", lambda name, **_: fetched.append(name))
    monkeypatch.setattr(lacks, lambda *_: None)
    if cure != "oclgrind":
        monkeypatch.setattr("kernlens.toolchain.amd_clang.amd_compiler", lambda *_: None)
    done = kernlens(words[0], source, *words[1:])
    assert (done.status, done.out, fetched) == (status, "", [])
    assert f"kernlens toolchain add {cure}" in done.err
    assert "repeat the command with --yes" in done.err
    # Here it does not help, which is tried once.
    again = kernlens(words[0], source, *words[1:], "--yes")
    assert (again.status, fetched) == (status, [cure])
    assert "kernlens fetches it into" in again.err


def test_yes_stands_before_the_command_too(kernlens: Kernlens, source: Path, no_compiler: list[str]) -> None:
    assert kernlens("--yes", "annotate", source, "--device", "skl").status == 0
    assert no_compiler == ["newest"]
    assert os.path.exists(source)
