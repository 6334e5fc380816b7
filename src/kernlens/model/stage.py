"""Snapshots of a program at the stages of its compile. ``model/stages.py`` lists the stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property

from kernlens.dataclass import dataclass, field, in_short
from kernlens.errors import NotFoundError, OutputError, nearest
from kernlens.model.allowance import Allowance

TEXT = "text"
BINARY = "binary"
#: A stage has one snapshot of the program, or one of each kernel.
PROGRAM = "program"
KERNEL = "kernel"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The program at a stage. ``kernel`` is None for the whole program, ``form`` ``text`` or ``binary``.

    ``ending`` is the usual file ending of such content (``.ll``). ``seconds`` is when it was complete, counted from the
    compiler's start, to the clock tick of the file system; None if unknown. ``size`` is None until the content is there
    where it takes another tool to make it. ``failure``: why there is no content, None if there is.

    ``attempt`` counts from 1: Intel's GPU compiler may compile the program again, or some of its kernels, when one
    spills. A stage of the program then has a snapshot of each attempt; a kernel's own snapshots are of the attempt
    whose machine code stands in the program. ``allowance`` is that of the input that holds the snapshot.
    """

    stage: str
    kernel: str | None
    form: str
    ending: str
    find_content: Callable[[], bytes] = field(repr=False)
    size: int | None = None
    seconds: float | None = None
    failure: str | None = None
    attempt: int = 1
    allowance: Allowance = field(default_factory=Allowance, repr=False)

    def __repr__(self) -> str:
        of = f" of {self.kernel}" if self.kernel else ""
        size = "" if self.size is None else f", {self.size:,} bytes"
        again = f", attempt {self.attempt}" if self.attempt > 1 else ""
        return in_short(f"<Snapshot {self.stage}{of}: {self.failure or self.form + size + again}>")

    @cached_property
    def content(self) -> bytes:
        """The snapshot's bytes. Raises OutputError with ``failure``, ToolError if the tool that makes this form fails."""
        if self.failure is not None:
            raise OutputError(f"there is no snapshot of the stage {self.stage}: {self.failure}")
        return self.find_content()

    @property
    def text(self) -> str:
        """The content as text; undecodable bytes are replaced."""
        return self.content.decode("utf-8", "replace")

    @cached_property
    def line_count(self) -> int:
        """The number of the text's lines. Raises TooManyError if the input has more than may be read."""
        count = self.content.count(b"\n")
        self.allowance.count_lines(count, format=self.stage)
        return count

    @property
    def listing(self) -> str:
        """The text for those who read its lines. Raises TooManyError if the input has more than may be read."""
        _ = self.line_count
        return self.text

    @property
    def is_pass(self) -> bool:
        """True if it is one pass of the compiler rather than a stage of the table."""
        return self.stage[:4].isdecimal() and self.stage[4:5] == "-"


class Attempts:
    """The attempts at compiling the program, and the kernels that each counts for (see ``Snapshot``).

    ``kernels``: kernel -> the attempt whose machine code of it stands in the program. ``stages``: the program's stages
    that there are several attempts of, and all passes.
    """

    def __init__(self, snapshots: Iterable[Snapshot]) -> None:
        self.kernels: dict[str, int] = {}
        first: dict[str, int] = {}
        again = set()
        for snapshot in snapshots:
            if snapshot.kernel is not None:
                self.kernels[snapshot.kernel] = snapshot.attempt
            elif snapshot.is_pass or first.setdefault(snapshot.stage, snapshot.attempt) != snapshot.attempt:
                again.add(snapshot.stage)
        self.stages = frozenset(again)

    def counts(self, stage: str, attempt: int, kernel: str) -> bool:
        """Return whether this attempt at a stage of the program is the one of ``kernel``; true if there was only one."""
        return stage not in self.stages or attempt == self.kernels.get(kernel)


def of_kernel(snapshots: tuple[Snapshot, ...], kernel: str | None) -> tuple[Snapshot, ...]:
    """Return the snapshots of ``kernel``, and of the program those of the attempt that counts for it; all if it is None."""
    if kernel is None:
        return snapshots
    attempts = Attempts(snapshots)
    return tuple(
        snapshot
        for snapshot in snapshots
        if snapshot.kernel == kernel
        or (snapshot.kernel is None and attempts.counts(snapshot.stage, snapshot.attempt, kernel))
    )


def choose(
    snapshots: tuple[Snapshot, ...], stage: str, kernel: str | None = None, form: str | None = None
) -> tuple[Snapshot, ...]:
    """Return the snapshots of one stage, one per kernel where it is per kernel; ``form`` None: the first of its forms.

    Of a stage of the program that was compiled several times, all attempts in order; with ``kernel`` the one that
    counts for it. ``stage`` may also be a pass by its bare name if that pass ran only once. Raises NotFoundError with
    what there is.
    """
    name = _stage_name(snapshots, stage)
    chosen = [snapshot for snapshot in of_kernel(snapshots, kernel) if snapshot.stage == name]
    if not chosen:
        names = (snapshot.kernel for snapshot in snapshots if snapshot.stage == name and snapshot.kernel)
        kernels = ", ".join(dict.fromkeys(names) or Attempts(snapshots).kernels)
        raise NotFoundError(f"the stage {name} has no kernel {kernel!r}; it has: {kernels}")
    preferred = form if any(snapshot.form == form for snapshot in chosen) else chosen[0].form
    return tuple(snapshot for snapshot in chosen if snapshot.form == preferred)


def _stage_name(snapshots: tuple[Snapshot, ...], stage: str) -> str:
    names = list(dict.fromkeys(snapshot.stage for snapshot in snapshots))
    if stage in names:
        return stage
    passes = list(dict.fromkeys(snapshot.stage for snapshot in snapshots if snapshot.is_pass))
    runs = [name for name in passes if name.split("-", 2)[-1] == stage]
    if len(runs) == 1:
        return runs[0]
    if runs:
        raise NotFoundError(f"the pass {stage} ran {len(runs)} times; choose one: {', '.join(runs)}")
    bare = {name.split("-", 2)[-1]: name for name in passes}
    near = [bare.get(name, name) for name in nearest(stage, [*names, *bare])]
    offer = ", ".join(near or [name for name in names if name not in passes])
    advice = "" if passes else " (its single passes: --all-passes)"
    raise NotFoundError(f"there is no stage {stage!r} here; there is: {offer}{advice}")
