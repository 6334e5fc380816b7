"""Snapshots of the application's build, with no layer and no second build: ``application_build.py PLATFORM SOURCE``.

Prints JSON: stage -> the endings and kernels that came, in order; under "another thread", what came while a second
thread lived; under "binaries differ", the stages whose request changed the program's binary.
"""

from __future__ import annotations

import json
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import pyopencl

from kernlens.errors import UnsupportedError
from kernlens.pipeline.live_stages import LiveProgram
from kernlens.pipeline.snapshot_requests import (
    BINARY,
    TEXT,
    request_program_snapshot,
    request_program_snapshot_list,
)

warnings.simplefilter("ignore")
PLATFORM = next(platform for platform in pyopencl.get_platforms() if platform.name == sys.argv[1])
DEVICE = PLATFORM.get_devices()[0]
CONTEXT = pyopencl.Context([DEVICE])
TEXT_OF_SOURCE = Path(sys.argv[2]).read_text()


def no_second_build(*_: Any) -> Any:
    raise UnsupportedError("a second build was asked for")


def build(stage: str | None, form: int) -> tuple[list[list[str]], bytes]:
    program = pyopencl.Program(CONTEXT, TEXT_OF_SOURCE)
    came: list[list[str]] = []
    if stage is not None:
        request_program_snapshot(
            program, DEVICE, stage, form, lambda size, content, label, data: came.append([label.ending, label.kernel])
        )
    built = program.build()
    return came, built.get_info(pyopencl.program_info.BINARIES)[0]


def main() -> None:
    LiveProgram._second_build = no_second_build  # type: ignore[method-assign,assignment]
    stages = request_program_snapshot_list(pyopencl.Program(CONTEXT, TEXT_OF_SOURCE), DEVICE)
    came: dict[str, Any] = {}
    differ = []
    _, plain = build("source", TEXT)  # without a request pyopencl may take the binary from a cache of its own
    for stage in stages:
        came[stage], binary = build(stage, TEXT)
        if binary != plain:
            differ.append(stage)
    came["visa, binary"] = build("visa", BINARY)[0]
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    came["another thread"] = build("gen-assembly", TEXT)[0]
    end.set()
    other.join()
    came["binaries differ"] = differ
    print(json.dumps(came))


if __name__ == "__main__":
    main()
