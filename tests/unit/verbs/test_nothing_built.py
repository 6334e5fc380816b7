"""Why nothing was recorded: what is said does not depend on when somebody looked at a process."""

from __future__ import annotations

import pytest

from kernlens.verbs.capture.captured import Captured
from kernlens.verbs.capture.loader_watch import LoaderWatch
from kernlens.verbs.capture.nothing_built import why_nothing


@pytest.mark.parametrize("code", [(), ("/opt/lib/libOpenCL.so.1",)], ids=["seen too late", "seen with its loader"])
def test_a_process_that_found_no_driver(code: tuple[str, ...]) -> None:
    reason = why_nothing(Captured(was_entered=False), ["app"], LoaderWatch(code=set(code)))
    assert reason.startswith("nothing was built that kernlens can see: ")
    assert "it found no driver (kernlens doctor)" in reason
    assert all(path in reason for path in code)
