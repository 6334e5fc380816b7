"""The command line in this process: what ``main`` prints and returns, without the cost of a new interpreter."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernlens.cli.main import main
from kernlens.report.style import fit_to, want_styles
from tests.documents import check_printed
from tests.writers.programs import binary, decoded, write_compiler


@dataclass(frozen=True)
class Done:
    """The outcome of a command: its exit status, and what it wrote to standard output and standard error."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON that it printed, and nothing else."""
        answer: dict[str, Any] = json.loads(self.out)
        assert answer["schema"] == 1
        return answer


Kernlens = Callable[..., Done]


@pytest.fixture
def kernlens(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Kernlens]:
    """Yield what runs ``kernlens`` with these words, as the installed script does; no toolchain is registered."""
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path / "no-toolchains"))
    monkeypatch.setattr("kernlens.toolchain.gpus.devices_here", list)  # Tests have no GPU, wherever they run.
    for variable in (
        "NO_COLOR",
        "FORCE_COLOR",
        "KERNLENS_NEWEST_ROOT",
        "KERNLENS_TOOLCHAIN",
        "KERNLENS_LOG",
        "KERNLENS_IGA_PATH",
    ):
        monkeypatch.delenv(variable, raising=False)

    def run(*words: str | os.PathLike[str]) -> Done:
        monkeypatch.setattr(sys, "argv", ["kernlens", *(os.fspath(word) for word in words)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        if not sys.stdout.closed:  # A reader that has gone has closed it.
            sys.stdout.flush()
        status = ended.value.code or 0
        assert isinstance(status, int)
        done = Done(status, *capfd.readouterr())
        check_printed(words, done.out)
        return done

    yield run
    want_styles(True)
    fit_to(None)
    # What --verbose turned on is on for the whole process.
    logger = logging.getLogger("kernlens")
    logger.handlers.clear()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a binary with two kernels, whose instructions are decoded without libiga64."""
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    path = tmp_path / "scale.bin"
    path.write_bytes(binary())
    return path


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an ocloc first in PATH that copies a prepared binary; its calls are listed in the file ``calls`` beside it."""
    script = write_compiler(tmp_path / "compiler")
    monkeypatch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    return script
