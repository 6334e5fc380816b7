"""The first stage, and the first pass, at which two compiles of a kernel part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from kernlens.analysis.comparison.matching import common_pairs
from kernlens.analysis.line_passes import VALUE_NUMBER
from kernlens.analysis.stage_changes import is_whole, program_lines
from kernlens.dataclass import dataclass
from kernlens.model.stage import TEXT, Snapshot

#: The stage before the compile.
_SOURCE = "source"


@dataclass(frozen=True, slots=True)
class PassParting:
    """The first pass that did something else to the one program than to the other. ``side`` is ``old`` or ``new`` if only
    that compile ran it, else ``both``. ``partial`` are the passes right before it of which only a part was dumped: it may
    have been one of them."""

    stage: str
    side: str
    partial: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Parting:
    """The place where two compiles part. ``stage`` is the first stage that differs, ``before`` the last one before it
    that is equal; each is None if there is none. ``first_pass`` is None if no pass was kept that did something else."""

    before: str | None
    stage: str | None
    first_pass: PassParting | None = None


def parting(old: Iterable[Snapshot], new: Iterable[Snapshot]) -> Parting:
    """Return where two compiles part, by the stages of both; ``old`` and ``new`` are of one kernel each, or of the program."""
    old, new = _usable(old), _usable(new)
    before = stage = None
    new_of = {snapshot.stage: snapshot for snapshot in new if not snapshot.is_pass}
    for snapshot in old:
        other = new_of.get(snapshot.stage) if not snapshot.is_pass else None
        # That sources differ is known, and macros of the command line are no part of them.
        if other is None or snapshot.stage == _SOURCE or snapshot.form != other.form:
            continue
        is_other = snapshot.content != other.content
        if is_other and not (snapshot.form == TEXT and program_lines(snapshot) == program_lines(other)):
            stage = snapshot.stage
            break
        before = snapshot.stage
    return Parting(before, stage, _first_pass(list(_steps(old)), list(_steps(new))))


def _usable(snapshots: Iterable[Snapshot]) -> list[Snapshot]:
    """Return one snapshot of each stage, its text where there is one, in pipeline order."""
    chosen: dict[str, Snapshot] = {}
    for snapshot in snapshots:
        if snapshot.failure is None and (snapshot.stage not in chosen or snapshot.form == TEXT):
            chosen[snapshot.stage] = snapshot
    return list(chosen.values())


@dataclass(frozen=True, slots=True)
class _Step:
    """The effect of one pass: the lines that it added and removed; None where only a part was dumped."""

    stage: str
    effect: tuple[Counter[str], Counter[str]] | None

    @property
    def name(self) -> str:
        """The pass, without its place in the pipeline."""
        return self.stage.split("-", 2)[-1]

    @property
    def did_something(self) -> bool:
        return self.effect is not None and any(self.effect)


def _steps(snapshots: Iterable[Snapshot]) -> Iterator[_Step]:
    """Yield the passes. Numbers of values are not looked at: whatever comes or goes changes all that follow."""
    before: Counter[str] | None = None
    last: list[str] | None = None
    for snapshot in snapshots:
        if snapshot.ending != ".ll" or (before is not None and not snapshot.is_pass):
            continue
        if not is_whole(snapshot):
            if snapshot.is_pass:
                yield _Step(snapshot.stage, None)
            continue
        lines = [VALUE_NUMBER.sub("", line) for line in program_lines(snapshot)]
        if lines == last and before is not None:
            yield _Step(snapshot.stage, (Counter(), Counter()))
            continue
        after = Counter(lines)
        if snapshot.is_pass and before is not None:
            yield _Step(snapshot.stage, (after - before, before - after))
        before, last = after, lines


def _first_pass(old: Sequence[_Step], new: Sequence[_Step]) -> PassParting | None:
    """Return the first pass whose effects differ, of those that both ran, in order, and those between that only one ran."""
    done = (0, 0)
    partial: list[str] = []
    pairs = common_pairs([step.name for step in old], [step.name for step in new])
    for pair in [*pairs, (len(old), len(new))]:
        for side, steps in (("old", old[done[0] : pair[0]]), ("new", new[done[1] : pair[1]])):
            for step in steps:
                if step.did_something:
                    return PassParting(step.stage, side, tuple(partial))
        if pair[0] == len(old):
            break
        before, after = old[pair[0]], new[pair[1]]
        if before.effect is None or after.effect is None:
            partial.append(before.stage)
        elif before.effect != after.effect:
            return PassParting(before.stage, "both", tuple(partial))
        else:
            partial.clear()
        done = pair[0] + 1, pair[1] + 1
    return None
