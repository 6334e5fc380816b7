"""Metadata of LLVM IR that holds whole source files."""

from __future__ import annotations

import re

#: A file's node with the text of the file in it: LLVM Language Reference, "DIFile".
_SOURCE = re.compile(r'((?:^|[(,]) *source: )"[^"]*"')


def without_sources(text: str) -> str:
    """Returns metadata tables without the source texts that they hold."""
    return "\n".join(
        _SOURCE.sub(r'\1""', line) if "!DIFile(" in line and "source:" in line else line for line in text.split("\n")
    )
