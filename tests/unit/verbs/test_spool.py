"""The folder that recorders write to: several commands begin with it at the same time, and files in it may be damaged."""

from __future__ import annotations

import struct
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from kernlens.errors import NotFoundError, OutputError, UnsupportedError
from kernlens.model.device_time import DeviceTime
from kernlens.verbs.capture import capture
from kernlens.verbs.capture.asked import Asked
from kernlens.verbs.capture.capture import recover
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.replacing import Replacement
from kernlens.verbs.capture.spool import Spool
from tests.writers.spooled import BUILD, STARTED, VOID, entry, fields

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


def test_what_was_asked_for_is_kept(tmp_path: Path) -> None:
    spool = Spool.make(tmp_path / "x.klens")
    replacement = Replacement("scale", "edited.cl", kernel="scale", content=b"kernel void scale() {}")
    asked = Asked(("./app", "-x"), "dg2", "newest", True, Changes(True, "-DN=1", [replacement], True))
    asked.keep(spool)
    changes = replace(asked.changes, replacements=[replace(replacement, content=b"")])
    assert Asked.read_from(spool) == replace(asked, changes=changes)


def test_a_recording_is_written_beside_its_folder_whatever_that_states(tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    with closing(Spool.make(tmp_path / "x.klens")) as spool:
        (spool.folder / "recording").write_text(str(tmp_path / "victim/y.klens"))
        assert spool.recording == tmp_path / "x.klens"
        with pytest.raises(OutputError, match=r"is not called RECORDING\.capture; name the recording with -o"):
            print(Spool(tmp_path / "elsewhere").recording)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        "{}",
        '{"words": ["a"]}',
        '{"words": [], "changes": {"replacements": [1]}}',
        '{"words": [], "changes": {"replacements": [], "others": 1}}',
        '{"words": [1], "changes": {"replacements": []}}',
        '{"words": [], "changes": {"replacements": [{"program": 1, "path": ""}]}}',
        '{"words": [], "changes": {"replacements": []}, "stages": "yes"}',
        '{"words": [], "changes": {"replacements": []}, "toolchain": null}',
    ],
)
def test_of_a_file_that_is_not_what_was_asked_for_nothing_is_known(content: str, tmp_path: Path) -> None:
    spool = Spool.make(tmp_path / "x.klens")
    spool.asked.write_text(content)
    assert Asked.read_from(spool) == Asked()


def test_of_several_that_make_it_one_does(tmp_path: Path) -> None:
    barrier = threading.Barrier(PROCESSES)

    def make(_: int) -> Spool | str:
        barrier.wait(60)
        try:
            return Spool.make(tmp_path / "x.klens")
        except OutputError as error:
            return str(error)

    with ThreadPoolExecutor(PROCESSES) as pool:
        results = list(pool.map(make, range(PROCESSES)))
    refusals = [result for result in results if isinstance(result, str)]
    assert len(refusals) == PROCESSES - 1
    assert all("another process is writing the recording" in refusal for refusal in refusals)
    (spool,) = (result for result in results if isinstance(result, Spool))
    with pytest.raises(OutputError, match="another process is still writing to"):
        recover(spool.folder)
    spool.close()
    assert make_again(tmp_path).startswith(f"there is {spool.folder}, which a capture that was killed has left")


def make_again(folder: Path) -> str:
    with pytest.raises(OutputError) as refusal:
        Spool.make(folder / "x.klens")
    return str(refusal.value)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"cannot make the folder .*: No such file or directory; name another place"):
        Spool.make(tmp_path / "none/x.klens")
    assert list(tmp_path.iterdir()) == []


def _counter(kernel: str, launches: int, shapes: int = 0, times: Sequence[int] = (1, 0, 0, 0, 0, 0, 0)) -> bytes:
    """As native/recording/counters.c writes it."""
    name = kernel.encode().ljust(8, b"\0")
    head = struct.pack("<7Q", 624 + len(name), 1, 1, 0, 1, launches, shapes)
    return head + bytes(8 * 64) + struct.pack("<7Q", *times) + name


def test_times_of_launches_are_those_of_their_process(tmp_path: Path) -> None:
    with closing(Spool.make(tmp_path / "x.klens")) as spool:
        folder = spool.folder
    few, many = _counter("few", 3, times=(1, 3, 60, 1, 20, 10, 30)), _counter("many", 1, times=(2, 1, 40, 0, 0, 40, 40))
    (folder / "a-1.counters").write_bytes(few + many)
    (folder / "b-1.counters").write_bytes(_counter("few", 2, times=(1, 2, 100, 1, 50, 50, 50)))
    rows = [(1, 10), (2, 40), (1, 20)]
    (folder / "a-2.times").write_bytes(b"".join(struct.pack("<2Q", *row) for row in rows) + bytes(32))
    (folder / "a-3.times").write_bytes(struct.pack("<2Q", 1, 30))
    (folder / "b-2.times").write_bytes(struct.pack("<2Q", 1, 50) + struct.pack("<2Q", 1, 50) + b"damaged")
    done = recover(folder)
    times = {kernel.name: kernel.time for kernel in done.kernels}
    assert [kernel.name for kernel in done.kernels] == ["few", "many"]
    assert times["few"] == DeviceTime(5, 160, 30, 0.8, first_ns=50, least_ns=10, most_ns=50), "the longest first one"
    assert times["many"] == DeviceTime(1, 40, 40, 0.2, first_ns=None, least_ns=40, most_ns=40)


def test_what_is_damaged_is_missing_and_the_rest_is_recorded(tmp_path: Path) -> None:
    with closing(Spool.make(tmp_path / "x.klens")) as spool:
        folder = spool.folder
    build = fields(("operation", b"build"), ("source", b"kernel void a() {}"))
    unended = fields(("operation", b"link"), ("time", struct.pack("<Q", 1)))
    (folder / "1-1.builds").write_bytes(
        entry(BUILD, 2, build)
        + entry(VOID, 3, build)
        + entry(BUILD, 4, b"damaged")
        + entry(STARTED, 1, unended)
        + entry(VOID, 5, build)[:-1]
    )
    (folder / "1-2.builds").write_bytes(entry(BUILD, 6, build) + entry(9, 7, build) + entry(BUILD, 8, build))
    (folder / "1-3.builds").write_bytes(entry(BUILD, 9, build)[:-1])
    (folder / "1-4.counters").write_bytes(_counter("first", 3) + bytes(100))
    (folder / "1-5.counters").write_bytes(_counter("second", 2, shapes=9))
    (folder / "1-6.replacement").write_bytes(fields(("replaced", b"a")))
    done = recover(folder)
    assert (done.builds, done.failed) == (3, 1), "a link of all devices that there are has not ended"
    assert [(kernel.name, kernel.launches) for kernel in done.kernels] == [("first", 3)]
    assert [missing.partition(":")[0] for missing in sorted(done.missing)] == [
        "a build",
        "builds",
        "builds",
        "how often kernels were launched",
        "what was replaced",
    ]


@pytest.mark.parametrize("names", [(), ("recording",), ("missing",)])
def test_a_folder_of_something_else_is_no_capture(names: tuple[str, ...], tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).touch()
    with pytest.raises(NotFoundError, match="is not a capture directory"):
        Spool.open(tmp_path)


def test_a_program_with_rights_of_its_own_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loaders read no variables in such a program, so that a capture of it would be empty."""
    program = tmp_path / "program"
    program.touch()
    owner, group = program.stat().st_uid, program.stat().st_gid
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    monkeypatch.setattr("os.getegid", lambda: group + 1)
    for mode in (0o4755, 0o2755):
        program.chmod(0o755)
        capture._check_rights(str(program))
        program.chmod(mode)
        with pytest.raises(UnsupportedError, match="has setuid, setgid or file capabilities"):
            capture._check_rights(str(program))
