"""Confined children: their limits, their folder, and their end."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from kernlens.errors import ToolError
from kernlens.toolchain.child import Child
from kernlens.toolchain.confinement import Confinement, Limits
from kernlens.toolchain.process import run, temporary_folder
from tests.processes import ASLEEP, LATE, OVERSTAY, PATIENCE, have_ended
from tests.unit.runtime.test_temporary import deep

PYTHON = sys.executable


def test_a_confined_child_is_what_it_is_otherwise(tmp_path: Path) -> None:
    """Words with spaces and quotes, input, output, status and signal: the gate changes none of them."""
    script = "import sys; print(sys.argv[1:], sys.stdin.read()); print('e', file=sys.stderr); sys.exit(3)"
    for stdin in (b"given\nlines", b"", None):
        words = [PYTHON, "-c", script, "a b", "'", '"', "$HOME", ""]
        plain = run(words, timeout=30, stdin=stdin)
        with Confinement(str(tmp_path), Limits()):
            confined = run(words, timeout=30, stdin=stdin)
        assert (confined.command, confined.returncode) == (plain.command, 3)
        assert (confined.stdout, confined.stderr) == (plain.stdout, plain.stderr)
    with Confinement(str(tmp_path), Limits()):
        assert run([PYTHON, "-c", "import os; os.kill(os.getpid(), 11)"], timeout=30).signal == "SIGSEGV"
        with pytest.raises(ToolError, match="no-such-program was not found"):
            run(["no-such-program"], timeout=30)


def test_its_limits(tmp_path: Path) -> None:
    limits = Limits(seconds=20, memory=1 << 30, file_size=4096, output=100)
    kinds = "r.RLIMIT_CPU, r.RLIMIT_AS, r.RLIMIT_FSIZE, r.RLIMIT_CORE"
    script = f"import resource as r; print(*(r.getrlimit(kind)[0] for kind in ({kinds})))"
    with Confinement(str(tmp_path), limits):
        assert run([PYTHON, "-c", script], timeout=30).stdout == f"21 {1 << 30} 4096 0\n"
        assert run([PYTHON, "-c", script], timeout=30, file_size_limit=1 << 30).stdout == f"21 {1 << 30} 4096 0\n"
        assert run([PYTHON, "-c", "try: bytearray(2 << 30)\nexcept MemoryError: print(1)"], timeout=30).stdout == "1\n"
        assert "900 more bytes" in run([PYTHON, "-c", "print('x' * 999)"], timeout=30).stdout


def test_no_limit_leaves_a_process_all_memory(tmp_path: Path) -> None:
    """Address space says little of what drivers of GPUs use, and without a limit ``.incbin "/dev/zero"`` would take it all."""
    script = "import resource as r; print(r.getrlimit(r.RLIMIT_DATA)[0])"
    with Confinement(str(tmp_path), Limits(memory=1 << 46)):
        most = int(run([PYTHON, "-c", script], timeout=30).stdout)
    assert 0 < most < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_it_works_in_its_folder(tmp_path: Path) -> None:
    with Confinement(str(tmp_path), Limits()):
        assert run([PYTHON, "-c", "import os; print(os.getcwd())"], timeout=30).stdout == f"{tmp_path}\n"
        with temporary_folder() as inside:
            assert Path(inside).parent == tmp_path


@pytest.mark.slow
def test_what_all_of_them_write_is_limited(tmp_path: Path) -> None:
    script = f"for n in range(40): open(str(n), 'wb').write(bytes(1000))\n{OVERSTAY}"
    with (
        Confinement(str(tmp_path), Limits(written=20_000)),
        pytest.raises(ToolError, match=r"wrote more than 0 MB and was stopped"),
    ):
        run([PYTHON, "-c", script], timeout=2 * PATIENCE)
    assert not (tmp_path / LATE).exists()


def test_the_time_is_that_of_all_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Confinement(str(tmp_path), Limits(seconds=50)) as confinement:
        assert 49 < confinement.left(100) <= 50
        assert confinement.left(3) == 3
        monkeypatch.setattr("kernlens.toolchain.confinement.time.monotonic", lambda: 1e9)
        assert confinement.left(100) == 0


def test_a_child_that_takes_longer_is_stopped(tmp_path: Path) -> None:
    with (
        Confinement(str(tmp_path), Limits(seconds=0.2)),
        pytest.raises(ToolError, match=r"did not finish within 0\.\d+ s and was stopped"),
    ):
        run([PYTHON, "-c", OVERSTAY], timeout=2 * PATIENCE)
    assert not (tmp_path / LATE).exists()


def test_another_thread_ends_it(tmp_path: Path) -> None:
    with Confinement(str(tmp_path), Limits()) as confinement:

        def started(child: Child) -> None:
            threading.Thread(target=confinement.stop).start()

        assert run([PYTHON, "-c", OVERSTAY], timeout=2 * PATIENCE, on_start=started).signal == "SIGKILL"
        with pytest.raises(ToolError, match="was stopped"):
            run(["true"], timeout=60)


def test_what_it_left_running_ends_with_it(tmp_path: Path) -> None:
    """A grandchild that holds none of the pipes."""
    sleep = f"['sleep', '{ASLEEP}'], stdout=-3, stderr=-3, stdin=-3, close_fds=False"
    with Confinement(str(tmp_path), Limits()):
        pid = int(run([PYTHON, "-c", f"import subprocess; print(subprocess.Popen({sleep}).pid)"], timeout=30).stdout)
    assert have_ended([pid])


def test_nothing_is_confined_outside(tmp_path: Path) -> None:
    with Confinement(str(tmp_path), Limits()):
        pass
    assert run([PYTHON, "-c", "import os; print(os.getcwd())"], timeout=30).stdout == f"{os.getcwd()}\n"


def test_folders_that_no_path_leads_to_are_seen(tmp_path: Path) -> None:
    """What is written so deep could not be counted, nor could the links in it be seen."""
    confined = Confinement(str(tmp_path), Limits())
    confined.shown = ()
    with deep(tmp_path):
        assert confined.excess() == "made folders in one another that cannot be read (File name too long)"
        assert confined.trap() == "left folders in one another that cannot be read (File name too long),"
