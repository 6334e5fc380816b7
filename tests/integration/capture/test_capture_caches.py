"""What ``kernlens capture`` changes of an application's builds is not what the application's next run finds in its caches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.verbs.capture.caches import CACHE_VARIABLES, empty_caches
from kernlens.verbs.capture.capture import attach, recover
from kernlens.verbs.capture.spool import Spool, spool_folder
from tests.integration.capture.capture_fixtures import Done, alone, attached, captured, dg2, environment, folder
from tests.integration.layers.opencl_layer_fixtures import Platform
from tests.whole import before_release

__all__ = ["dg2", "folder"]

SOURCE = "kernel void soften(global float *a, int n) { for (int k = 0; k < n; ++k) a[get_global_id(0)] += a[k]; }\n"
EDITED = "kernel void soften(global float *a, int n) { a[get_global_id(0)] = sin(a[n]); }\n"
#: pyopencl with the cache that it has by default, in the user's cache folder. It prints where its program came from.
APPLICATION = """\
import sys
import pyopencl
(device, *_) = pyopencl.get_platforms()[0].get_devices()
text = open(sys.argv[1]).read()
program = pyopencl.Program(pyopencl.Context([device]), text).build()
open(sys.argv[2], "wb").write(program.get_info(pyopencl.program_info.BINARIES)[0])
"""


class Application:
    """pyopencl's program in a folder of its own, whose user has a cache folder of his own."""

    def __init__(self, platform: Platform, work: Path) -> None:
        self.platform, self.work = platform, work
        (work / "source.cl").write_text(SOURCE)
        (work / "edited.cl").write_text(EDITED)
        (work / "application.py").write_text(APPLICATION)
        self.variables = {"XDG_CACHE_HOME": str(work / "cache")}
        self.words = (sys.executable, str(work / "application.py"), str(work / "source.cl"), str(work / "binary"))

    def run(self) -> tuple[bytes, bool]:
        """Runs it without kernlens; what it got."""
        done = alone(self.platform, self.work, *self.words, **self.variables)
        assert done.returncode == 0, done.stderr
        return self.built

    def captured(self, folder: Path, *options: str) -> Done:
        done = captured(self.platform, folder, self.work, *self.words, options=options, **self.variables)
        assert done.status == 0, done.err
        return done

    @property
    def built(self) -> tuple[bytes, bool]:
        """The machine code of its kernel, and whether there are lines."""
        (program,) = kernlens.load(self.work / "binary")
        kernel = program.kernels["soften"]
        return bytes(kernel.code), kernel.line_table_reason is None


@pytest.fixture
def application(dg2: Platform, tmp_path: Path) -> Application:
    return Application(dg2, tmp_path)


@pytest.mark.parametrize(
    "options",
    [("--replace", "soften=edited.cl"), ("--lines",), ("--build-options", "-cl-opt-disable")],
    ids=lambda options: options[0],
)
@pytest.mark.parametrize("runs_before", [pytest.param(0, marks=before_release), 1])
def test_the_next_run_gets_the_original_kernel(
    options: tuple[str, ...],
    runs_before: int,
    application: Application,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    other = Application(application.platform, tmp_path_factory.mktemp("never-captured"))
    original = other.run()
    for _ in range(runs_before):
        assert application.run() == original
    done = application.captured(folder, *options)
    assert done.builds[0].sources, "it builds from source, whatever it has in its cache"
    assert application.built != original, "the capture changes what is built"
    assert application.run() == original


def test_without_changes_the_caches_are_the_users(application: Application, folder: Path) -> None:
    """A capture as such is a run like others: it finds what they kept, and keeps what they find."""
    done = application.captured(folder)
    assert done.builds[0].sources
    done = application.captured(folder)
    assert not done.builds[0].sources
    assert "1 of 1 program came from binaries" in done.err
    done = application.captured(folder, "--fresh-cache")
    assert done.builds[0].sources


def test_each_change_gives_every_cache_variable(folder: Path, dg2: Platform, tmp_path: Path) -> None:
    show = [sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))"]

    def caches(printed: str) -> dict[str, Any]:
        environment = json.loads(printed)
        return {name: environment[name] for name in CACHE_VARIABLES}

    own = {name: str(tmp_path / "own") for name in CACHE_VARIABLES}
    (tmp_path / "own").mkdir()
    unchanged = captured(dg2, folder, tmp_path, *show, options=(), **own)
    assert caches(unchanged.out) == own
    for options in (("--lines",), ("--build-options", "-DA"), ("--fresh-cache",)):
        done = captured(dg2, folder, tmp_path, *show, options=options, **own)
        folders = set(caches(done.out).values())
        assert len(folders) == len(CACHE_VARIABLES)
        assert all(path.startswith(f"{tmp_path}/x.klens.capture/caches/") for path in folders), options
    assert [path.name for path in (tmp_path / "own").iterdir()] == ["kernlens"], (
        "kernlens's own, with the vendor's file"
    )


def test_programs_that_are_started_elsewhere(
    application: Application, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kernlens layer --capture --lines gives them empty caches too."""
    original = application.run()
    monkeypatch.setattr(os, "environ", environment(application.platform, **application.variables))
    spool, variables = attached(tmp_path / "x.klens", lines=True)
    assert alone(application.platform, tmp_path, *application.words, **variables).returncode == 0
    assert (application.built[1], original[1]) == (True, False)
    assert recover(spool).builds == 1
    assert application.run() == original
    # A program that still has the variables makes the folder of its cache again.
    assert alone(application.platform, tmp_path, *application.words, **variables).returncode == 0
    assert spool.exists()
    assert attach(tmp_path / "x.klens", lines=True)[0] == spool == spool_folder(tmp_path / "x.klens")
    Spool(spool).remove()


def test_layer_takes_the_variables_away_again(tmp_path: Path) -> None:
    main = [sys.executable, "-c", "from kernlens.cli.main import main; main()"]
    script = 'eval "$("$@" --lines)"; eval "$("$@" --unset)"; env'
    own = {"PATH": os.environ["PATH"]}
    words = ["sh", "-c", script, "sh", *main, "layer", "--capture", "x.klens"]
    done = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True, check=True, timeout=60)
    left = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert not left & {*CACHE_VARIABLES, "KERNLENS_CAPTURE", "OCL_ICD_VENDORS", "KERNLENS_OCL_ICD_VENDORS"}


def test_caches_outside_the_users_folder_have_variables_of_their_own(tmp_path: Path) -> None:
    """llama.cpp keeps its kernels in the temporary folder, clFFT where its variable says, and nowhere without it."""
    caches = empty_caches({}, tmp_path)
    assert caches["GGML_OPENCL_KERNEL_CACHE_DIR"].startswith(f"{tmp_path}/")
    assert "CLFFT_CACHE_PATH" not in caches
    assert empty_caches({"CLFFT_CACHE_PATH": "/x"}, tmp_path)["CLFFT_CACHE_PATH"].startswith(f"{tmp_path}/")


def test_a_cache_that_a_driver_does_not_keep_is_not_turned_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NEO 22.43 keeps what it built where its folder is there, and compiles the same text once then, as its logs tell."""
    monkeypatch.chdir(tmp_path)
    own = {"cl_cache_dir", "l0_cache_dir"}
    assert not own & {*empty_caches({}, tmp_path / "spool")}
    assert not own & {*empty_caches({"cl_cache_dir": str(tmp_path / "none")}, tmp_path / "spool")}
    (tmp_path / "l0_cache").mkdir()
    caches = empty_caches({"cl_cache_dir": str(tmp_path)}, tmp_path / "spool")
    assert all(caches[name].startswith(f"{tmp_path}/spool/") for name in own)
