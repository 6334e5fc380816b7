"""kernlens_confine: what a child that is shown some files can do, in namespaces and under Landlock."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import threading
from pathlib import Path

import pytest

import kernlens
from kernlens.errors import ToolError, UnsupportedError
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain import shown_files, simulation
from kernlens.toolchain.confinement import Confinement, Limits, confined_driver
from kernlens.toolchain.process import Completed, run

BOTH = (shown_files.NAMESPACES, shown_files.LANDLOCK)


@pytest.fixture(params=BOTH)
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    chosen: str = request.param
    monkeypatch.setattr(shown_files, "mechanism", lambda **_: chosen)
    return chosen


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "private/secret"
    path.parent.mkdir()
    path.write_text("a secret\n")
    return path


def asked(tmp_path: Path, script: str, *shown: str, confined: bool = True) -> Completed:
    """What a shell script says that is run with these files shown; its own folder is, too."""
    for name in ("bin", "work"):
        (tmp_path / name).mkdir(exist_ok=True)
    program = tmp_path / "bin/ask"
    program.write_text(f"#!/bin/bash\n{script}\n")
    program.chmod(0o755)
    with Confinement(str(tmp_path / "work"), Limits(), list(shown) if confined else None):
        return run([program], timeout=60)


def test_it_reads_and_writes_what_it_is_shown(how: str, tmp_path: Path, secret: Path) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    (shown / "file").write_text("shown\n")
    (shown / "out").symlink_to(secret)
    script = f"""
        cat {shown}/file; echo new > own; cat own
        cat {secret}; cat {shown}/out; cat {shown}/../private/secret; cat /etc/passwd; cat /proc/{os.getpid()}/environ
        cat /root/.bashrc; echo x > {shown}/file; echo x > {tmp_path}/new; rm {shown}/file
        mv own {tmp_path}/moved; ln {secret} own2
        chmod 777 {secret}; touch -d 2001-01-01 {secret}; : > {secret}; rmdir {tmp_path}/private"""
    before = os.stat(secret)
    done = asked(tmp_path, script, str(shown))
    assert done.stdout == "shown\nnew\n"
    assert (tmp_path / "work/own").read_text() == "new\n"
    assert (shown / "file").read_text() == "shown\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "private", "shown", "work"]
    after = os.stat(secret)
    assert (after.st_mode, after.st_mtime_ns, after.st_size) == (before.st_mode, before.st_mtime_ns, before.st_size)
    assert "a secret" in asked(tmp_path, script.split("cat /proc")[0], str(shown), confined=False).stdout


def test_in_namespaces_nothing_else_has_a_name(tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_files, "mechanism", lambda **_: shown_files.NAMESPACES)
    script = f"""
        for path in {secret} {secret.parent} /proc /sys /home /root/.. /etc/passwd /usr/include /var /run /tmp/.X11-unix; do
          [ -e $path ] && echo $path
        done
        echo /*; echo /tmp/* /etc/* /dev/*"""
    done = asked(tmp_path, script)
    there = set(done.stdout.split())
    assert "/root/.." in there or os.geteuid() or "/root" not in str(tmp_path)
    assert there <= {
        "/root/..", "/bin", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/root", "/tmp", "/usr", "/var",
        f"/{tmp_path.parts[1]}", f"/{Path(kernlens.__file__).parts[1]}", f"/tmp/{tmp_path.parts[2]}",
        "/tmp/*", "/etc/OpenCL", "/etc/alternatives",
        "/etc/ld.so.cache", "/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero",
    }  # fmt: skip


def test_it_gets_no_variable_that_steers_nothing(how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("A_TOKEN", "CPATH", "C_INCLUDE_PATH", "LD_PRELOAD_NOT", "BASH_ENV"):
        monkeypatch.setenv(name, "value-of-it")
    monkeypatch.setenv("IGC_SomeKey", "1")
    done = asked(tmp_path, "printenv; tr '\\0' '\\n' </proc/self/environ 2>/dev/null")
    assert "value-of-it" not in done.stdout
    assert f"HOME={tmp_path}/work" in done.stdout
    assert "IGC_SomeKey=1" in done.stdout


def test_it_has_no_network(how: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = f"(echo > /dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected; true"
        assert asked(tmp_path, script, confined=False).stdout == "connected\n"
        assert asked(tmp_path, script).stdout == ""


def test_it_has_no_sockets_that_send_to_a_name(how: str, tmp_path: Path) -> None:
    words = "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_{}); print('made')"
    for kind, is_there in (("STREAM", True), ("SEQPACKET", True), ("DGRAM", False)):
        script = f'/usr/bin/python3 -c "{words.format(kind)}" 2>/dev/null; true'
        assert asked(tmp_path, script, confined=False).stdout == "made\n"
        assert asked(tmp_path, script).stdout == ("made\n" if is_there else ""), kind


def test_other_processes_are_out_of_reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_files, "mechanism", lambda **_: shown_files.NAMESPACES)
    with subprocess.Popen(["sleep", "4000"]) as other:
        try:
            script = f"kill -0 {other.pid} 2>/dev/null && echo reached; true"
            assert asked(tmp_path, script, confined=False).stdout == "reached\n"
            assert asked(tmp_path, script).stdout == ""
        finally:
            other.kill()


def test_what_leaves_its_group_ends_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shown_files, "mechanism", lambda **_: shown_files.NAMESPACES)
    mark = f"{4000 + os.getpid()}.25"  # seconds, by which it is known outside; longer than this test is patient
    asked(tmp_path, f"setsid sleep {mark} </dev/null >/dev/null 2>&1 & sleep 0.2; exit 0")
    for _ in range(600):
        if not any(mark.encode() in words for words in _command_lines()):
            return
        threading.Event().wait(0.1)
    raise AssertionError("it still runs")


def _command_lines() -> list[bytes]:
    lines = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                lines.append((entry / "cmdline").read_bytes())
            except OSError:
                continue  # It has ended.
    return lines


def test_status_and_signal_are_the_programs(how: str, tmp_path: Path) -> None:
    assert asked(tmp_path, "exit 7").returncode == 7
    for name in ("KILL", "SEGV", "ABRT", "TERM"):
        assert asked(tmp_path, f"ulimit -c 0; kill -{name} $$").returncode == -getattr(signal, f"SIG{name}")


def test_a_program_that_cannot_be_confined_is_not_run(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown_files, "parts_of_root", lambda root: ())  # not even the loader of libraries
    with pytest.raises(ToolError, match=r"ask could not be confined: starting .*/ask: "):
        asked(tmp_path, "exit 0")


@pytest.mark.parametrize("left", ["ln -s /etc/passwd a", "mkfifo a", "mkdir b; ln -s .. b/a"])
def test_a_trap_that_is_left_for_the_reader_is_seen(left: str, how: str, tmp_path: Path) -> None:
    """A link among the results would have this process read for the compiler what that cannot, a pipe would have it wait."""
    with pytest.raises(
        ToolError, match=r"ask left 'a', which is neither a file nor a folder, so kernlens discards its output"
    ):
        asked(tmp_path, left)


def test_where_neither_is_offered_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper = tmp_path / "helper"
    helper.write_text('#!/bin/sh\necho "kernlens_confine: $1 is forbidden: Operation not permitted" >&2\nexit 125\n')
    helper.chmod(0o755)
    monkeypatch.setattr(shown_files, "_HELPER", str(helper))
    shown_files.mechanism.cache_clear()
    try:
        with pytest.raises(UnsupportedError) as error:
            Confinement(str(tmp_path), Limits(), [])
    finally:
        shown_files.mechanism.cache_clear()
    assert "namespaces (namespaces is forbidden: Operation not permitted); landlock (landlock is forbidden" in str(
        error.value
    )
    assert "--unconfined" in str(error.value)


def test_a_drivers_process(how: str, tmp_path: Path, secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker builds as it does otherwise; a text that its compiler gets opens nothing, and its variables are few."""
    monkeypatch.setenv("A_TOKEN", "value-of-it")
    plain = simulation.simulated_driver("dg2")
    texts = {"fine": "kernel void f(global int *a) { a[0] = 1; }", "include": f'#include "{secret}"\n'}
    work = tmp_path / "work"
    work.mkdir()
    with Confinement(str(work), Limits(), []):
        confined = confined_driver(plain)
    assert "A_TOKEN" not in {name for name, value in confined.variables.items() if value is not None}
    assert confined.variables["A_TOKEN"] is None
    with IsolatedDriver(DriverEnvironment("dg2", confined.variables, confined.python, folder=work)) as driver:
        assert driver.build_source("fine", texts["fine"]) == ""
        with pytest.raises(Exception, match="CL_BUILD_PROGRAM_FAILURE") as failure:
            driver.build_source("include", texts["include"])
        assert "unknown type name" not in getattr(failure.value, "log", "")
    with IsolatedDriver(plain) as driver, pytest.raises(Exception, match="CL_BUILD") as failure:
        driver.build_source("include", texts["include"])
    assert "unknown type name" in getattr(failure.value, "log", "")  # the text of the file was compiled


def test_the_variables_that_simulate_are_those_of_the_driver() -> None:
    written = {name for chosen in ("dg2", "skl") for name in simulation.simulated_environment(chosen)}
    written |= {*simulation._NEWER_RECEIVER, *simulation._OLDER_RECEIVER, *simulation._COMMON}
    assert written <= shown_files.SIMULATING


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="only root can become another user")
@pytest.mark.parametrize("how", BOTH)
def test_a_plain_user_is_confined_too(how: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    import tempfile

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        helper, secret = folder / "helper", folder / "secret"
        shutil.copy(shown_files._HELPER, helper)
        secret.write_text("a secret\n")
        as_user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        shown = [word for path in ("/bin", "/lib", "/lib64", "/usr") for word in ("--show", path)]
        confined = [*as_user, str(helper), how, *shown, "--", "cat", str(secret)]
        assert (
            subprocess.run([*as_user, "cat", str(secret)], capture_output=True, text=True, cwd="/").stdout
            == "a secret\n"
        )
        done = subprocess.run(confined, capture_output=True, text=True, cwd="/")
        assert (done.returncode, done.stdout) == (1, "")
        assert "No such file" in done.stderr or "Permission denied" in done.stderr
