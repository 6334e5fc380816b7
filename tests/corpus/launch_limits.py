"""Limits of launches, held against what simulated drivers say of the same binaries, through Level Zero and through OpenCL:
``python -m tests.corpus.launch_limits --help``."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kernlens
from kernlens.model.launch_limits import LaunchLimits
from kernlens.model.program import Program
from kernlens.runtime.driver_environment import DriverEnvironment, package_folder
from kernlens.toolchain.registered import NEWEST
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import SYSTEM
from tests.corpus.build import build
from tests.corpus.compiler import DEBIAN, newest
from tests.corpus.manifest import DEVICES, NEWEST_DEVICES, programs
from tests.tree import ROOT

_SCRIPT = ROOT / "tests" / "integration" / "drivers" / "live_scripts" / "kernel_limits.py"
#: Binaries that one process is asked about, and seconds for it: a driver may compile one again.
_TOGETHER, _LIMIT = 20, 300


@dataclass
class Counts:
    """The ``compared`` answers, the ``unknown`` ones that kernlens leaves open with a reason, the binaries that are ``late``
    since the driver does not answer in time, the programs that OpenCL's driver ``rebuilt``, whose answers are held against the
    code that it made, and the differences."""

    kernels: int = 0
    compared: int = 0
    unknown: int = 0
    refused: int = 0
    late: int = 0
    rebuilt: int = 0
    differences: list[str] = field(default_factory=list)

    def compare(self, where: str, ours: object, theirs: object) -> None:
        self.compared += 1
        if ours != theirs:
            self.differences.append(f"{where}: kernlens {ours}, the driver {theirs}")


def driver_answers(environment: DriverEnvironment, paths: Sequence[Path], rebuilt: Path) -> Iterator[dict[str, Any]]:
    """Yield what the driver says of the kernels of these binaries. Where it ends its process, the next file is asked for in
    another, and the answer about this one is ``died``. Binaries that it builds again go into the folder ``rebuilt``."""
    left = [str(path) for path in paths]
    while left:
        some = left[:_TOGETHER]
        status, printed, error = _ask(environment, some, rebuilt)
        lines = [json.loads(line) for line in printed.splitlines() if line.startswith("{") and line.endswith("}")]
        yield from (line for line in lines if "api" in line)
        if status == 0:
            left = left[len(some) :]
            continue
        begun = [line["file"] for line in lines if "api" not in line]
        assert begun, error
        yield {"died": True, "is_late": status is None, "file": begun[-1], "error": error[-300:]}
        left = left[left.index(begun[-1]) + 1 :]


def _ask(environment: DriverEnvironment, paths: Sequence[str], rebuilt: Path) -> tuple[int | None, str, str]:
    """Return the exit status of the process that asks the driver (None: its time was over), and what it printed."""
    with subprocess.Popen(
        [*environment.python, str(_SCRIPT), str(rebuilt)],
        env=environment.full_environment(str(package_folder())),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            printed, error = process.communicate("".join(f"{path}\n" for path in paths), timeout=_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            printed, error = process.communicate()
            return None, printed, error
        return process.returncode, printed, error


def compare(counts: Counts, program: Program, answer: Mapping[str, Any]) -> None:
    """Compare one answer with the limits of its kernel; a refused program with those of all its kernels."""
    if "kernel" not in answer:
        rule = any(kernel.launch_limits.opencl.is_rebuilt for kernel in program.entry_kernels.values())
        counts.compare(f"{answer['file']}: built again", rule, answer["rebuilt"] is not None)
        counts.rebuilt += answer["rebuilt"] is not None
        return
    api, name = answer["api"], answer["kernel"]
    if name is None:
        answers = [_creation(kernel.launch_limits, api) for kernel in program.entry_kernels.values()]
        where = f"{answer['file']} {api}: {answer['error']}"
        if None in answers and False not in answers:
            counts.unknown += 1
        else:
            # Where a program is not loaded, none of its kernels is created.
            counts.compare(where, set(answers) - {None}, {False})
        return
    limits, where = program.kernels[name].launch_limits, f"{answer['file']} {api} {name}"
    counts.kernels += 1
    created = _creation(limits, api)
    counts.refused += answer["error"] is not None
    if created is None:
        counts.unknown += 1
    else:
        counts.compare(f"{where}: created", created, answer["error"] is None)
    if answer["error"] is not None:
        return
    required = answer.get("required")
    counts.compare(f"{where}: required", limits.required_work_group, tuple(required) if required else None)
    known = (
        {"work_group": limits.max_work_group, "multiple": limits.work_group_multiple}
        if api == "opencl"
        else {"sub_groups": limits.max_sub_groups}
    )
    for key, value in known.items():
        if value is None:
            counts.unknown += 1
        else:
            counts.compare(f"{where}: {key}", value, answer[key])
    if api != "opencl":
        counts.compare(f"{where}: sub-group", limits.required_sub_group, answer["required_sub_group"])
        counts.compare(f"{where}: SIMD", program.kernels[name].resources.simd, answer["simd"])


def _creation(limits: LaunchLimits, api: str) -> bool | None:
    return (limits.opencl if api == "opencl" else limits.level_zero).is_created


def compared(paths: Sequence[Path], device: str, toolchain: str) -> Counts:
    """Return the comparison of these binaries' kernels with what the toolchain's driver, which simulates the device, says."""
    counts = Counts()
    opened = {str(path): kernlens.load(path)[0] for path in paths}
    with tempfile.TemporaryDirectory() as folder:
        for answer in driver_answers(simulated_driver(device, toolchain), paths, Path(folder)):
            if answer.get("is_late"):
                counts.late += 1
            elif "died" in answer:
                counts.differences.append(f"{answer['file']}: the driver ended its process: {answer['error']}")
            elif "kernel" in answer and (own := answer.get("rebuilt")):
                if own not in opened:
                    opened[own] = kernlens.load(own)[0]
                compare(counts, opened[own], answer)
            else:
                compare(counts, opened[answer["file"]], answer)
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line per device; exit status 1 if an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--newest-root", type=Path, help="the newest compiler and driver, in this root folder")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    chosen = parser.parse_args(arguments)
    root = chosen.newest_root
    if root:
        os.environ["KERNLENS_NEWEST_ROOT"] = str(root)
    prefixes = tuple(chosen.program or [""])
    some = [program for program in programs() if program.name.startswith(prefixes)]
    is_right = True
    for name in chosen.device or (NEWEST_DEVICES if root else DEVICES):
        built, _ = build(some, [name], compiler=newest(root) if root else DEBIAN)
        counts = compared([each.binary for each in built], name, NEWEST if root else SYSTEM)
        words = f"{counts.kernels:,} answers about kernels ({counts.refused:,} refused), {counts.compared:,} limits compared"
        late = f", {counts.late} binaries without an answer in {_LIMIT} s" if counts.late else ""
        words = (
            f"{words}, {counts.rebuilt:,} programs built again by OpenCL's driver, {counts.unknown:,} left open{late}"
        )
        words = f"{words}, {len(counts.differences)} differences"
        print(f"{name}: {words}", flush=True)
        for line in counts.differences[:10]:
            print(f"    {line}")
        is_right = is_right and not counts.differences
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
