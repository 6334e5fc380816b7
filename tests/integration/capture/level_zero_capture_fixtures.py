"""A Level Zero application to capture (capture/level_zero_application.c), a tracer that counts its calls, and dpnp."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from kernlens.toolchain.loaders.application import find_application
from kernlens.toolchain.simulation import simulated_environment
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, toolchain
from tests.environment import cache_folder
from tests.integration.capture.capture_fixtures import HERE, MAIN, Done
from tests.integration.drivers.live_fixtures import MODULES, compile_spirv
from tests.made_once import once

#: Modules for the application: those of the live tests with line information, and some more.
SOURCES = {
    **{name: MODULES[name] for name in ("plain", "importer", "exporter")},
    "edited": MODULES["plain"].replace("* factor", "* factor + 100.0f"),
    "other_exporter": MODULES["exporter"] + "int unused(int x) { return x * 77; }\n",
    "doubles": "kernel void doubles(global double *a) { a[get_global_id(0)] *= 3.25; }\n",
    "constants": """\
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
short __attribute__((overloadable)) __spirv_SpecConstant(int, short);
kernel void constants(global int *a) { a[0] = __spirv_SpecConstant(0, 5); a[1] = __spirv_SpecConstant(1, (short)3); }
""",
}

#: Without the tracer that counts.
UNTRACED = {"LD_PRELOAD": "", "ZE_ENABLE_TRACING_LAYER": "0"}
#: What gcc makes the application of.
LEVEL_ZERO_APPLICATION = (
    *(str(HERE / f"level_zero_{part}.c") for part in ("application", "launches", "graphs", "memory")),
    *("-lze_loader", "-lpthread", "-ldl"),
)


@dataclass(frozen=True)
class Driver:
    """A driver, the device that it simulates, and the folder of the application and its modules."""

    toolchain: str
    device: str
    folder: Path

    @property
    def app(self) -> list[str]:
        """The application's first words."""
        return [str(self.folder / "app"), str(self.folder)]

    def alone(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the application without kernlens, with these variables too."""
        chosen = toolchain(self.toolchain)
        application = find_application([*self.app, *words], None, chosen)
        return subprocess.run(
            application.words,
            executable=application.executable,
            env={**os.environ, **chosen.environment(), **simulated_environment(self.device, chosen), **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the application with kernlens, which records nothing."""
        command = ["run", "--simulate", self.device, "--toolchain", self.toolchain, "--", *self.app, *words]
        return subprocess.run(
            [*MAIN, *command],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def captured(
        self, work: Path, *words: str, options: tuple[str, ...] = (), variables: Mapping[str, str] | None = None
    ) -> Done:
        """Capture a command line, and count its calls; without words that are a path, the application's."""
        command = list(words) if words and words[0].startswith("/") else [*self.app, *words]
        counted, recording = work / "counted", work / "x.klens"
        counted.touch()
        tracing = {
            "ZE_ENABLE_TRACING_LAYER": "1",
            "LD_PRELOAD": str(self.folder / "tracer.so"),
            "COUNTED": str(counted),
            "TRACED": Path(command[0]).name,
        }
        capture = ["capture", "--simulate", self.device, "--toolchain", self.toolchain, *options, "-o", str(recording)]
        done = subprocess.run(
            [*MAIN, *capture, "--", *command],
            cwd=work,
            env={**os.environ, **tracing, **(variables or {})},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr, recording, Counter(counted.read_text().splitlines()))


@pytest.fixture(scope="session")
def level_zero_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the application, the tracer and the modules."""
    return once(tmp_path_factory, "level-zero-capture", _fill)


def _fill(folder: Path) -> None:
    flags = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror"]
    application = [*flags, "-o", str(folder / "app"), *LEVEL_ZERO_APPLICATION]
    tracer = [
        *flags,
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "tracer.so"),
        str(HERE / "level_zero_tracer.c"),
        "-lze_loader",
    ]
    for words in (application, tracer):
        subprocess.run(["gcc", *words], check=True, timeout=60)
    for name, text in SOURCES.items():
        compile_spirv(text, folder / f"{name}.cl", "-debug-info-kind=line-tables-only", "-dwarf-version=4")


@pytest.fixture(params=[f"{SYSTEM}/dg2", f"{NEWEST}/bmg"])
def driver(request: pytest.FixtureRequest, level_zero_folder: Path) -> Driver:
    """Return a driver of each generation."""
    name, device = request.param.split("/")
    if name == NEWEST:
        request.getfixturevalue("newest_root")
    return Driver(name, device, level_zero_folder)


@pytest.fixture(scope="session")
def sycl_python() -> Path:
    """Return a Python with dpnp (2.6 GB with Intel's mathematics libraries), made once in the tests' cache."""
    folder = cache_folder() / "sycl"
    python = folder / "bin" / "python"
    if not python.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            subprocess.run([sys.executable, "-m", "venv", scratch], check=True, timeout=300)
            install = [f"{scratch}/bin/python", "-m", "pip", "install", "--quiet", "dpnp==0.20.0"]
            done = subprocess.run(install, capture_output=True, text=True, timeout=1800, check=False)
            # pip's last words are the same for an index that nobody reaches and for a package that is not there.
            unreached = re.search(r"Retry\(total=0,.*(connection broken by .*)", done.stderr)
            if done.returncode and unreached:
                pytest.skip(f"dpnp: {unreached[1]}")
            assert done.returncode == 0, done.stderr
            Path(scratch).rename(folder)
            Path(scratch).mkdir()  # for the clean-up
    return python


def shown(binary: bytes) -> str:
    """How the application shows a binary: its size and its hash (FNV-1a)."""
    value = 14695981039346656037
    for byte in binary:
        value = (value ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return f"binary {len(binary)} {value:016x}"


def without_addresses(out: str, driver: Driver) -> str:
    """What the application prints, without what differs between any two runs: handles, and of the older driver the binary of a
    module that imports."""
    text = re.sub("<0x[0-9a-f]+>", "<>", out)
    return re.sub(r"(link 0\n(?:(?!binary).*\n)*binary \d+) \w+", r"\1", text) if driver.toolchain == SYSTEM else text


def without_binaries(out: str) -> str:
    """What the application prints but for the sizes and hashes of binaries: the newest driver makes another one each time where
    its cache is empty, as it is in a capture that replaces something."""
    return re.sub(r"binary \d+ \w+", "binary", out)


def agrees_with_the_tracer(done: Done) -> None:
    noted = done.noted
    operations = Counter(call["operation"] for call in noted["builds"])
    failed = sum("failed with" in (build.reason or "") for build in done.builds)
    assert operations["module"] + operations["dynamic link"] == (
        done.counted["module"] + done.counted["link"] + done.counted["failed"]
    )
    assert failed == done.counted["failed"]
    assert operations["dynamic link"] == done.counted["link"]
    assert sum(kernel["created"] for kernel in noted["kernels"]) == done.counted["kernel"] > 0
    assert {call["interface"] for call in noted["builds"]} == {"level-zero"}
