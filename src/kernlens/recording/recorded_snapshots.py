"""The snapshots of a recorded program as the model has them."""

from __future__ import annotations

from functools import partial

from kernlens.model.stage import Snapshot
from kernlens.recording.reader import RecordedProgram, Recording


def recorded_snapshots(program: RecordedProgram) -> tuple[Snapshot, ...]:
    """A recorded program's snapshots in pipeline order, read at once: the recording may be closed after it."""
    found = []
    for one in program.snapshots:
        content = one.read()
        make = partial(bytes, content)
        found.append(Snapshot(one.stage, one.kernel, one.form, one.ending, make, len(content), attempt=one.attempt))
    return tuple(found)


def snapshots_in(path: str, number: int) -> tuple[Snapshot, ...]:
    """The snapshots of the ``number``-th program of the recording at ``path``, which is opened again for them."""
    with Recording(path) as recording:
        return next((recorded_snapshots(one) for one in recording.programs() if one.number == number), ())
