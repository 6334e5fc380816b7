"""The check whether an application's later builds keep the user's settings of IGC: ``user_settings.py PLATFORM SOURCE
FIRST``.

Prints JSON: the binaries' hashes of two builds in one process; the first is with a request if FIRST is "request".
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from pathlib import Path

import pyopencl

from kernlens.pipeline.snapshot_requests import TEXT, request_program_snapshot

warnings.simplefilter("ignore")
PLATFORM = next(platform for platform in pyopencl.get_platforms() if platform.name == sys.argv[1])
DEVICE = PLATFORM.get_devices()[0]
CONTEXT = pyopencl.Context([DEVICE])


def build(ask: bool) -> str:
    program = pyopencl.Program(CONTEXT, Path(sys.argv[2]).read_text())
    came: list[int] = []
    if ask:
        request_program_snapshot(program, DEVICE, "gen-assembly", TEXT, lambda size, *_: came.append(size))
    built = program.build(cache_dir=False)  # type: ignore[arg-type]
    binary = built.get_info(pyopencl.program_info.BINARIES)[0]
    assert bool(came) == ask
    return hashlib.sha256(binary).hexdigest()


if __name__ == "__main__":
    print(json.dumps([build(sys.argv[3] == "request"), build(False)]))
