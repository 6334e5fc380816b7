"""Raw code of megabytes: printed piece by piece, so that no document of it stands in memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.cli.listings import instructions_json, listed_of
from kernlens.isa.devices import device
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from kernlens.model.failed_builds import FailedBuilds

#: ``(W) mov (8|M0) r127.0<1>:ud 0x0:ud``.
MOVE = bytes.fromhex("610003802042057f0000000000000000")
#: Megabytes of code, and of memory that the command may take: a document that is made at once takes 400 and more.
CODE, MEMORY = 6, 250
#: Prints a command's memory. A process of its own starts it: a child's measure begins with what its parent has.
_MEASURE = (
    "import resource, subprocess, sys\n"
    "subprocess.run(sys.argv[1:], check=True)\n"
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
)


@pytest.mark.parametrize("words", [["annotate", "--json"], ["disasm", "--json"]])
def test_memory_of_a_listing(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "code.bin"
    path.write_bytes(MOVE * (CODE * 1_000_000 // 16))
    command = [sys.executable, "-m", "kernlens", words[0], str(path), "--device", "dg2", *words[1:]]
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, *command], stdout=out, stderr=subprocess.PIPE, check=True
        )
    assert int(done.stderr) >> 10 < MEMORY
    printed = (tmp_path / "out").read_text()
    assert printed.count('"offset":') >= CODE * 1_000_000 // 16


def test_pieces_make_a_document() -> None:
    (program,) = open_bytes(memoryview(MOVE * 20_000), "code.bin", Context(device=device("dg2"))).programs
    form = instructions_json(is_placed=True)
    form.begin(FailedBuilds())
    (listed,) = listed_of([(program, list(program.kernels.values()))])
    pieces = list(form.pieces(listed))
    assert len(pieces) > 4
    document = json.loads(form.head + "".join(pieces)[len(form.separator) :] + form.tail)
    assert len(document["programs"][0]["kernels"][0]["instructions"]) == 20_000
