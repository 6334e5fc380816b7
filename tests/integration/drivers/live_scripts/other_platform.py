"""The answers for a program that is not one of Intel's GPUs: ``other_platform.py PLATFORM SOURCE``. Prints JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyopencl

import kernlens
from kernlens.errors import UnsupportedError
from kernlens.opencl import DEFAULT, live_builds, request_program_snapshot, request_program_snapshot_list


def refusal(program: pyopencl.Program) -> str:
    try:
        return f"answer: {kernlens.from_opencl(program)}"
    except UnsupportedError as error:
        return str(error)


def main() -> None:
    platform = next(platform for platform in pyopencl.get_platforms() if sys.argv[1] in platform.name)
    device = platform.get_devices()[0]
    program = pyopencl.Program(pyopencl.Context([device]), Path(sys.argv[2]).read_text())
    stages = request_program_snapshot_list(program, device)
    sizes: list[int] = []
    request_program_snapshot(program, device, stages[1], DEFAULT, lambda size, *rest: sizes.append(size))
    answers: dict[str, object] = {"before": refusal(program)}
    program.build("-DN=3")
    (build,) = live_builds(program)
    answers |= {"after": refusal(program), "stages": stages, "sizes": sizes, "binary": len(build.binary)}
    print(json.dumps({**answers, "platform": platform.name, "device": build.device, "source": build.sources[0].text}))


if __name__ == "__main__":
    main()
