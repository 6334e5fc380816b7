#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tune window.cl with Kernel Tuner on the first OpenCL device, and run nothing that spills on the GPU that was swept for.

kernlens sweep examples/kernels/window.cl --device dg2 -D WIDTH=16,32 -D ROWS=8,16,32 --tuning window.json
pip install kernel_tuner pyopencl
python examples/tuning/tune_with_kernel_tuner.py window.json
"""

import json
import sys
from pathlib import Path

import numpy
from kernel_tuner import tune_kernel

SOURCE = Path(__file__).parents[1] / "kernels/window.cl"
COLUMNS, HEIGHT = 1024, 1024


def main() -> None:
    results = json.loads(Path(sys.argv[1]).read_text())["results"]
    invalid = [result["configuration"] for result in results if result["invalidity"] != "correct"]
    names = results[0]["configuration"]
    parameters = {name: sorted({result["configuration"][name] for result in results}) for name in names}

    def is_valid(parameters: dict[str, int]) -> bool:
        return {name: parameters[name] for name in names} not in invalid

    image = numpy.random.rand((HEIGHT + 1) * COLUMNS).astype(numpy.float32)
    tuned, _ = tune_kernel(
        "window",
        SOURCE.read_text(),
        (COLUMNS, HEIGHT),
        [image, numpy.zeros_like(image), numpy.int32(COLUMNS)],
        {"block_size_x": [32], **parameters},
        grid_div_y=["ROWS"],
        restrictions=is_valid,
        lang="OpenCL",
        quiet=True,
    )
    best = min(tuned, key=lambda each: each["time"])
    print(f"{len(invalid)} of {len(results)} configurations were not run; the fastest of the others:")
    print({name: best[name] for name in names}, f"{best['time']:.3f} ms")


main()
