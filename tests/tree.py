"""The source tree: where it lies, and the package's files, which are parsed once in a process."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "kernlens"
