"""The folder that recorders write to, as several commands begin with it at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kernlens.capturing.spool import Spool
from kernlens.errors import OutputError

PROCESSES = 8


@pytest.mark.slow
def test_several_join_at_the_same_time(tmp_path: Path) -> None:
    """Each finds it whole, whoever makes it: shells that start services evaluate kernlens layer --capture together."""
    for number in range(40):
        barrier = threading.Barrier(PROCESSES)

        def join(path: Path, barrier: threading.Barrier = barrier) -> list[str]:
            barrier.wait(60)
            return Spool.join(path).missing()

        with ThreadPoolExecutor(PROCESSES) as pool:
            assert list(pool.map(join, [tmp_path / f"{number}.klens"] * PROCESSES)) == [[]] * PROCESSES
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_of_several_that_make_it_one_does(tmp_path: Path) -> None:
    barrier = threading.Barrier(PROCESSES)

    def make(_: int) -> str:
        barrier.wait(60)
        try:
            Spool.make(tmp_path / "x.klens")
        except OutputError as error:
            return str(error)
        return ""

    with ThreadPoolExecutor(PROCESSES) as pool:
        refusals = [told for told in pool.map(make, range(PROCESSES)) if told]
    assert len(refusals) == PROCESSES - 1
    assert all("a capture that was killed has left, or is still writing" in told for told in refusals)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot make the folder .*: No such file or directory; name another place"):
        Spool.make(tmp_path / "none/x.klens")
    assert list(tmp_path.iterdir()) == []
