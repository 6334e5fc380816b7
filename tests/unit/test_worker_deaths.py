"""A worker that misbehaves becomes an error, and the caller lives. The workers here are scripts, not drivers."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, NotFoundError, ToolError
from kernlens.runtime.driver_environment import DriverEnvironment, copy_worker
from kernlens.runtime.isolation import DriverDiedError, IsolatedDriver

#: Says that it is ready and which call it is in, then does what the test wants.
WORKER = """\
import json, os, signal, sys, time
def say(message):
    print(json.dumps(message), flush=True)
say({"ready": os.getpid()})
request = json.loads(sys.stdin.readline())
say({"calling": "zeModuleCreate"})
"""


def dying_driver(folder: Path, rest: str) -> DriverEnvironment:
    """An environment whose Python ignores what it is told to run, and runs ``WORKER`` with ``rest``."""
    script = folder / "worker.py"
    script.write_text(WORKER + rest)
    return DriverEnvironment("dg2", python=(sys.executable, str(script)))


def died(folder: Path, rest: str, *, time_limit: float = 20.0) -> DriverDiedError:
    driver = IsolatedDriver(dying_driver(folder, rest), time_limit=time_limit)
    with driver, pytest.raises(DriverDiedError) as caught:
        driver.build_spirv("a.spv", b"")
    return caught.value


def test_exit(tmp_path: Path) -> None:
    error = died(tmp_path, "print('what the driver said', file=sys.stderr); sys.exit(10)")
    assert (error.call, error.device, error.input, error.status) == ("zeModuleCreate", "dg2", "a.spv", 10)
    assert str(error) == (
        "the driver ended the process with exit status 10 in zeModuleCreate on dg2 for a.spv: what the driver said"
    )
    assert error.log.strip() == "what the driver said"
    assert error.exit_status == 3


def test_crash(tmp_path: Path) -> None:
    error = died(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert error.status is not None
    assert error.status < 0
    assert "crashed (SIGSEGV) in zeModuleCreate on dg2 for a.spv" in str(error)


def test_hang(tmp_path: Path) -> None:
    started = time.monotonic()
    error = died(tmp_path, "time.sleep(60)", time_limit=1.0)
    assert time.monotonic() - started < 20
    assert error.status is None
    assert "did not come back from zeModuleCreate within 1 s and was ended on dg2 for a.spv" in str(error)


def test_grandchildren_are_ended_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    died(
        tmp_path,
        "import subprocess\n"
        f"child = subprocess.Popen(['sleep', '60']); open({str(pid_file)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)",
        time_limit=2.0,
    )
    pid = int(pid_file.read_text())
    deadline = time.monotonic() + 5
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_output_that_is_no_answer(tmp_path: Path) -> None:
    error = died(tmp_path, "print('hello'); sys.exit(3)")
    assert error.status == 3


def test_folder_of_a_dead_worker_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    died(tmp_path, "open('left behind', 'w').close(); sys.exit(1)")
    assert [path.name for path in tmp_path.iterdir()] == ["worker.py"]


def test_errors_of_the_worker_are_made_again(tmp_path: Path) -> None:
    message = {"error": {"kind": "NotFoundError", "message": "there is none", "fields": {}}}
    driver = IsolatedDriver(dying_driver(tmp_path, f"say({message!r}); time.sleep(60)"))
    with driver, pytest.raises(NotFoundError, match=r"^there is none$"):
        driver.devices()


def test_python_that_is_not_there() -> None:
    with pytest.raises(ToolError, match="/nowhere/python cannot be started"):
        IsolatedDriver(DriverEnvironment("dg2", python=("/nowhere/python",))).devices()


def test_command_that_is_no_python() -> None:
    with pytest.raises(ToolError, match="Python cannot be started with false: exit status 1"):
        IsolatedDriver(DriverEnvironment("dg2", python=("false",))).devices()


def test_real_worker_answers_and_refuses() -> None:
    """The worker itself, without a driver: an unknown module is an error, and the next request is answered."""
    with IsolatedDriver(DriverEnvironment("none")) as driver:
        for _ in range(2):
            with pytest.raises(KernlensError, match="worker has no module 'a'"):
                driver.function_pointer("a", "f")
        with pytest.raises(ToolError, match="AttributeError"):
            driver.request("level-zero", "no_such_request")


def test_missing_loader() -> None:
    """ZE_ENABLE_ALT_DRIVERS with a driver that is not there: the loader finds none, and says so."""
    with (
        IsolatedDriver(DriverEnvironment("none", {"ZE_ENABLE_ALT_DRIVERS": "/nowhere/libze.so"})) as driver,
        pytest.raises(ToolError, match=r"zeInit|libze_loader"),
    ):
        driver.devices()


def test_worker_modules_need_the_standard_library_only(tmp_path: Path) -> None:
    """A copy of what a bare root gets is imported by a Python that sees no installed package."""
    import subprocess

    copy_worker(tmp_path)
    imports = (
        "import kernlens.runtime.worker, kernlens.runtime.level_zero.level_zero_requests\n"
        "import kernlens.runtime.opencl.opencl_requests\n"
        "import kernlens.formats.zebin.zebin_file, kernlens.formats.patch_tokens.program_binary, kernlens.formats.neo_elf"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-S", "-c", imports], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
