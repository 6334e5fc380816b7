"""``kernlens run`` names the call into a simulated driver that does not return, on the real drivers.

Without EnableTimestampWaitForQueues=0, which ``run`` sets, the first wait never returns on pvc and bmg: the applications
here take the variable away before the driver reads it.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.toolchain.hangs.driver_calls import _EXPORTED_PLACE, _PLACES, EXPORTED
from tests.integration.test_simulated_devices import WAITING

KERNLENS = (sys.executable, "-c", "from kernlens.cli.main import main; main()")
HANGING = f"import os\nos.environ.pop('EnableTimestampWaitForQueues')\n{WAITING}"
TOLD = re.compile(r"process (\d+) \(.+\), thread (\d+): (\w+) has not returned for 2 s \(in libigdrcl\.so\)")


def run_command(device: str, toolchain: str, program: str, *options: str) -> list[str]:
    simulate = ["run", "--simulate", device, "--toolchain", toolchain, *options]
    return [*KERNLENS, *simulate, "--", sys.executable, "-c", program]


@pytest.fixture(params=["system", "newest"])
def toolchain(request: pytest.FixtureRequest) -> str:
    if request.param == "newest":
        request.getfixturevalue("newest_root")
    name: str = request.param
    return name


@pytest.mark.parametrize("device", ["pvc", "bmg", "dg2"])
def test_a_call_that_does_not_return_is_named(device: str, toolchain: str, tmp_path: Path) -> None:
    if (device, toolchain) == ("bmg", "system"):
        return  # it does not simulate that
    command = run_command(device, toolchain, HANGING, "--hang-timeout", "2", "--kill-hanging")
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=300)
    if device == "dg2":
        assert (process.returncode, out) == (0, "done\n"), err
        assert "has not returned" not in err
        return
    found = TOLD.search(err)
    assert found, err
    number = str(process.pid)
    function = "clEnqueueNDRangeKernel" if toolchain == "system" else "clWaitForEvents"
    assert found.groups() == (number, number, function)
    assert process.returncode == -signal.SIGKILL


def test_nothing_is_killed_unless_asked(tmp_path: Path) -> None:
    """In a process that the application started as well, which is named; the application then goes on as it wants."""
    parent = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {HANGING!r}], stdout=subprocess.DEVNULL)\n"
        "print(child.pid, flush=True)\nsys.stdin.read()\nprint(child.poll())\nchild.kill()\n"
    )
    command = run_command("pvc", "system", parent, "--hang-timeout", "2")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        child = process.stdout.readline().strip()
        found = None
        while not found:
            line = process.stderr.readline()
            assert line, "the application ended"
            found = TOLD.search(line)
        assert found[1] == child
        process.stdin.close()
        assert process.stdout.read() == "None\n"
        assert process.wait(300) == 0


def test_the_application_has_no_process_of_ours(tmp_path: Path) -> None:
    program = (
        "import os, time\n"
        "print(open(f'/proc/self/task/{os.getpid()}/children').read() == '', sorted(os.listdir('/proc/self/fd'))[:4])\n"
    )
    with_watch = subprocess.check_output(run_command("dg2", "system", program), cwd=tmp_path, text=True)
    without = subprocess.check_output(
        run_command("dg2", "system", program, "--hang-timeout", "0"), cwd=tmp_path, text=True
    )
    assert with_watch == without
    assert with_watch.startswith("True ")


def test_the_dispatch_table_is_that_of_the_headers() -> None:
    text = Path("/usr/include/CL/cl_icd.h").read_text("utf-8")
    table = text[text.index("typedef struct _cl_icd_dispatch {") : text.index("} cl_icd_dispatch;")]
    names = re.findall(r"^ *(?:cl_api_\w+|\w+_fn|\w+_t|void \*)\s*\*?\s*(\w+);", table, re.MULTILINE)
    unique = list(dict.fromkeys(names))
    assert unique[_EXPORTED_PLACE] == EXPORTED
    assert {place: unique[place] for place in _PLACES} == _PLACES


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at other users' processes")
def test_a_process_of_another_user_is_passed_over(tmp_path: Path) -> None:
    """The application gave its rights away: whatever cannot be looked at is not told, and hinders nothing."""
    program = "import os\nos.setuid(65534)\nprint(os.getuid())\n"
    done = subprocess.run(
        run_command("dg2", "system", program, "--hang-timeout", "1"),
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "65534\n")
