"""The changes that a capture may make to an application's builds: options that are added, programs that others stand in
for, and caches that are empty. The recorders do it; ``replacing.py`` and the end say what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.model.compiler_options import LINE_OPTIONS
from kernlens.verbs.capture.caches import empty_caches, give_empty_caches
from kernlens.verbs.capture.replacing import Replacement, packed
from kernlens.verbs.capture.spool import OPTIONS, REPLACE, REPLACEMENTS, Spool


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes: whether line tables are asked for, the options that are added besides, the replacements of programs,
    and whether the application gets empty caches. It gets them too where something else is changed: what it built then
    must not be what its next run finds."""

    lines: bool = False
    options: str = ""
    replacements: Sequence[Replacement] = ()
    fresh_cache: bool = False

    @property
    def added(self) -> str:
        """The options that are added to builds."""
        return " ".join(filter(None, [LINE_OPTIONS[0] if self.lines else "", self.options.strip()]))

    @property
    def empties_caches(self) -> bool:
        """True if the application gets empty caches."""
        return self.fresh_cache or bool(self.added or self.replacements)

    def make(self, environment: dict[str, str], spool: Spool) -> None:
        """Have the recorder make the changes, through its variables and files in the capture's folder."""
        added = self.added
        for name in (OPTIONS, REPLACE):
            environment.pop(name, None)
        if added:
            environment[OPTIONS] = added
        if self.replacements:
            path = spool.folder / REPLACEMENTS
            path.write_bytes(packed(self.replacements))
            environment[REPLACE] = str(path)
        if self.empties_caches:
            give_empty_caches(environment, spool.folder)

    def cache_variables(self, environment: Mapping[str, str], folder: Path) -> dict[str, str]:
        """Return the application's variables, with those that say where its caches are in the capture's ``folder``."""
        return {**environment, **(empty_caches(environment, folder) if self.empties_caches else {})}

    def unused_options(self, built_with_options: int) -> list[str]:
        """Return a sentence if the options were added to nothing; ``built_with_options`` counts builds that got them."""
        if not self.options or built_with_options:
            return []
        return [f"the options {self.options} were added to nothing: no program was built from source or IL"]
