"""The tables of ``kernlens.toml`` on the compile of the sources that fit a pattern (docs/project_file.md)."""

from __future__ import annotations

from collections.abc import Mapping

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SourceTable:
    """The options of the sources whose paths, from the file's folder, fit ``pattern``.

    ``options`` are one string or words. ``include`` are folders as the file has them. ``macros`` has the values of each macro:
    "" for one without value; none: the macro stays undefined. ``variants`` are sets of options, of which each compile has one.
    ``origin`` says where the table stands.
    """

    pattern: str
    options: str | tuple[str, ...]
    include: tuple[str, ...]
    macros: Mapping[str, tuple[str, ...]]
    origin: str
    variants: tuple[str, ...] = ()
