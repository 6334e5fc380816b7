"""What was tried and passed over: told to ``logging`` when asked, and not even imported when not."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.errors import KernlensError
from kernlens.loading import load
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.toolchains import find_toolchains, programs
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE, binary


@pytest.mark.parametrize(
    "words", [("inspect", "--verbose"), ("--verbose", "inspect")], ids=["after the verb", "before the verb"]
)
def test_verbose_tells_on_standard_error(words: tuple[str, ...], kernlens: Kernlens, file: Path) -> None:
    quiet, told = kernlens("inspect", file), kernlens(*words, file)
    assert quiet.err == ""
    assert told.out == quiet.out
    assert f"kernlens.loading: {file}, {len(binary())} bytes, is taken for: neo-elf\n" in told.err


def test_the_variable_does_the_same(kernlens: Kernlens, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_LOG", "debug")
    assert "is taken for: neo-elf" in kernlens("inspect", file).err
    monkeypatch.setenv("KERNLENS_LOG", "everything")
    done = kernlens("inspect", file)
    assert (done.status, done.out) == (2, "")
    assert "KERNLENS_LOG is 'everything'; the only log level is debug" in done.err


def test_a_failure_comes_with_what_was_tried(
    kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "x.cl").write_text(SOURCE)
    done = kernlens("compile", tmp_path / "x.cl", "--device", "skl", "--verbose")
    assert done.status == 3
    assert "kernlens.toolchain: system: PATH holds no ocloc; with a version in its name: None\n" in done.err
    assert "kernlens.toolchain: system: NEO unknown" in done.err


@pytest.mark.parametrize(
    "code",
    [
        "import kernlens",
        "from kernlens.cli.verb_group import VERBS; from kernlens.cli import inspect",
        "import kernlens; kernlens.load(PATH)[0].sources",
    ],
)
def test_logging_is_not_imported_for_nobody(code: str, file: Path) -> None:
    script = (
        f"import sys; sys.modules.pop('logging', None); PATH = {str(file)!r}; {code}; print('logging' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_nothing_is_configured_on_import() -> None:
    assert logging.getLogger("kernlens").handlers == []
    assert logging.getLogger("kernlens").level == logging.NOTSET


def messages(caplog: pytest.LogCaptureFixture, room: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == f"kernlens.{room}"]


def test_each_place_where_a_source_was_looked_for(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kernlens")
    (first,) = load(file, source_roots=[str(file.parent / "root")])
    assert first.sources == ()
    (unread,) = first.unread_sources
    assert (unread.path, unread.unread) == ("scale.cl", f"no file of this name lies below {file.parent}/root")
    assert messages(caplog, "loading")[1:] == [
        f"source scale.cl: there is no file of a source's size at {file.parent}/scale.cl",
        "source scale.cl: there is no file of a source's size at scale.cl",
        f"source scale.cl: there is no file of a source's size at {file.parent}/root/scale.cl",
    ]
    caplog.clear()
    (file.parent / "scale.cl").write_text(SOURCE)
    (second,) = load(file)
    assert second.sources
    assert messages(caplog, "loading")[1:] == [
        f"source scale.cl: read from {file.parent}/scale.cl",
        "source scale.cl: the text comes from: disk",
    ]


def test_a_source_that_is_never_looked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kernlens")
    (tmp_path / "x.bin").write_bytes(binary("/proc/self/environ"))
    (program,) = load(tmp_path / "x.bin")
    assert program.sources == ()
    sentence = "source /proc/self/environ: /proc/self/environ is passed over: it is a file of the system"
    assert messages(caplog, "loading")[1:] == [sentence]


def test_what_is_no_toolchain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="kernlens")
    folder, root = tmp_path / "toolchains", tmp_path / "root"
    (root / "usr/bin").mkdir(parents=True)
    (root / "usr/bin/ocloc").symlink_to("/bin/sh")
    folder.mkdir()
    (folder / "broken").symlink_to("/nowhere/at/all")
    (folder / "newest").symlink_to(root)
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(folder))
    monkeypatch.setenv("KERNLENS_NEWEST_ROOT", str(tmp_path))
    find_toolchains()
    told = messages(caplog, "toolchain")
    assert f"{folder}/broken is no toolchain: no folder, or hidden" in told
    assert f"KERNLENS_NEWEST_ROOT is passed over: newest is registered as {root}" in told
    assert "newest: NEO unknown / IGC unknown, ocloc None, 0 of libiga64" in told
    caplog.clear()
    assert programs(root, "ocloc") == []
    shell = Path("/bin/sh").resolve()
    assert messages(caplog, "toolchain") == [f"{root}/usr/bin/ocloc is passed over: it leads to {shell}"]


def test_child_processes(compiler: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="kernlens")
    find_toolchains()
    assert any(f"{compiler} query OCL_DRIVER_VERSION" in message for message in messages(caplog, "toolchain"))
    with IsolatedDriver(DriverEnvironment("none", {"NAME": "value"})) as driver, pytest.raises(KernlensError):
        driver.function_pointer("a", "f")
    (started,) = messages(caplog, "runtime")
    assert started == f"a child process for none: {sys.executable} with {{'NAME': 'value'}}"
