"""A worker that misbehaves becomes an error, and the caller lives. The workers here are scripts, not drivers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import KernlensError, NotFoundError, ToolError
from kernlens.runtime import isolation
from kernlens.runtime.driver_environment import DriverEnvironment, copy_worker
from kernlens.runtime.isolation import DriverDiedError, IsolatedDriver
from kernlens.verbs.capture.second_builds import SecondBuildPlan, second_builds
from kernlens.verbs.capture.spool import BuildEvent, BuiltDevice
from tests.processes import PATIENCE, have_ended

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


#: Says its number to a file, and does not end before a test has lost its patience with it.
ENDLESS = (
    "open({there!r} + '.new', 'w').write(str(os.getpid())); os.rename({there!r} + '.new', {there!r})\n"
    f"time.sleep({PATIENCE})\n"
    "open({late!r}, 'w').close()\n"
)


class Endless:
    """A worker that does not answer."""

    def __init__(self, folder: Path) -> None:
        self._there, self._late = folder / "there", folder / "late"
        self.environment = dying_driver(folder, ENDLESS.format(there=str(self._there), late=str(self._late)))

    def process(self) -> int:
        """Its number, when it has begun."""
        while not self._there.exists():
            time.sleep(0.01)
        return int(self._there.read_text())

    def was_ended(self) -> bool:
        """Wait for its end; whether nobody had to wait long for it."""
        return have_ended([self.process()]) and not self._late.exists()


class Clock:
    """Time for the module ``isolation``: it is over after the worker's second message, or a later one."""

    def __init__(self, messages: int) -> None:
        # The clock is read once for the deadline, and once before each message.
        self._readings = 1 + messages

    def monotonic(self) -> float:
        self._readings -= 1
        return 0.0 if self._readings >= 0 else 1000.0


def died(folder: Path, rest: str) -> DriverDiedError:
    driver = IsolatedDriver(dying_driver(folder, rest), time_limit=600.0)
    with driver, pytest.raises(DriverDiedError) as caught:
        driver.build_spirv("a.spv", b"")
    return caught.value


def test_an_exit_of_the_driver_is_told_with_its_call(tmp_path: Path) -> None:
    error = died(tmp_path, "print('what the driver said', file=sys.stderr); sys.exit(10)")
    assert (error.call, error.device, error.input, error.status) == ("zeModuleCreate", "dg2", "a.spv", 10)
    assert str(error) == (
        "the driver ended the process with exit status 10 in zeModuleCreate on dg2 for a.spv: what the driver said"
    )
    assert error.log.strip() == "what the driver said"
    assert error.exit_status == 3


def test_a_crash_of_the_driver_is_told_with_its_signal(tmp_path: Path) -> None:
    error = died(tmp_path, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert error.status is not None
    assert error.status < 0
    assert "crashed (SIGSEGV) in zeModuleCreate on dg2 for a.spv" in str(error)


def test_a_driver_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "time", Clock(messages=2))
    late = tmp_path / "late"
    error = died(tmp_path, f"time.sleep({PATIENCE}); open({str(late)!r}, 'w').close()")
    assert error.status is None
    assert not late.exists()
    assert "did not come back from zeModuleCreate within 600 s and was ended on dg2 for a.spv" in str(error)


def test_grandchildren_are_ended_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()), daemon=True)
    reader.start()
    monkeypatch.setattr(isolation, "time", Clock(messages=3))
    died(
        tmp_path,
        "import subprocess\n"
        f"held = open({str(pipe)!r}, 'w')\n"
        f"subprocess.Popen(['sh', '-c', 'sleep {PATIENCE}; echo alive'], stdout=held)\n"
        "held.close()\n"
        "say({'calling': 'zeKernelCreate'})\n"
        f"time.sleep({PATIENCE})",
    )
    reader.join()  # The pipe ends with its last writer, who says that he lives if nobody ended him.
    assert texts == [""]


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
    driver = IsolatedDriver(dying_driver(tmp_path, f"say({message!r}); time.sleep({PATIENCE})"))
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_a_worker_in_a_driver_that_hangs_ends_with_its_parent(number: signal.Signals, tmp_path: Path) -> None:
    worker = Endless(tmp_path)
    program = (
        "from kernlens.runtime.driver_environment import DriverEnvironment\n"
        "from kernlens.runtime.isolation import IsolatedDriver\n"
        f"IsolatedDriver(DriverEnvironment('dg2', python={worker.environment.python!r})).devices()\n"
    )
    package = str(Path(kernlens.__file__).parents[1])
    parent = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": package})
    worker.process()
    parent.send_signal(number)
    parent.wait()
    assert worker.was_ended()


def test_another_thread_ends_it(tmp_path: Path) -> None:
    worker = Endless(tmp_path)

    def kill() -> None:
        worker.process()
        driver.kill()

    with IsolatedDriver(worker.environment) as driver:
        threading.Thread(target=kill).start()
        with pytest.raises(DriverDiedError, match="SIGKILL"):
            driver.devices()
        assert worker.was_ended()
        with pytest.raises(ToolError, match=r"^the driver's process was stopped$"):
            driver.devices()


def test_an_interrupt_ends_what_is_built_again(tmp_path: Path) -> None:
    """Builds in worker threads: those that run are ended, those that wait are not begun."""
    worker = Endless(tmp_path)
    event = BuildEvent(
        operation="build", source="text", devices=[BuiltDevice(1, "dg2", platform="Intel(R) OpenCL Graphics")]
    )
    # Unconfined, as the fake driver writes who it is into a folder that no compiler is shown.
    plan = SecondBuildPlan({}, worker.environment.python, stages=True, unconfined=True)
    begun: list[int] = []

    def interrupt() -> None:
        begun.append(worker.process())
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        list(second_builds([event], plan))
    assert worker.was_ended()
