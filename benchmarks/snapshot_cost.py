"""What the OpenCL layer costs: ``python -m benchmarks.snapshot_cost SOURCE.cl [--options O] [--stages S,...]``.

Builds the source in fresh processes: without the layer, with it, and with a request for each stage, in turn. Prints the median
of the wall time of one build and of the processor time of a whole process with all its children, per build. Runs on the first
device of the first platform, so the environment chooses it (``OCL_ICD_VENDORS``, a simulated device's variables).
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import tempfile
from pathlib import Path

import kernlens

PACKAGE = Path(kernlens.__file__).parent
LAYER = PACKAGE / "native" / "libkernlens_opencl_layer.so"


def build_program(folder: Path) -> Path:
    program = folder / "snapshot_cost"
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["gcc", "-O2", f"-I{PACKAGE / 'include'}", "-o", program, source, "-lOpenCL"], check=True)
    return program


def measure(command: list[str], layer: bool) -> tuple[list[float], float]:
    """The wall times of the builds, and the processor time of it all; in seconds."""
    environment = dict(os.environ)
    environment.pop("OPENCL_LAYERS", None)
    if layer:
        environment["OPENCL_LAYERS"] = str(LAYER)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return [float(line) for line in output.split()], used


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--options", default="")
    parser.add_argument("--stages", default="source,spirv,llvm-optimized,visa,visa-llvm-map,gen-assembly,program")
    parser.add_argument("--builds", type=int, default=6, help="builds in each process")
    parser.add_argument("--rounds", type=int, default=5, help="processes for each row")
    arguments = parser.parse_args()
    rows = ["without the layer", "no request", *arguments.stages.split(",")]
    wall: dict[str, list[float]] = {row: [] for row in rows}
    processor: dict[str, list[float]] = {row: [] for row in rows}
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(Path(folder))
        base = [str(program), str(arguments.source), arguments.options, str(arguments.builds)]
        for _ in range(arguments.rounds):
            for place, row in enumerate(rows):
                times, used = measure(base if place < 2 else [*base, row], layer=place > 0)
                wall[row] += times
                processor[row].append(used / arguments.builds)
    plain_wall, plain_processor = statistics.median(wall[rows[0]]), statistics.median(processor[rows[0]])
    print(f"{'':20} {'wall':>8} {'':>7} {'processor':>10}")
    for row in rows:
        elapsed, used = statistics.median(wall[row]), statistics.median(processor[row])
        print(
            f"{row:20} {elapsed:7.3f}s {elapsed / plain_wall - 1:+7.1%} {used:9.3f}s {used / plain_processor - 1:+7.1%}"
        )


if __name__ == "__main__":
    main()
