"""cl_codeplay_program_snapshot through Python: ``snapshots.py PLATFORM SOURCE``. Prints JSON.

The checks are those that the reference implementation's own tests made, see each entry's name.
"""

from __future__ import annotations

import base64
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pyopencl

from kernlens.opencl import OpenCLError
from kernlens.pipeline.snapshot_requests import (
    BINARY,
    DEFAULT,
    TEXT,
    SnapshotWarning,
    request_program_snapshot,
    request_program_snapshot_list,
)

#: Stages that have both forms, and one that has only text: the others deliver the same for both formats.
BINARY_TOO = ("source", "spirv", "visa", "gen-assembly", "llvm", "object")
warnings.simplefilter("ignore")
answers: dict[str, Any] = {}
codes: dict[str, str] = {}
PLATFORM = next(platform for platform in pyopencl.get_platforms() if platform.name == sys.argv[1])
DEVICE = PLATFORM.get_devices()[0]
CONTEXT = pyopencl.Context([DEVICE])
TEXT_OF_SOURCE = Path(sys.argv[2]).read_text()


def program() -> pyopencl.Program:
    return pyopencl.Program(CONTEXT, TEXT_OF_SOURCE)


def code(what: str, call: Any, *arguments: Any) -> None:
    try:
        call(*arguments)
        codes[what] = "CL_SUCCESS"
    except OpenCLError as error:
        codes[what] = error.result_name


def nothing(*_: Any) -> None:
    """Do nothing, as a callback."""


def main() -> None:
    fresh = program()
    stages = request_program_snapshot_list(fresh, DEVICE)
    answers["stages"] = stages
    answers["two"] = request_program_snapshot_list(fresh, DEVICE, 2)
    answers["more than there are"] = request_program_snapshot_list(fresh, DEVICE, len(stages) + 5)
    first, last = stages[0], stages[-1]
    foreign = next(
        (device for other in pyopencl.get_platforms() for device in other.get_devices() if device != DEVICE), None
    )
    code("list: no program", request_program_snapshot_list, None, DEVICE)
    code("list: no program first", request_program_snapshot_list, None, None, 0)
    code("list: no device", request_program_snapshot_list, fresh, None)
    code("list: a number as device", request_program_snapshot_list, fresh, 8)
    code("list: count 0", request_program_snapshot_list, fresh, DEVICE, 0)
    ask = request_program_snapshot
    code("no program", ask, None, None, None, 7, None)
    code("context as program", ask, CONTEXT, DEVICE, first, TEXT, nothing)
    code("no device", ask, fresh, None, None, 7, None)
    if foreign is not None:
        code("list: foreign device", request_program_snapshot_list, fresh, foreign, 0)
        code("foreign device", ask, fresh, foreign, None, 7, None)
    code("no stage", ask, fresh, DEVICE, None, TEXT, nothing)
    code("unknown stage", ask, fresh, DEVICE, "no-such-stage", TEXT, nothing)
    code("unknown format", ask, fresh, DEVICE, first, 3, nothing)
    code("no callback", ask, fresh, DEVICE, first, TEXT, None)
    code("legal", ask, fresh, DEVICE, first, DEFAULT, nothing)
    fresh.build("-g")
    code("after the build", ask, fresh, DEVICE, first, TEXT, nothing)
    code("after the build, unknown stage", ask, fresh, DEVICE, "no-such-stage", TEXT, nothing)
    answers["list after the build"] = request_program_snapshot_list(fresh, DEVICE)

    answers["snapshots"] = {
        stage: {
            name: delivered(stage, format)
            for name, format in (("text", TEXT), ("binary", BINARY))
            if format == TEXT or stage in BINARY_TOO
        }
        for stage in stages
    }
    latest: list[str] = []
    both = program()
    ask(both, DEVICE, last, DEFAULT, lambda *_: latest.append("first"))
    ask(both, DEVICE, first, DEFAULT, lambda *_: latest.append("second"))
    both.build()
    answers["latest"] = latest
    answers["kernel works"] = both.all_kernels()[0].function_name
    raw = program()
    code("raw handle", request_program_snapshot_list, raw.int_ptr, DEVICE)
    answers["codes"] = codes
    answers["failing build"] = failing_build(first)
    answers["full folder"] = full_folder(stages)
    print(json.dumps(answers))


def delivered(stage: str, format: int) -> list[dict[str, Any]]:
    """Return what one build delivers; the callback must have been called when ``build`` returns, with what was handed in."""
    snapshots: list[dict[str, Any]] = []
    mine = object()

    def callback(size: int, content: bytes, label: Any, user_data: Any) -> None:
        assert user_data is mine
        assert size == len(content)
        snapshots.append(
            {"ending": label.ending, "kernel": label.kernel, "content": base64.b64encode(content).decode()}
        )

    asked = program()
    request_program_snapshot(asked, DEVICE, stage, format, callback, mine)
    # The SPIR-V that Intel's front end makes with -g is not valid: DebugSource has no text.
    asked.build("-g" if stage == "debug" else "")
    return snapshots


def failing_build(stage: str) -> str:
    called: list[int] = []
    broken = pyopencl.Program(CONTEXT, "kernel void broken( {")
    request_program_snapshot(broken, DEVICE, stage, DEFAULT, lambda *_: called.append(1))
    try:
        broken.build()
    except pyopencl.RuntimeError:
        return "raised"
    return "built"


def full_folder(stages: list[str]) -> list[str]:
    """Check a build whose dumps cannot be written: it stands, nothing is called back, a warning says why."""
    import os
    import tempfile

    called: list[int] = []
    late = next(stage for stage in ("gen-assembly", "object") if stage in stages)
    before = os.environ.get("TMPDIR")
    os.environ["KERNLENS_SNAPSHOT_OWN_BUILD"] = "0"  # it has its folder since it first kept something
    os.environ["TMPDIR"] = tempfile.tempdir = "/proc/1/no-such-folder"
    try:
        asked = program()
        request_program_snapshot(asked, DEVICE, late, DEFAULT, lambda *_: called.append(1))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", SnapshotWarning)
            asked.build("-g")
    finally:
        tempfile.tempdir = None
        os.environ.pop("TMPDIR")
        if before is not None:
            os.environ["TMPDIR"] = before
    warnings_shown = [str(warning.message) for warning in caught if issubclass(warning.category, SnapshotWarning)]
    return [asked.all_kernels()[0].function_name, *map(str, called), *warnings_shown]


if __name__ == "__main__":
    main()
