"""The fixture ``kernlens_replay`` in a project's tests, on PoCL."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernlens.dataclass import replace
from tests.tree import ROOT
from tests.unit.package.test_pytest_plugin import INSTALLED, OTHERS
from tests.writers.kept_launches import READ_WRITE, Keeper, record_launches

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="no PoCL")

ADD = "kernel void add(global int *out, int n) { out[get_global_id(0)] += n; }"
TESTS = """\
def test_equal(kernlens_replay):
    answer = kernlens_replay("add.klens", source="same.cl", runs=8)
    assert answer.is_equal
    assert answer.ratio.pairs == 8

def test_all(kernlens_replay):
    answer = kernlens_replay("add.klens", all_launches=True, runs=0)
    assert (answer.is_equal, answer.number) == (True, 3)

def test_differs(kernlens_replay):
    answer = kernlens_replay("add.klens", source="other.cl", all_launches=True, runs=0)
    assert answer.number == 1
    assert answer.is_equal, answer.builds[1].differing[0].difference.count

def test_nothing_was_compared(kernlens_replay):
    kernlens_replay("bare.klens", runs=0)

def test_no_such_kernel(kernlens_replay):
    kernlens_replay("add.klens", kernel="sub")
"""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made before pytester is there, which forgets what is imported after it."""
    folder = tmp_path_factory.mktemp("kept")
    keeper = Keeper(ADD)
    launches = [
        keeper.launch("add", [[struct.pack("<8i", *range(8)), READ_WRITE], struct.pack("<i", n)], [8]) for n in range(3)
    ]
    record_launches(folder / "add.klens", keeper.build, *launches)
    bare = replace(launches[0], memory=tuple(replace(each, after=None) for each in launches[0].memory))
    record_launches(folder / "bare.klens", keeper.build, bare)
    return folder


def test_a_project_states_what_it_wants(
    recordings: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    for path in recordings.iterdir():
        (pytester.path / path.name).symlink_to(path)
    (pytester.path / "same.cl").write_text(ADD.replace("+= n", "+= n * 1"))
    (pytester.path / "other.cl").write_text(ADD.replace("+= n", "+= n + (get_global_id(0) == 5)"))
    pytester.makepyfile(TESTS)
    plugin = () if "kernlens" in INSTALLED else ("-p", "kernlens.pytest_plugin")
    result = pytester.runpytest_subprocess(*OTHERS, *plugin)
    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        [
            "E *AssertionError: 1",
            "nothing was compared of launch 1 of add on *: the buffer of argument 0 (out) (a kernel cannot write it)",
            "*NotFoundError: *add.klens keeps no launch of sub; there are: add",
        ]
    )
