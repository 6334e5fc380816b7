"""The processes of a capture: signals, kills, the terminal's job control, and wrong use."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import NotFoundError, OutputError, ToolError, UnsupportedError
from kernlens.recording.reader import Recording
from kernlens.verbs.capture.capture import capture, recover
from tests.integration.capture import capture_stress
from tests.integration.capture.capture_fixtures import (
    MAIN,
    POCL_DRIVER,
    attached,
    captured,
    counting_driver,
    dg2,
    environment,
    folder,
    platform,
)
from tests.integration.layers.opencl_layer_fixtures import Platform, pocl
from tests.whole import WHOLE

__all__ = ["dg2", "folder", "platform"]


def wait_for(condition: Callable[[], object], what: str) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    pytest.fail(f"no {what}")


@pytest.fixture
def waiting(dg2: Platform, folder: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """kernlens, capturing an application that has built and launched, and waits."""
    command = [*MAIN, "capture", "-o", "x.klens", "--", str(folder / "app"), "wait"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(dg2),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        wait_for(lambda: process.stdout is not None and "waiting" in process.stdout.readline(), "application")
        yield process
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def children(process: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP, signal.SIGRTMIN])
def test_a_signal_goes_to_the_application(
    number: signal.Signals, waiting: subprocess.Popen[str], tmp_path: Path
) -> None:
    waiting.send_signal(number)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode in (-number, 128 + number), err
    assert "recorded in x.klens" in err
    assert [build.ok for build in Recording(tmp_path / "x.klens").builds()] == [True]


def test_the_terminals_ctrl_c_comes_once(waiting: subprocess.Popen[str]) -> None:
    os.killpg(waiting.pid, signal.SIGINT)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == -signal.SIGINT
    assert "recorded in x.klens" in err


def test_an_application_that_is_killed(waiting: subprocess.Popen[str], tmp_path: Path) -> None:
    (application,) = children(waiting.pid)
    os.kill(application, signal.SIGKILL)
    _, err = waiting.communicate(timeout=60)
    assert waiting.returncode == -signal.SIGKILL
    assert re.search(r"add +program-1 +dg2 +[1-9]", err), err
    assert len(Recording(tmp_path / "x.klens").builds()) == 1


def test_kernlens_is_killed(waiting: subprocess.Popen[str], tmp_path: Path) -> None:
    (application,) = children(waiting.pid)
    os.kill(waiting.pid, signal.SIGKILL)
    waiting.wait(60)
    os.kill(application, 0)  # It goes on.
    os.kill(application, signal.SIGKILL)
    assert not (tmp_path / "x.klens").exists(), "a recording gets its name when it is whole"
    with pytest.raises(OutputError, match=re.escape(f"--recover {tmp_path}/x.klens.capture")):
        capture(["true"], tmp_path / "x.klens")
    done = recover(tmp_path / "x.klens.capture")
    assert (done.recording, done.builds, done.exit_status) == (tmp_path / "x.klens", 1, None)
    assert not (tmp_path / "x.klens.capture").exists()
    (program,) = kernlens.load(tmp_path / "x.klens")
    assert set(program.kernels.keys()) == {"add", "multiply"}


def test_a_stopped_job_stops_and_goes_on(waiting: subprocess.Popen[str]) -> None:
    def state(process: int) -> str:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]

    (application,) = children(waiting.pid)
    os.kill(application, signal.SIGSTOP)
    wait_for(lambda: state(waiting.pid) == "T", "stop of kernlens")
    os.kill(waiting.pid, signal.SIGCONT)
    wait_for(lambda: state(application) == "S", "application that goes on")


def test_wrong_use(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NotFoundError, match="there is no program"):
        capture(["no-such-program"])
    with pytest.raises(ToolError, match="it is a folder"):
        capture([tmp_path])
    own = tmp_path / "own"
    shutil.copy("/bin/true", own)
    own.chmod(0o4755)
    os.chown(own, 1 if os.geteuid() == 0 else -1, -1)
    if os.geteuid() == 0:
        own.chmod(0o4755)
        with pytest.raises(UnsupportedError, match="setuid, setgid or file capabilities"):
            capture([own])
    done = capture(["true"])
    assert (done.recording, done.exit_status) == (None, 0)
    assert done.reason.startswith("nothing was built that kernlens can see: either no process of it asked for OpenCL")
    (tmp_path / "x.txt").write_text("mine")
    with pytest.raises(OutputError, match="is not a recording; kernlens leaves it alone"):
        capture(["true"], tmp_path / "x.txt")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "x.txt"]


def test_two_captures_into_one_file(waiting: subprocess.Popen[str], tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="another process is writing the recording"):
        capture(["true"], tmp_path / "x.klens")


def test_programs_that_are_started_elsewhere(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """kernlens layer --capture: two shells take the same folder, several processes write, --recover merges."""
    lines = '"$@" layer --capture x.klens --lines'
    on, off = f'set -e; eval "$({lines})"; echo "$KERNLENS_CAPTURE"', f'eval "$({lines} --unset)"'
    script = f"{on}; {folder}/app source; {off}; {folder}/app wrong"
    shells = [
        subprocess.Popen(
            ["sh", "-c", script, "sh", *MAIN], cwd=tmp_path, env=environment(dg2), stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for shell in shells:
        out, _ = shell.communicate(timeout=120)
        assert (shell.returncode, out.splitlines()[0]) == (0, f"{tmp_path}/x.klens.capture")
    with pytest.raises(OutputError, match=re.escape(f"--recover {tmp_path}/x.klens.capture")):
        capture(["true"], tmp_path / "x.klens")
    done = recover(tmp_path / "x.klens.capture")
    assert (done.builds, done.failed, [kernel.line_table for kernel in done.kernels]) == (2, 0, [True] * 4)
    assert sum(kernel.launches for kernel in done.kernels) == 10
    assert not (tmp_path / "x.klens.capture").exists()


def test_a_build_makes_no_file_of_its_own(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """To make and remove one takes ext4 up to a millisecond."""
    spool, variables = attached(tmp_path / "x.klens")
    command = [str(folder / "app"), "churn", "6"]
    subprocess.run(command, env=environment(dg2) | variables, stdout=subprocess.DEVNULL, timeout=120, check=True)
    assert Counter(path.suffix for path in spool.iterdir() if path.suffix) == {".process": 1, ".builds": 1, ".calls": 1}
    assert recover(spool).builds == 6


@pytest.mark.parametrize("victim", ["app", "kernlens"])
def test_kills_at_random_moments(victim: str, folder: Path, tmp_path: Path) -> None:
    """50 of each: python -m tests.integration.capture.capture_stress."""
    assert capture_stress.run(folder / "app", tmp_path, victim, 3 if WHOLE else 2)[0] == capture_stress.BUILDS


def test_forks_among_threads(platform: Platform, folder: Path, tmp_path: Path) -> None:
    """Children that start no other program end as they do without a capture, and nothing of their parent's is lost."""
    done = captured(platform, folder, tmp_path, str(folder / "app"), "fork-among-threads", "40")
    assert (done.status, done.out) == (0, "forked\n"), done.err
    assert sorted(build.options or "" for build in done.builds) == [f"-DTHREAD={number}" for number in range(4)]
    assert sum(kernel["created"] for kernel in done.noted["kernels"]) == 400


def test_a_working_folder_that_cannot_be_written(tmp_path: Path) -> None:
    """Where no place was named, that is the recording's."""
    if os.geteuid() != 0:
        pytest.skip("a file system is mounted, which needs to be root")
    line = f'mount -t tmpfs -o ro none {tmp_path} && cd {tmp_path} && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", line, "sh", *MAIN, "capture", "--", "echo", "started"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"echo.klens cannot be written: {tmp_path} is not writable; name another place with -o" in done.stderr


def test_a_folder_that_cannot_be_written(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    command = [*MAIN, "capture", "-o", "/proc/x.klens", "--", "echo", "started"]
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "/proc/x.klens cannot be written" in refused.stderr
    # One that goes while the application runs.
    lost = f"rm -r {tmp_path}/x.klens.capture; {folder}/app source wrong 3"
    done = captured(dg2, folder, tmp_path, "sh", "-c", lost)
    assert done.status == 3
    assert "add 2016" in done.out
    assert f"missing is what was written to {tmp_path}/x.klens.capture: somebody has removed it" in done.err
    assert not done.recording.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="who is not root cannot become another user")
def test_a_process_that_gives_up_its_rights_says_what_is_missing(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """As daemons do: the folder of the capture is out of their reach then, as it is in another root."""
    done = captured(dg2, folder, tmp_path, f"{folder}/app", "source", "other-user", "source", "3")
    assert (done.status, done.out.count("add 2016"), "another user" in done.err) == (3, 2, False)
    assert "missing is a build: Permission denied" in done.err
    assert len(done.builds) == 1


def test_a_recording_that_cannot_be_written_at_the_end(dg2: Platform, folder: Path, tmp_path: Path) -> None:
    """The exit status is kernlens's own then (docs/exit_status.md), and nothing is lost."""
    taken = f"rm -f x.klens; mkdir x.klens; {folder}/app source 7"
    edited = tmp_path / "edited.cl"
    edited.write_text("kernel void none(int a) {}")
    changes = ("--build-options", "-DMORE", "--replace", f"none={edited}")
    done = captured(dg2, folder, tmp_path, "sh", "-c", taken, options=("--simulate", "dg2", "--stages", *changes))
    spool = tmp_path / "x.klens.capture"
    assert (done.status, "add 0" in done.out) == (2, True), done.err
    assert f"what was captured stays in {spool}: kernlens capture --recover {spool}" in done.err
    recovered = recover(spool, tmp_path / "other.klens")
    assert recovered.builds == 1
    first, second = recovered.findings
    assert first == "with the added options the machine code of all 2 kernels is the same as without"
    assert second.startswith(f"{edited} stood in for nothing: no program that the application made has a kernel none")
    recording = Recording(tmp_path / "other.klens")
    assert json.loads(recording.metadata["command_line"]) == ["sh", "-c", taken]
    assert {"visa", "gen-assembly"} <= {snapshot.stage for snapshot in recording.builds()[0].snapshots}


def test_a_driver_that_crashes_in_a_build(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = counting_driver(tmp_path, POCL_DRIVER) | {"COUNTED": str(tmp_path / "counted"), "CRASHING": "1"}
    for name, value in environment(pocl(tmp_path), **crashing).items():
        monkeypatch.setenv(name, value)
    done = capture([folder / "app", "source"], tmp_path / "x.klens")
    assert (done.exit_status, done.builds, done.failed) == (-signal.SIGABRT, 1, 1)
    assert done.findings[0] == "SIGABRT ended the application"
    assert done.findings[1].startswith("the application's process ended within the build of program-1")
    (build,) = Recording(tmp_path / "x.klens").builds()
    assert (build.ok, build.options) == (False, "-cl-fast-relaxed-math")
    assert build.reason == "the application's process ended within this build"
    assert "kernel void add" in build.sources[0].text


def test_a_statically_linked_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    subprocess.run(["gcc", "-static", "-x", "c", "-o", "alone", "-"], input=b"int main(void) { return 4; }", check=True)
    done = capture(["./alone"])
    assert (done.exit_status, done.recording) == (4, None)
    assert (
        done.reason
        == "nothing was built that kernlens can see: ./alone is statically linked and loads no driver; link it dynamically"
    )
