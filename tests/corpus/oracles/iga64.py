"""Instruction text as Intel's own disassembler prints it: ``iga64 -d``."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.corpus.oracles.run import output_of

#: iga64's names for the platforms of the corpus's products.
PLATFORMS = {
    "skl": "9",
    "icllp": "11",
    "tgllp": "12p1",
    "dg2": "12p71",
    "pvc": "12p72",
    "bmg": "2",
    "lnl": "2",
    "ptl": "3",
}

_LABEL = re.compile(r"L\d+:$")


def instruction_texts(code: bytes | memoryview, device: str, root: Path | None = None) -> list[str]:
    """Return the text of each instruction in order, labels' own lines left out.

    ``root`` is that of the compiler that made the code, whose iga64 prints it; None: the machine's own.
    """
    with tempfile.NamedTemporaryFile(suffix=".krn") as file:
        file.write(code)
        file.flush()
        command = [*_iga64(root), "-d", f"-p={PLATFORMS[device]}", file.name]
        lines = output_of(command).splitlines()
    return [line.rstrip() for line in lines if line.strip() and not _LABEL.match(line)]


def _iga64(root: Path | None) -> list[str]:
    if root is None:
        return ["iga64"]
    libraries = root / "usr/lib/x86_64-linux-gnu"
    return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries), str(root / "usr/bin/iga64")]
