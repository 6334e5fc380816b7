"""The observer's file, and Oclgrind's messages, written out here."""

from __future__ import annotations

import pytest

from kernlens.dataclass import replace
from kernlens.errors import FormatError
from kernlens.formats.npy import array_bytes
from kernlens.formats.observation import read_observations
from kernlens.formats.oclgrind_message import fault_of
from kernlens.model.behaviour import ObservedRequest

HEAD = "observation\t1\t32\t32\t4\t1\t1\nlaunch\t64\t1\t1\t64\t1\t1\t1\t1\t500\t0\t0\tk\n"
PLACES = "file\tinput.cl\nfile\th.h\nplace\t0\t7\t3\t-1\nplace\t1\t2\t1\t0\n"
BLOCK = "block\t0\t64\t2\t1\t0\ncode\t0\t0\t5\ncode\t0\t1\t3\ncode\t0\t-1\t2\n"
ACCESS = "access\t1\t0\t1\t4\t4\t2\t64\t256\t256\t8\t4\t2\t8\t4\t2\t0\t0\t64\t2\t0\t2\t0\t0\t0\t0\t0\t0\n"
END = "end\n"


def test_a_section() -> None:
    text = HEAD + PLACES + BLOCK + "branch\t0\t0\t40\t24\n" + ACCESS + "barrier\t0\t3\n" + END
    (observed,) = read_observations(text.encode(), {"input.cl": "/src/k.cl"})
    assert (observed.kernel, observed.groups, observed.groups_done, observed.instructions) == ("k", 1, 1, 500)
    first, second = observed.lines
    assert (first.place.path, first.place.line, first.runs, first.lanes) == ("/src/k.cl", 7, 64, 32.0)
    assert (second.place.path, second.requests, second.units, second.least) == ("h.h", 2, 4, 4)
    (access,) = observed.accesses
    assert [call.line for call in access.calls] == [7]
    assert (access.pattern, access.wavefronts, access.units) == ("consecutive", None, (8, 4, 2))
    (branch,) = observed.branches
    assert (branch.sub_groups, branch.parted, branch.shares) == (2, 1, (40, 24))
    assert [(place.line if place else None, count) for place, count in observed.barriers] == [(7, 3)]


def test_the_costliest_request_of_an_access() -> None:
    """Addresses are behind a multiple of 4,096 bytes of their buffer, so that units and banks stay where they are."""
    third = 3 << 48
    text = HEAD + f"argument\t{third}\tin\n" + PLACES + BLOCK + ACCESS
    text += f"example\t0\t4\t0\t{third + 8192 + 64}\t5\t{third + 8192 + 60}\n" + END
    (observed,) = read_observations(text.encode(), {})
    example = observed.accesses[0].example
    assert example == ObservedRequest(8192, 4, ((0, 64), (5, 60)), "in")
    assert [example.units(unit) for unit in (32, 64, 128)] == [[1, 2], [0, 1], [0]]
    assert replace(example, bytes=8).units(64) == [0, 1]
    whole = ObservedRequest.of(1 << 40, [0], [third])
    assert not whole.is_bounded


def test_a_buffer_that_no_access_came_to_is_none_of_the_launch() -> None:
    second, third = 2 << 48, 3 << 48
    text = HEAD + f"buffer\t{second}\t640\nbuffer\t{third}\t100000\n" + PLACES + BLOCK
    (observed,) = read_observations((text + ACCESS.rstrip("\n") + "\t2\n" + END).encode(), {})
    assert observed.buffers == ((second, 640),)
    (observed,) = read_observations((text + ACCESS + END).encode(), {})
    assert observed.buffers == ((second, 640), (third, 100_000)), "an access that does not tell"


def test_a_section_without_its_end_is_not_read() -> None:
    whole = HEAD + PLACES + BLOCK + END
    assert len(read_observations((whole + HEAD + PLACES).encode(), {})) == 1
    assert read_observations((HEAD + PLACES).encode(), {}) == []
    assert read_observations(b"", {}) == []


@pytest.mark.parametrize(
    "text",
    [
        "place\t0\t1\t1\t-1\n",
        HEAD + "place\t0\t1\t1\t-1\n" + END,
        HEAD + PLACES + "place\t0\t1\t1\t5\n" + END,
        HEAD + PLACES + "code\t3\t0\t1\n" + END,
        HEAD + PLACES + BLOCK + "code\t0\t9\t1\n" + END,
        HEAD + PLACES + BLOCK + "branch\t8\t0\t1\t1\n" + END,
        HEAD + PLACES + BLOCK + "loop\t0\t-1\t0\t1\n" + END,
        HEAD + PLACES + ACCESS.replace("\t1\t4\t4", "\t9\t4\t4", 1) + END,
        HEAD + PLACES + ACCESS.rpartition("\t")[0] + "\n" + END,
        HEAD + PLACES + BLOCK + ACCESS + "example\t1\t4\t0\t0\n" + END,
        HEAD + PLACES + BLOCK + ACCESS + "example\t0\t4\t0\t0\t1\n" + END,
        HEAD + PLACES + BLOCK + ACCESS + "example\t0\t0\t0\t0\n" + END,
        HEAD + PLACES + BLOCK + ACCESS + "example\t0\t4\t0\t-1\n" + END,
        HEAD + PLACES + BLOCK + ACCESS + "example\t0\t4\n" + END,
        HEAD.replace("\t500", "\tx") + END,
        HEAD.replace("observation\t1", "observation\t2") + END,
        HEAD.split("\n")[0] + "\n" + END,
        HEAD + "message\t1\n" + END,
    ],
)
def test_what_does_not_fit_together_is_refused(text: str) -> None:
    with pytest.raises(FormatError):
        read_observations(text.encode(), {})


RACE = """Read-write data race at local memory address 0x100000000007c
\tKernel: k

\tFirst entity:  Global({},0,0) Local({},0,0) Group(0,0,0)
\t  %5 = load i32
\tAt line 3 (column 9) of input.cl:
\t  (source not available)

\tSecond entity: Global(31,0,0) Local(31,0,0) Group(0,0,0)
\t  store i32 %0
\tAt line 5 (column 2) of input.cl:
\t  (source not available)
"""


@pytest.mark.parametrize(("other", "is_lockstep"), [(3, True), (32, False)])
def test_a_race_within_a_sub_group_is_lockstep(other: int, is_lockstep: bool) -> None:
    fault = fault_of(3, RACE.format(other, other), 7, {"input.cl": "k.cl"}, (64, 1, 1), 32)
    assert fault is not None
    assert (fault.kind, fault.count, fault.is_lockstep) == ("race", 7, is_lockstep)
    assert [(place.path, place.line, place.column) for place in fault.places] == [("k.cl", 3, 9), ("k.cl", 5, 2)]
    assert fault.work_items == ((other, 0, 0), (31, 0, 0))


@pytest.mark.parametrize(("sharing", "is_lockstep"), [("", False), ("sharing\t1\n", False), ("sharing\t0\n", True)])
def test_lockstep_is_said_where_no_bytes_are_shared_by_sub_groups(sharing: str, is_lockstep: bool) -> None:
    message = RACE.format(3, 3).replace("\n", "\\n")
    (observed,) = read_observations((HEAD + sharing + f"message\t0\t3\t7\t{message}\n" + END).encode(), {})
    assert [(each.kind, each.is_lockstep) for each in observed.faults] == [("race", is_lockstep)]


@pytest.mark.parametrize(
    ("address", "buffer"), [("0x2000000000100", "2"), ("0x1fffffffffffc", "2"), ("0x10", "0"), ("0x2000000000000", "2")]
)
def test_the_buffer_of_an_address(address: str, buffer: str) -> None:
    fault = fault_of(
        3, f"\nInvalid read of size 4 at global memory address {address}\n\tKernel: k\n", 1, {}, (1, 1, 1), 32
    )
    assert fault is not None
    assert (fault.kind, fault.argument) == ("bounds", buffer)


def test_a_race_is_one_fault_whoever_comes_first() -> None:
    there = RACE.format(40, 40)
    back = there.replace("line 3 (column 9)", "line 0 (column 9)").replace("line 5 (column 2)", "line 3 (column 2)")
    texts = (there, back.replace("line 0", "line 5"), there.replace("Read-write", "Write-write"))
    messages = "".join(
        f"message\t{number}\t3\t7\t{text}\n" for number, text in enumerate(t.replace("\n", "\\n") for t in texts)
    )
    (observed,) = read_observations((HEAD + messages + END).encode(), {})
    assert [(each.kind, each.count) for each in observed.faults] == [("race", 21)]


def test_what_is_no_fault() -> None:
    assert fault_of(1, "Kernel started", 1, {}, (1, 1, 1), 32) is None
    poison = (
        "Uninitialized value written to global memory address 0x1000000000000\n  store <4 x float> poison, ptr %a\n"
    )
    assert fault_of(2, poison, 1, {}, (1, 1, 1), 32) is None


def test_arrays_of_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    import io

    def saved(array: object) -> bytes:
        file = io.BytesIO()
        numpy.save(file, array)
        return file.getvalue()

    array = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)
    assert array_bytes(saved(array)) == array.tobytes()
    for wrong in (saved(numpy.asfortranarray(array)), saved(array.astype(">f4")), b"", b"\x93NUMPY\x01\x00\xff\xff"):
        with pytest.raises(FormatError):
            array_bytes(wrong)
