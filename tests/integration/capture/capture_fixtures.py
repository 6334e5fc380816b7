"""An application to capture (capture/), the layer that counts what it calls, and kernlens around them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from kernlens.model.build import Build
from kernlens.recording.reader import Recording
from kernlens.verbs.capture.capture import attach
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER, SLICES, Platform, intel, pocl
from tests.made_once import once

HERE = Path(__file__).parent / "sources"
FLAGS = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
#: What gcc makes the application of.
APPLICATION = (
    *(str(HERE / f"{part}.c") for part in ("application", "application_launches")),
    *("-lOpenCL", "-lpthread"),
)
MAIN = [sys.executable, "-c", "from kernlens.cli.main import main; main()"]


@dataclass
class Done:
    """The end of kernlens, and what it recorded."""

    status: int
    out: str
    err: str
    recording: Path
    counted: Counter[str] = field(default_factory=Counter)

    @property
    def builds(self) -> list[Build]:
        with Recording(self.recording) as recording:
            builds = recording.builds()
            for build in builds:
                _ = build.log, build.binary, build.debug, build.spirv, build.sources
            return builds

    @property
    def noted(self) -> Any:
        with Recording(self.recording) as recording:
            return json.loads(recording.metadata["capture"])

    def launches(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for kernel in self.noted["kernels"]:
            counts[kernel["name"]] += kernel["launches"]
        return +counts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the application and the layer that counts."""

    def fill(path: Path) -> None:
        subprocess.run(["gcc", *FLAGS, "-o", str(path / "app"), *APPLICATION], check=True, timeout=60)
        build_counter(path)

    # Some tests write beside them.
    filled = once(tmp_path_factory, "capture-application", fill)
    return shutil.copytree(filled, tmp_path_factory.mktemp("capture"), dirs_exist_ok=True)


def build_counter(folder: Path) -> Path:
    """Build the layer that counts in a folder, and return that."""
    layer = [*FLAGS, "-shared", "-fPIC", "-o", str(folder / "count.so"), str(HERE / "counting_layer.c")]
    subprocess.run(["gcc", *layer], check=True, timeout=60)
    return folder


#: The library of PoCL's driver, as its vendor's file names it.
POCL_DRIVER = (ICD_FOLDER / "pocl.icd").read_text().strip() if (ICD_FOLDER / "pocl.icd").is_file() else ""


def counting_driver(folder: Path, driver: str) -> dict[str, str]:
    """Build the driver that counts in front of another one, with a vendor's file below a folder, and return the variables that
    lead every loader to it."""
    library, vendors = folder / "libcounting.so", folder / "counted"
    words = [*FLAGS, "-shared", "-fPIC", "-o", str(library), str(HERE / "counting_driver.c")]
    subprocess.run(["gcc", *words], check=True, timeout=60)
    vendors.mkdir()
    (vendors / "counting.icd").write_text(f"{library}\n")
    return {"OCL_ICD_VENDORS": f"{vendors}/", "COUNTED_DRIVER": driver}


@pytest.fixture(params=["dg2", "pocl"])
def platform(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Platform:
    if request.param == "pocl":
        return pocl(tmp_path_factory.mktemp("pocl-cache"))
    return intel("dg2", SLICES["dg2"])


@pytest.fixture
def dg2() -> Platform:
    return intel("dg2", SLICES["dg2"])


def environment(platform: Platform, **more: str) -> dict[str, str]:
    without = {name: value for name, value in os.environ.items() if name != "OPENCL_LAYERS"}
    return {**without, **platform.environment, **more}


def attached(recording: Path, *, lines: bool = False) -> tuple[Path, dict[str, str]]:
    """Return the folder and the variables of programs that are recorded wherever they start."""
    spool, variables = attach(recording, lines=lines)
    assert None not in variables.values(), "nothing leads loaders here that would have to be unset"
    return spool, {name: value for name, value in variables.items() if value is not None}


def captured(
    platform: Platform, folder: Path, work: Path, *words: str, options: tuple[str, ...] = (), **more: str
) -> Done:
    """Capture the application, below the layer that counts."""
    counted, recording = work / "counted", work / "x.klens"
    counted.touch()
    variables = environment(platform, OPENCL_LAYERS=str(folder / "count.so"), COUNTED=str(counted), **more)
    command = [*MAIN, "capture", *options, "-o", str(recording), "--", *words]
    done = subprocess.run(command, cwd=work, env=variables, capture_output=True, text=True, timeout=600, check=False)
    return Done(done.returncode, done.stdout, done.stderr, recording, Counter(counted.read_text().split()))


def alone(platform: Platform, work: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words, cwd=work, env=environment(platform, **more), capture_output=True, text=True, timeout=600, check=False
    )
