"""Programs that are built for some of their devices, or for none: ``partly_built.py SOURCE``. Prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyopencl

from kernlens.opencl import live_builds


def sizes(program: pyopencl.Program) -> list[list[int]]:
    return [[len(build.binary), len(build.debug), len(build.kernels)] for build in live_builds(program)]


def main() -> None:
    text = Path(sys.argv[1]).read_text()
    platform = next(platform for platform in pyopencl.get_platforms() if "Intel" in platform.name)
    first, second = platform.get_devices()
    context = pyopencl.Context([first, second])
    options = ["-gline-tables-only"]
    both = pyopencl.Program(context, text).build(options, cache_dir=False)  # type: ignore[arg-type]
    answers: dict[str, object] = {"both": sizes(both)}
    for name, devices in (("second", [second]), ("first", [first])):
        program = pyopencl.Program(context, text).build(options, devices=devices, cache_dir=False)  # type: ignore[arg-type]
        answers[name] = sizes(program)
        (build,) = [build for build in live_builds(program) if build.ok]
        answers[f"{name} names its kernels"] = [kernel.name for kernel in build.kernels]
        answers[f"{name} is missing"] = [build.missing.get("binary") for build in live_builds(program)]
    answers["unbuilt source"] = sizes(pyopencl.Program(context, text))
    (binary, _) = (build.binary for build in live_builds(both))
    unbuilt = pyopencl.Program(pyopencl.Context([first]), [first], [binary])
    answers["unbuilt binary"] = sizes(unbuilt)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
