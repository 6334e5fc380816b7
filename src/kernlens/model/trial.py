"""Trials: a kernel compiled again with other build options, and compared work-item by work-item.

A hardware thread executes as many work-items as the kernel is wide, so instructions and cycles are divided by the width
before they are compared. They are counts of code: ``code_shape`` says where nothing is compared.
"""

from __future__ import annotations

from dataclasses import replace

from kernlens.dataclass import dataclass, in_short
from kernlens.model.code_shape import CodeShape, Cycles, Memory, cycles_of_loops, undecided


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the build options. ``key`` names it in JSON, ``title`` in tables; ``options`` are those added, ``removed``
    those left out. ``results`` says in what the kernel's results change, empty if they do not. ``sub_group`` is the sub-group
    size that it requires of all kernels, None if it requires none."""

    key: str
    title: str
    options: str = ""
    removed: tuple[str, ...] = ()
    results: str = ""
    sub_group: int | None = None


@dataclass(frozen=True, slots=True)
class TrialCode:
    """The figures of a kernel in one compile; None is not known.

    ``simd`` is its width, ``grfs`` the registers of a thread, ``spills`` the messages that store or load spilled values.
    ``cycles`` are IGC's estimate, issue and wait, of one thread alone with each loop run once, and ``issue`` those to issue.
    ``items`` are the work-items of a launch, 1 where nobody states them. ``sub_group`` is the sub-group size that the kernel
    requires, None if it requires none. ``digest`` stands for the code: equal code has equal ones.
    ``nest`` and ``memory`` are those of its ``CodeShape``.
    """

    simd: int | None
    grfs: int | None
    instructions: int
    cycles: int | None
    spills: int | None
    loops: int | None
    digest: str
    sub_group: int | None = None
    nest: str = ""
    memory: Memory = (0, 0, None)
    issue: int | None = None
    items: int | None = 1

    @property
    def all_cycles(self) -> Cycles | None:
        """The cycles of a work-item, or of a launch, by which codes are ranked; None if they are not known."""
        if self.issue is None or self.cycles is None or not self.simd or not self.items:
            return None
        loops = (each * self.items / self.simd for each in cycles_of_loops(self.nest))
        return self.issue * self.items / self.simd, self.cycles * self.items / self.simd, tuple(loops)

    @property
    def shape(self) -> CodeShape:
        """The part that another compile must have in common with it to be compared."""
        return CodeShape(self.simd, self.loops, *self.memory, self.nest, self.items)

    def per_work_item(self, figure: str) -> float | None:
        """Return ``instructions`` or ``cycles`` divided by the width; None if either is not known."""
        value: int | None = getattr(self, figure)
        return value / self.simd if value is not None and self.simd else None


@dataclass(frozen=True, slots=True)
class Trial:
    """The code of a kernel after one change, beside the code without it. ``reason`` says why there is none."""

    change: Change
    before: TrialCode
    after: TrialCode | None
    reason: str = ""

    def __repr__(self) -> str:
        return in_short(f"<Trial {self.change.title}: {self.note or 'comparable'}>")

    @property
    def is_same_code(self) -> bool:
        """True if the change made no difference to the code, nor to the registers of a thread."""
        return self.after is not None and replace(self.after, sub_group=self.before.sub_group) == self.before

    @property
    def is_comparable(self) -> bool:
        """True if counts of both compiles can be compared."""
        return self.after is not None and not self.before.shape.difference(self.after.shape)

    def ratio(self, figure: str) -> float | None:
        """Return ``instructions`` or ``cycles`` per work-item, or of a launch's, after the change divided by those before it;
        None if they cannot be compared."""
        before = self.before.per_work_item(figure)
        after = self.after.per_work_item(figure) if self.after is not None and self.is_comparable else None
        if after is None or not before or self.after is None:
            return None
        return after * (self.after.items or 1) / (before * (self.before.items or 1))

    @property
    def note(self) -> str:
        """The sentence on what the figures alone do not show; empty where there is nothing to say."""
        if self.after is None:
            return self.reason
        return "; ".join(filter(None, (self._sub_group, self._threads, self.difference)))

    @property
    def _sub_group(self) -> str:
        size = self.before.sub_group
        is_without_effect = self.change.sub_group is not None and size is not None and self.is_same_code
        return f"no effect, as the source requires sub-groups of {size}" if is_without_effect else ""

    @property
    def _threads(self) -> str:
        before, after = self.before.grfs, self.after.grfs if self.after else None
        if not before or not after or after == before:
            return ""
        if after == 2 * before:
            return "half the threads"
        return "fewer threads" if after > before else "more threads"

    @property
    def is_undecided(self) -> bool:
        """True if the cycles of both can be compared, and do not tell which code is faster."""
        return self.is_comparable and bool(self.undecided_beside(self.before))

    @property
    def difference(self) -> str:
        """The sentence on why the change cannot be ranked against the code without it; empty if it can."""
        if self.after is None:
            return ""
        if difference := self.before.shape.difference(self.after.shape):
            return f"not comparable: {difference}"
        words = self.undecided_beside(self.before)
        return f"not ranked: {words}" if words else ""

    def undecided_beside(self, other: TrialCode) -> str:
        """Return in words why neither this code nor another one is known to be faster by their cycles; empty if one is."""
        if self.after is None:
            return ""
        each_of = "work-item" if self.after.items == other.items == 1 else "launch"
        return undecided(other.all_cycles, self.after.all_cycles, each_of)


@dataclass(frozen=True, slots=True)
class TriedKernel:
    """A kernel and its trials, in the order in which the changes were tried."""

    name: str
    code: TrialCode
    trials: tuple[Trial, ...]

    @property
    def ranked(self) -> list[Trial]:
        """The trials that can be compared and changed the code: the fewest cycles per work-item first, or instructions where
        cycles are not known."""
        figure = "instructions" if self.code.cycles is None else "cycles"
        keys = {id(trial): trial.ratio(figure) for trial in self.trials if not trial.is_same_code}
        comparable = [trial for trial in self.trials if keys.get(id(trial)) is not None]
        ranked: list[Trial] = []
        for trial in sorted(comparable, key=lambda trial: (keys[id(trial)], (trial.after and trial.after.spills) or 0)):
            codes = [self.code, *(each.after for each in ranked if each.after is not None)]
            if figure != "cycles" or not any(map(trial.undecided_beside, codes)):
                ranked.append(trial)
        return ranked

    @property
    def unranked(self) -> list[Trial]:
        """The trials whose code cannot be compared."""
        ranked = set(map(id, self.ranked))
        return [
            trial
            for trial in self.trials
            if id(trial) not in ranked and trial.after is not None and not trial.is_same_code
        ]


@dataclass(frozen=True, slots=True)
class Tried:
    """The trials of a source: ``device``, ``toolchain`` and ``options`` are those of all compiles, ``compiler`` the toolchain's
    versions. ``failures`` has each change with which the source did not compile, and the reason."""

    source: str
    device: str
    toolchain: str
    compiler: str
    options: str
    changes: tuple[Change, ...]
    kernels: tuple[TriedKernel, ...]
    failures: tuple[tuple[Change, str], ...]

    def __repr__(self) -> str:
        return in_short(
            f"<Tried {self.source!r} for {self.device}: {len(self.changes)} changes, {len(self.kernels)} kernels>"
        )
