"""The launches that were kept whole, from a capture's folder into its recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kernlens.errors import KernlensError, OutputError
from kernlens.verbs.capture.kept_files import KeptFile, read_kept_file
from kernlens.verbs.capture.spool import Spool

if TYPE_CHECKING:
    from kernlens.recording.writer import RecordingWriter
    from kernlens.verbs.capture.captured import Captured

#: The kind of a file; until it is whole its name begins with a dot.
_KIND = "launch"


def add_kept_launches(
    spool: Spool, writer: RecordingWriter, captured: Captured, program_of: Callable[[KeptFile], int | None]
) -> None:
    """Write the launches that had ended, by process and number, and name those that had not among what is missing.
    ``program_of`` gives the number of a launch's program in the recording. Raises OutputError if that cannot be written."""
    for kept_file in sorted(_read(spool, captured), key=lambda each: (each.launch.process, each.launch.number)):
        launch = kept_file.launch
        called = f"launch {launch.number} of the kernel {launch.kernel}"
        number = program_of(kept_file)
        if not kept_file.has_ended:
            captured.missing.append(f"{called}: it had not ended when its process did")
        elif number is None:
            captured.missing.append(f"{called}: its program is not known")
        else:
            try:
                writer.add_launch(number, launch)
            except OutputError:
                raise  # The folder stays, with all that was kept.
            except (KernlensError, OSError) as error:
                captured.missing.append(f"{called}: {error}")
                continue
            captured.whole_launches.append((launch.kernel, launch.number))
            captured.kept_bytes += launch.size


def _read(spool: Spool, captured: Captured) -> Iterator[KeptFile]:
    for path in [*spool.files(_KIND), *sorted(spool.folder.glob(f".*.{_KIND}"))]:
        try:
            yield read_kept_file(path)
        except (KernlensError, OSError) as error:
            captured.missing.append(f"a launch that was to be kept: {error}")
