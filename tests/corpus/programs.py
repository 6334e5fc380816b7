"""Real programs and wheels on PoCL: what a driver counts plain, counts captured, and what is recorded are equal.

    python -m tests.corpus.programs [NAME]... [--environment ENV]

The driver counts builds and launches in front of PoCL's (tests.corpus.own_loaders), whatever loader a program has. Each runs
twice as it is and once captured; output, as far as the first two agree, and exit status must be the same. ENV is a virtual
environment with the wheels. What is not installed is named with its package. The exit status is 1 if anything differs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.corpus.own_loaders import Counts, counts
from tests.integration.capture.capture_applications import APPLICATIONS
from tests.integration.capture.capture_fixtures import POCL_DRIVER, counting_driver

SCRIPTS = Path(__file__).with_name("applications")
_LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")


@dataclass(frozen=True)
class Program:
    """A program, Debian's package or the wheel that has it, and variables that it needs. ``is_timed``: its output has times."""

    words: tuple[str, ...]
    package: str
    is_timed: bool = False
    variables: dict[str, str] = field(default_factory=dict)

    def lines(self, output: str) -> list[str]:
        """Return the lines of its output, without numbers if these are times."""
        return (re.sub(" *[0-9.]+", " #", output) if self.is_timed else output).splitlines()


def _wheel(script: str, package: str, **variables: str) -> Program:
    return Program(("python", str(SCRIPTS / script)), package, variables=variables)


def _piglit(*words: str) -> Program:
    return Program((str(_LIBRARIES / "piglit/bin" / words[0]), *words[1:], "-auto"), "piglit")


def _starpu(name: str) -> Program:
    variables = {"STARPU_NCPU": "0", "STARPU_NOPENCL": "1", "STARPU_SILENT": "1"}
    variables |= {"STARPU_OPENCL_ON_CPUS": "1", "STARPU_OPENCL_ONLY_ON_CPUS": "1"}
    return Program((str(_LIBRARIES / "starpu/examples" / name),), "starpu-examples", True, variables)


def _clblast(name: str, *words: str) -> Program:
    return Program((f"clblast_test_{name}", "-full_test", "0", "-runs", "1", *words), "clblast-tests", is_timed=True)


def _hashcat(mode: str, of_1234: str) -> Program:
    options = "--force -D 1 --backend-ignore-cuda --backend-ignore-hip --potfile-disable --quiet"
    return Program(("hashcat", "-m", mode, "-a", "3", of_1234, "?d?d?d?d", *options.split()), "hashcat")


#: The words of applications that run on other drivers too.
_SHARED = ("clinfo", "ffmpeg-filters", "ffmpeg-nlmeans", "ffmpeg-deshake", "clfft")
PROGRAMS = {
    **{name: Program(APPLICATIONS[name].words, APPLICATIONS[name].package) for name in _SHARED},
    "clpeak": Program(("clpeak", "--global-bandwidth", "--kernel-latency"), "clpeak", is_timed=True),
    "starpu-incrementer": _starpu("incrementer"),
    "piglit-build": _piglit("cl-api-build-program"),
    "piglit-link": _piglit("cl-api-link-program"),
    "piglit-kernels": _piglit("cl-api-create-kernels-in-program"),
    "piglit-phatk": _piglit("cl-program-bitcoin-phatk"),
    "piglit-simple": _piglit("cl-custom-run-simple-kernel"),
    "clblast-axpy": _clblast("xaxpy", "-n", "1024"),
    "clblast-dot": _clblast("xdot", "-n", "1024"),
    "hashcat-md5": _hashcat("0", "81dc9bdb52d04dc20036dbd8313ed055"),
    "openmm": _wheel("openmm_particles.py", "openmm"),
    "tinygrad": _wheel("tinygrad_product.py", "tinygrad", DEV="CL"),
    "pyclesperanto": _wheel("clesperanto_filters.py", "pyclesperanto"),
    "pyopencl": _wheel("pyopencl_arrays.py", "pyopencl, mako"),
}


def compare(program: Program, driver: dict[str, str]) -> tuple[bool, Counts]:
    """Return whether all is equal, and what was counted."""
    with tempfile.TemporaryDirectory() as name:
        counted = counts(Path(name), list(program.words), driver | program.variables, runs=2)
        first, second, shown = map(program.lines, counted.outputs)
        is_same = len(shown) == len(first) or len(first) != len(second)
        is_same &= all(old == new for old, again, new in zip(first, second, shown, strict=False) if old == again)
        return is_same and counted.are_equal, counted


def main(arguments: list[str]) -> int:
    """Print a line for each program; the number of those that differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all ({', '.join(PROGRAMS)})")
    parser.add_argument("--environment", type=Path, default=Path(sys.prefix))
    chosen = parser.parse_args(arguments)
    if unknown := [name for name in chosen.names if name not in PROGRAMS]:
        parser.error(f"there is no program {unknown[0]}")
    os.environ["PATH"] = f"{chosen.environment / 'bin'}:{os.environ['PATH']}"
    equal = differing = 0
    with tempfile.TemporaryDirectory() as name:
        driver = counting_driver(Path(name), POCL_DRIVER)
        for title in chosen.names or PROGRAMS:
            program = PROGRAMS[title]
            if shutil.which(program.words[0]) is None:
                print(f"{title:20} is not installed: {program.package}", flush=True)
                continue
            is_equal, counted = compare(program, driver)
            equal, differing = equal + is_equal, differing + (not is_equal)
            print(f"{title:20} {'equal' if is_equal else 'DIFFERENT'}: {counted}", flush=True)
    print(f"{equal} of {equal + differing} equal")
    return differing


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
