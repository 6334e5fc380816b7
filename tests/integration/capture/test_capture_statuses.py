"""Every build has an entry, whatever the driver answers: counted by a library in front of the loader, which knows no layers."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kernlens.recording.reader import Recording
from kernlens.runtime.opencl.error_codes import ERROR_NAMES
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN
from tests.integration.cli.test_cli import kernlens
from tests.integration.layers.opencl_layer_fixtures import cpu_runtime, pocl

#: The statuses of calls whose arguments are none, so that there was no build.
NO_CALL = {"CL_INVALID_PROGRAM", "CL_INVALID_DEVICE", "CL_INVALID_CONTEXT", "CL_INVALID_VALUE"}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the applications and of the library that counts."""
    folder = tmp_path_factory.mktemp("statuses")
    count = [*FLAGS, "-shared", "-fPIC", "-o", str(folder / "count.so"), str(HERE / "counting_preload.c"), "-ldl"]
    app = [*FLAGS, "-o", str(folder / "app"), str(HERE / "statuses.c"), "-lOpenCL"]
    unlinkable = [*FLAGS, "-o", str(folder / "unlinkable"), str(HERE / "unlinkable.c"), "-lOpenCL"]
    for words in (count, app, unlinkable):
        subprocess.run(["gcc", *words], check=True, timeout=60)
    return folder


@pytest.mark.parametrize("driver", ["dg2", "bmg", "pocl", "cpu"])
def test_recorded_is_what_was_called_for_every_status(
    driver: str, programs: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if driver == "bmg":
        request.getfixturevalue("newest_root")
    simulate = {"dg2": ("--simulate", "dg2"), "bmg": ("--simulate", "bmg", "--toolchain", "newest")}.get(driver, ())
    computing = {"pocl": pocl, "cpu": cpu_runtime}
    variables = computing[driver](tmp_path).environment if driver in computing else {}
    counted, recording = tmp_path / "counted", tmp_path / "x.klens"
    done = subprocess.run(
        [*MAIN, "capture", *simulate, "-o", str(recording), "--", str(programs / "app")],
        env={**os.environ, **variables, "LD_PRELOAD": str(programs / "count.so"), "COUNTED": str(counted)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    called = Counter(
        (operation, ERROR_NAMES.get(int(status), "CL_SUCCESS"))
        for operation, _, status in (line.partition(":") for line in counted.read_text().split())
    )
    builds = {call: count for call, count in called.items() if call[1] not in NO_CALL}
    assert sum(called.values()) == 30, "all that the application calls"
    assert len(builds) >= 6, "several statuses"
    with Recording(recording) as opened:
        operations = [call["operation"] for call in json.loads(opened.metadata["capture"])["builds"]]
        recorded = Counter(
            (
                operation,
                told[1] if (told := re.search("failed with (CL_[A-Z_]+)", build.reason or "")) else "CL_SUCCESS",
            )
            for operation, build in zip(operations, opened.builds(), strict=True)
        )
        refused = [build for build in opened.builds() if build.outcome == "refused"]
        unasked = [
            build for build in opened.builds() if (build.reason or "").startswith("kernlens asked for no binary")
        ]
        assert [build.outcome for build in unasked] == ["built"] * (driver == "pocl"), (
            "PoCL is not asked for that of the long name"
        )
    assert recorded == builds
    too_large = [build.reason or "" for build in refused if "OUT_OF_RESOURCES" in (build.reason or "")]
    assert [reason.partition(": ")[2].split(" SLM")[0] for reason in too_large] == [
        "large declares 262,144 bytes of" for _ in range(builds.get(("build", "CL_OUT_OF_RESOURCES"), 0))
    ], "the reason is that of the program as the driver notified of it"
    # A call that succeeds at once may notify of a build that failed.
    answered = [build for build in refused if "failed with" in (build.reason or "")]
    assert len(answered) == sum(count for (_, status), count in builds.items() if status != "CL_SUCCESS")
    listed = json.loads(kernlens("recording", "list", recording, "--json").stdout)["programs"]
    assert Counter(program["outcome"] for program in listed) == {
        "built": sum(builds.values()) - len(refused),
        "refused": len(refused),
    }


def test_pocl_ends_no_application_over_a_binary(programs: Path, tmp_path: Path) -> None:
    """PoCL links kernels when it is asked for the binary, and aborts if it cannot: only a second process is asked."""
    recording = tmp_path / "x.klens"
    done = subprocess.run(
        [*MAIN, "capture", "-o", str(recording), "--", str(programs / "unlinkable")],
        env={**os.environ, **pocl(tmp_path / "cache").environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "nowhere" not in done.stderr, "what the linker says of it is no output of the application's"
    with Recording(recording) as opened:
        builds = [(build.outcome, bool(build.binary), build.reason or "") for build in opened.builds()]
    assert [(outcome, has_binary) for outcome, has_binary, _ in builds] == [
        ("built", True),
        ("built", False),
        ("built", True),
        ("built", True),
        ("built", True),
        ("built", False),
        ("built", True),
    ]
    reasons = {reason for _, has_binary, reason in builds if not has_binary}
    assert len(reasons) == 1
    assert "the second build's process died: Aborted" in reasons.pop()
