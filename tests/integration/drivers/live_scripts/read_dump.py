"""IGC's dump folder as the OpenCL layer's library reads it: ``read_dump.py FOLDER KEEP STAGE BINARY...``.

The library is told that a build keeps a stage, gets the folder's files as if that build had left them, and delivers from
each binary; STAGE may be ``all``. Below KEEP it makes its folders. Prints JSON: for each binary a list of stage, form,
ending, kernel (empty: the whole program), and the content's SHA-256.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

FOLDER, KEEP, STAGE = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
os.environ["KERNLENS_SNAPSHOT_DIR"] = str(KEEP)  # the library reads it when it is loaded

from kernlens.model.stages import IGC_1  # noqa: E402
from kernlens.pipeline.own_build import keeping  # noqa: E402

#: What the front end, the application or the driver hands over, and the compiler does not dump for a request.
NOT_DUMPED = frozenset({("source", "text"), ("spirv", "binary"), ("program", "binary")})


def delivered(binary: bytes) -> Iterator[tuple[str, str, str, str, str]]:
    for stage in (stage for stage in IGC_1.stages if STAGE in (stage.name, "all")):
        for form in ("text", "binary"):
            if form not in stage.forms or (stage.name, form) in NOT_DUMPED:
                continue
            with keeping("libOpenCL.so.1", 0, stage.name, text=form == "text") as own_build:
                assert own_build is not None, "the library cannot change the settings of this IGC"
                (folder,) = KEEP.iterdir()
                for path in FOLDER.iterdir():
                    shutil.copyfile(path, folder / path.name)
            for content, ending, kernel in own_build.snapshots(binary):
                yield stage.name, form, ending, kernel, sha256(content).hexdigest()


def main() -> None:
    compiler = ctypes.CDLL("libigc.so.1")  # whose settings the library changes; it compiles nothing here
    print(json.dumps([list(delivered(Path(path).read_bytes())) for path in sys.argv[4:]]))
    del compiler


if __name__ == "__main__":
    main()
