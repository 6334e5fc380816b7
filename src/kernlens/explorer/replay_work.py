"""Replays of what a page sent: the edited source runs on a launch that a recording keeps, in turn with the recorded build.

A configuration of ``/api/compile`` with ``"replay": {"kernel": ..., "runs": ...}`` asks for it, in a session of its own as
trials are. The ``result`` has no ``index`` but ``replayed``, which is a launch of ``kernlens replay --json`` (null if it could
not be run, and ``reason`` says why).
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import orjson

from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError
from kernlens.explorer.compile_queue import Tell, no_result
from kernlens.explorer.compile_request import Configuration
from kernlens.explorer.served import Served
from kernlens.model.build import Source
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.verbs.replay.kept import RecordedLaunch
from kernlens.verbs.replay.program_of_launch import OtherBuild
from kernlens.verbs.replay.replay import Settings, device_for, replaying
from kernlens.verbs.replay.replay_document import launch_document


def replays(served: Served, *, unconfined: bool) -> dict[str, Any] | None:
    """Return which kernels of which programs have launches, and the device that runs them, or the ``reason`` why none does;
    None if there are no launches."""
    builds = [(program.build, known) for program, known in zip(served.programs, served.ids, strict=True)]
    kernels = {known: sorted({each.kernel for each in build.kept_launches}) for build, known in builds}
    build = next((build for build, known in builds if kernels[known]), None)
    if build is None:
        return None
    device, reason = None, None
    try:
        device = device_for(build, unconfined=unconfined)
    except KernlensError as error:
        reason = str(error)
    return {"device": device, "reason": reason, "kernels": {known: names for known, names in kernels.items() if names}}


@dataclass(eq=False)
class ReplayWork:
    """A replay that waits to be run: the ``sources`` on a launch."""

    configuration: Configuration
    sources: Sequence[Source]
    include: Sequence[str]
    launch: RecordedLaunch
    unconfined: bool

    def __post_init__(self) -> None:
        self._kill: Callable[[], None] | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the launch, if it runs already, and let it not begin otherwise."""
        self._stopped = True
        if self._kill is not None:
            self._kill()

    def run(self, tell: Tell) -> None:
        """Run the launch, and tell the result."""
        started = time.monotonic()
        tell({"event": "stage", "done": 0, "of": 1})
        with temporary_folder() as folder:
            try:
                document = self._replayed(folder)
            except KernlensError as error:
                # Drivers name their own files, which are in temporary folders.
                own = re.compile(re.escape(tempfile.gettempdir()) + r"/kernlens-[^\s:]*/")
                tell({**no_result(own.sub("", str(error).replace(folder, ""))), "replayed": None})
                return
        seconds = round(time.monotonic() - started, 3)
        tell({**no_result(""), "ok": True, "reason": None, "seconds": seconds, "replayed": document})

    def _replayed(self, folder: str) -> Any:
        configuration = self.configuration
        assert configuration.replay is not None
        path, words = written_sources(self.sources, configuration.options, Path(folder), self.include)
        other = OtherBuild(str(path), words)
        settings = Settings(runs=configuration.replay.runs, other=other, unconfined=self.unconfined)
        with replaying(settings, [other], self._started) as run:
            answer = run(self.launch, settings)
        recorded, edited = answer.builds
        edited = replace(edited, title="edited", options=configuration.options)
        content = orjson.dumps(launch_document(replace(answer, builds=(recorded, edited))))
        return orjson.loads(content.replace(orjson.dumps(folder)[1:-1], b""))

    def _started(self, kill: Callable[[], None]) -> None:
        self._kill = kill
        if self._stopped:
            kill()
