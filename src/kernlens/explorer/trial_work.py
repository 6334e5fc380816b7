"""Trials of build options on what a page sent: one place in the queue, in which the compiles are done one after the other.

A configuration of ``/api/compile`` with ``"trials": true`` asks for it. Its events are those of a compile: ``stage`` counts the
compiles (``done`` of ``of``), ``tried`` has what is known so far, and the ``result`` has no ``index`` but ``tried``, which is
``kernlens advise --try --json``'s (``report/trial_table.py``; null if the source does not compile as it is, and ``reason`` says
why). As a newer request of a session supersedes what it asked before, a page asks for trials in a session of its own.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

from kernlens.errors import KernlensError
from kernlens.explorer.compile_queue import Tell, no_result
from kernlens.explorer.compile_work import ConfinedWork
from kernlens.model.trial import Tried
from kernlens.report.trial_table import tried_document
from kernlens.toolchain.shown_files import questions_answered
from kernlens.toolchain.sources.includes import join_options, split_options
from kernlens.toolchain.sources.recorded_sources import written_sources
from kernlens.verbs.tried import tried


class TrialWork(ConfinedWork):
    """The trials of options on the sources."""

    def run(self, tell: Tell) -> None:
        """Compile with each change, and tell the result."""
        started = time.monotonic()
        with self.folder() as written_below:
            folder = os.path.realpath(written_below)
            try:
                answer = self._shown(self._tried(tell, folder), folder)
            except KernlensError as error:
                tell({**no_result(str(error).replace(folder, "")), "tried": None})
                return
        seconds = round(time.monotonic() - started, 3)
        tell({**no_result(""), "ok": True, "reason": None, "seconds": seconds, "tried": tried_document(answer)})

    def _tried(self, tell: Tell, folder: str) -> Tried:
        configuration = self.configuration
        roots = [os.path.realpath(each) for each in self.include]
        path, words = written_sources(self.sources, configuration.options, Path(folder), roots)
        options = join_options([*split_options(words), *(() if self.unconfined else questions_answered())])
        return tried(
            path,
            configuration.device,
            toolchain=configuration.toolchain,
            options=options,
            jobs=1,
            on_progress=lambda done, of: tell({"event": "stage", "done": done, "of": of}),
            on_answer=lambda known: tell({"event": "tried", "tried": tried_document(self._shown(known, folder))}),
        )

    def _shown(self, answer: Tried, folder: str) -> Tried:
        """Return the trials under the names that the page knows."""
        failures = tuple((change, reason.replace(folder, "")) for change, reason in answer.failures)
        return replace(answer, source=self.sources[0].path, options=self.configuration.options, failures=failures)
