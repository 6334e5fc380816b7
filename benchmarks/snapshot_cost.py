"""The cost of snapshots for a build: ``python -m benchmarks.snapshot_cost SOURCE.cl [--options O] [--stages S,...]``.

Builds each source in turn without the layer and with it, and, in the process with the layer, once without a request and once
with one for each stage, round after round. Prints the medians: the wall time of a build, and its ratio to the build without a
request in the same process; for "layer, no request" the ratio is to the process without the layer. Runs on the first device of
the first platform; ``--run "kernlens run --simulate bmg --toolchain newest --"`` starts the builds by that command.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import kernlens
from kernlens.toolchain.loaders.vendor_file import change, led_to_layer

PACKAGE = Path(kernlens.__file__).parent
LAYER = PACKAGE / "native" / "libkernlens_opencl_layer.so"
STAGES = "source,spirv,llvm-unified,llvm-optimized,llvm-codegen,visa,visa-llvm-map,gen-assembly,resources,program"
PLAIN = "-"


def build_program(folder: Path) -> Path:
    program = folder / "snapshot_cost"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", "-O2", f"-I{PACKAGE / 'include'}", "-o", program, source, "-lOpenCL"], check=True)
    return program


def measure(command: Sequence[str], layer: bool) -> dict[str, list[float]]:
    """Return the wall times of the builds, by what was asked for; in seconds."""
    # From its cache the driver would answer all but the first build.
    environment = {**os.environ, "NEO_CACHE_PERSISTENT": "0"}
    if layer:
        change(environment, led_to_layer(environment, LAYER, Path.cwd()))
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    times: dict[str, list[float]] = {}
    for line in output.splitlines():
        stage, seconds = line.split()
        times.setdefault(stage, []).append(float(seconds))
    return times


def cost(
    program: Sequence[str], source: Path, options: str, stages: Sequence[str], rounds: int
) -> dict[str, tuple[float, float]]:
    """Return for each row its wall time in seconds and what it adds, as a fraction."""
    base = [*program, str(source), options, str(rounds)]
    without, loaded = [], []
    for _ in range(3):  # in turn, as the machine's speed drifts
        without += measure(base, layer=False)[PLAIN]
        loaded += measure(base, layer=True)[PLAIN]
    times = measure([*base, *stages], layer=True)
    plain, beside = statistics.median(without), statistics.median(times[PLAIN])
    rows = {
        "without the layer": (plain, 0.0),
        "layer, no request": (statistics.median(loaded), statistics.median(loaded) / plain - 1),
    }
    for stage in stages:
        elapsed = statistics.median(times[stage])
        rows[stage] = (elapsed, elapsed / beside - 1)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=Path, nargs="+")
    parser.add_argument("--options", default="")
    parser.add_argument("--stages", default=STAGES)
    parser.add_argument("--run", default="", help="the command that starts the builds")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    stages = arguments.stages.split(",")
    with tempfile.TemporaryDirectory() as folder:
        program = [*shlex.split(arguments.run), str(build_program(Path(folder)))]
        mains = {
            source: cost(program, source, arguments.options, stages, arguments.rounds) for source in arguments.sources
        }
    print(f"{'':20}" + "".join(f"{source.stem:>20.18}" for source in mains))
    for row in ("without the layer", "layer, no request", *stages):
        print(f"{row:20}" + "".join(f"{rows[row][0]:11.3f}s {rows[row][1]:+7.1%}" for rows in mains.values()))


if __name__ == "__main__":
    main()
