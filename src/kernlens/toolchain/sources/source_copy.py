"""The file that a compiler reads in place of a source that is no file in the caller's own folder."""

from __future__ import annotations

from pathlib import Path

from kernlens.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SourceCopy:
    """The file that a compiler reads in place of a source: the ``folder`` in which the compiler works, the file's ``name``
    from there, and the compiler's ``options``, which name the source as it is called."""

    folder: str
    name: str
    options: str

    @property
    def path(self) -> Path:
        """The file itself."""
        return Path(self.folder, self.name)
