"""An application that looks after its own children hears of no other ones: of no second build's, and of no tool's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernlens.recording.reader import Recording
from tests.integration.capture.capture_fixtures import FLAGS, HERE, MAIN, environment
from tests.integration.layers.opencl_layer_fixtures import HEADERS, ICD_FOLDER, LAYER, NATIVE, led, pocl
from tests.whole import each_run

MODES = ("signals", "blocked", "wait", "ignored", "locked")
#: A second build each, and with stages one for each of PoCL's last ones.
BUILDS, WITH_STAGES = 2, 4


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("own-children") / "own_children"
    source = str(HERE / "own_children.c")
    command = ["gcc", *FLAGS, f"-I{HEADERS}", "-o", str(program), source, "-lOpenCL", "-lpthread"]
    subprocess.run(command, check=True, timeout=60)
    return program


def run(work: Path, *command: str, **more: str) -> tuple[int, str]:
    """Return the exit status and what was printed; the driver's cache is new."""
    work.mkdir()
    platform = pocl(work / "cache")
    done = subprocess.run(
        command,
        cwd=work,
        env=environment(platform, **more),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, done.stdout


def run_alone(application: Path, mode: str, builds: int, tmp_path: Path, **more: str) -> tuple[int, str]:
    status, out = run(tmp_path / "alone", str(application), mode, str(builds), **more)
    assert status == 0
    assert out
    return status, out


@pytest.mark.parametrize(
    ("mode", "options"), [*((mode, ()) for mode in MODES), ("wait", ("--lines",)), ("signals", ("--stages",))]
)
def test_a_captured_application_hears_of_its_own_children_alone(
    mode: str, options: tuple[str, ...], application: Path, tmp_path: Path
) -> None:
    """PoCL's binaries come from second builds, and what the application prints is the same without kernlens."""
    recording = tmp_path / "x.klens"
    command = [*MAIN, "capture", *options, "-o", str(recording), "--", str(application), mode, str(BUILDS)]
    assert run(tmp_path / "captured", *command) == run_alone(application, mode, BUILDS, tmp_path)
    with Recording(recording) as opened:
        builds = [(build.outcome, bool(build.binary)) for build in opened.builds()]
    assert builds == [("built", True)] * BUILDS * (2 if mode == "ignored" else 1), "the second builds came to something"


@pytest.mark.parametrize("mode", each_run("signals", "wait", "locked", others=MODES))
def test_an_application_that_asks_for_stages_hears_of_its_own_children_alone(
    mode: str, application: Path, tmp_path: Path
) -> None:
    """Second builds, some of which wait for the application's build, and tools that turn stages into text."""
    snapshots = tmp_path / "snapshots"
    asks = {"SNAPSHOTS": str(snapshots)}
    plain = run_alone(application, mode, WITH_STAGES, tmp_path, **asks)
    assert not snapshots.exists()
    in_layer = led(NATIVE / LAYER, {"OCL_ICD_VENDORS": str(ICD_FOLDER / "pocl.icd")})
    assert run(tmp_path / "asks", str(application), mode, str(WITH_STAGES), **asks, **in_layer) == plain
    assert len(snapshots.read_text()) >= WITH_STAGES
