"""The content of pyopencl's objects: ``pyopencl_program.py PLATFORM SOURCE OPTIONS``. Prints JSON."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pyopencl

from kernlens.errors import KernlensError
from kernlens.opencl import kernel_arguments, kernel_binary, live_builds
from kernlens.runtime.worker_answers import to_json


def main() -> None:
    platform = next(platform for platform in pyopencl.get_platforms() if sys.argv[1] in platform.name)
    context = pyopencl.Context(platform.get_devices())
    program = pyopencl.Program(context, Path(sys.argv[2]).read_text()).build(options=sys.argv[3], cache_dir=False)  # type: ignore[arg-type]
    answers: dict[str, object] = {
        "builds": to_json(live_builds(program)),
        "raw": to_json(live_builds(program.int_ptr)),
        # What pyopencl itself says of the same objects.
        "binaries": [base64.b64encode(binary).decode() for binary in program.binaries],
        "source": program.source,
        "names": [kernel.function_name for kernel in program.all_kernels()],
    }
    errors = {}
    # PoCL looks into whatever object it is given.
    others = [("another object", context.int_ptr)] if "Intel" in platform.name else []
    for what, thing in (
        ("null", 0),
        ("none", None),
        ("context", context),
        ("unmapped", 8),
        ("beside", program.int_ptr + 8),
        *others,
    ):
        try:
            errors[what] = f"answer: {len(live_builds(thing))}"
        except KernlensError as error:
            errors[what] = f"{type(error).__name__}: {error}"
    kernel = program.all_kernels()[0]
    answers["arguments"] = to_json(kernel_arguments(kernel))
    try:
        answers["kernel binary"] = to_json(kernel_binary(kernel))
    except KernlensError as error:
        errors["kernel binary"] = f"{type(error).__name__}: {error}"
    print(json.dumps({**answers, "errors": errors}))


if __name__ == "__main__":
    main()
