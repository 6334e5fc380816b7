"""The request of a capture, as its folder keeps it: a capture that was killed is finished by it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import KernlensError
from kernlens.toolchain.sources.source_reading import read_beside
from kernlens.toolchain.toolchains import SYSTEM, toolchain
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.chosen_launches import MOST_BYTES
from kernlens.verbs.capture.observing import Observing
from kernlens.verbs.capture.replacing import Replacement, unpacked
from kernlens.verbs.capture.second_builds import SecondBuildPlan
from kernlens.verbs.capture.spool import REPLACEMENTS, Spool


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a capture: the application's command line, the device to simulate, the toolchain whose driver
    builds, whether compile stages are to be saved, what is changed, whether kernels are observed, whether the device
    times launches, and which launches are kept, of how many bytes."""

    words: tuple[str, ...] = ()
    device: str | None = None
    toolchain: str = SYSTEM
    stages: bool = False
    changes: Changes = field(default_factory=Changes)
    observing: Observing | None = None
    time: bool = False
    launches: tuple[str, ...] = ()
    launch_bytes: int = MOST_BYTES

    def second_build_plan(self, environment: Mapping[str, str]) -> SecondBuildPlan:
        """Return the second builds to do for it, in that environment. Raises NotFoundError without the toolchain."""
        chosen = toolchain(self.toolchain)
        # The command that starts Python beside the toolchain's driver; empty for this process's own.
        python = tuple(chosen.command(Path(sys.executable))) if chosen.root is not None else ()
        return SecondBuildPlan(environment, python, stages=self.stages, compare=bool(self.changes.added))

    def keep(self, spool: Spool) -> None:
        """Write the request into the folder. Raises OSError."""
        changes = replace(self.changes, replacements=[replace(each, content=b"") for each in self.changes.replacements])
        fields = {**asdict(replace(self, changes=Changes())), "changes": asdict(changes)}
        spool.asked.write_text(json.dumps(fields, default=lambda content: content.decode()))

    @classmethod
    def read_from(cls, spool: Spool) -> Asked:
        """Return what ``keep`` wrote; an empty request if the file is not there or damaged."""
        if not spool.asked.is_file():
            return cls()
        try:
            fields: dict[str, Any] = json.loads(read_beside(spool.asked, spool.folder))
            changes = fields["changes"]
            replacements = [Replacement(**{**each, "content": b""}) for each in changes["replacements"]]
            changes = Changes(**{**changes, "replacements": replacements})
            observing = None if fields["observing"] is None else Observing(**fields["observing"])
            asked = cls(
                **{
                    **fields,
                    "words": tuple(fields["words"]),
                    "launches": tuple(fields["launches"]),
                    "changes": changes,
                    "observing": observing,
                }
            )
        except (KernlensError, ValueError, KeyError, TypeError, RecursionError):
            return cls()
        return asked._with_contents(spool) if asked._is_sound() else cls()

    def _with_contents(self, spool: Spool) -> Asked:
        """Return the request with the contents of the replacements, which the recorder's file has."""
        try:
            packed = read_beside(spool.folder / REPLACEMENTS, spool.folder)
        except KernlensError:
            return self
        replacements = unpacked(packed, self.changes.replacements)
        return replace(self, changes=replace(self.changes, replacements=replacements))

    def _is_sound(self) -> bool:
        """Return whether each value has its type."""
        changes, replacements = self.changes, self.changes.replacements
        texts = [*self.words, *self.launches, self.device or "", self.toolchain, changes.options]
        texts += [text for each in replacements for text in (each.program, each.path, each.hash, each.kernel)]
        if (observing := self.observing) is not None:
            texts += [observing.device or "", observing.toolchain]
        flags = self.stages, self.time, changes.lines, changes.fresh_cache
        return (
            all(isinstance(text, str) for text in texts)
            and all(isinstance(flag, bool) for flag in flags)
            and all(isinstance(each.form, int) for each in replacements)
            and isinstance(self.launch_bytes, int)
            and (observing is None or isinstance(observing.seconds, float))
        )
