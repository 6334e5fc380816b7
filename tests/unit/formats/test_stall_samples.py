"""Stall samples of unitrace: both forms of its file, and files that are not."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable

import pytest

from kernlens.errors import FormatError
from kernlens.formats.samples.unitrace import read_unitrace
from kernlens.model.samples import DISTANCE, TOKEN, Samples
from tests.limits import address_space, processor_time
from tests.writers.stall_samples import (
    METRICS,
    METRICS_OF_XE2,
    REASONS,
    Device,
    Row,
    counts,
    legacy_stall_samples,
    stall_samples,
)

TEMPLATE = "void scale<float, 16>(float*, int)"


def _read(text: str) -> Samples:
    return read_unitrace(text.encode())


def test_one_device() -> None:
    text = stall_samples(
        [("blur", 0x1B8, counts(Active=3, SbidStall=40)), (TEMPLATE, 0x0, counts(DistStall=7, OtherStall=2))]
    )
    assert text.splitlines()[0].lstrip().startswith("Kernel, IP[Address], Active[Events], ControlStall[Events], ")
    samples = _read(text)
    assert [reason.name for reason in samples.reasons] == list(REASONS)
    assert [reason.name for reason in samples.reasons if not reason.is_stall] == ["Active"]
    assert {reason.awaits: reason.name for reason in samples.reasons if reason.awaits} == {
        TOKEN: "SbidStall",
        DISTANCE: "DistStall",
    }
    assert [(kernel.name, kernel.device, dict(kernel.counts)) for kernel in samples.kernels] == [
        ("blur", None, {0x1B8: counts(Active=3, SbidStall=40)}),
        (TEMPLATE, None, {0: counts(DistStall=7, OtherStall=2)}),
    ]
    assert samples.total == 52


def test_several_devices_behind_their_banners() -> None:
    text = legacy_stall_samples(
        [
            Device(0, [("blur", 16, counts(Active=1))]),
            Device(1),
            Device(2, [("blur", 16, counts(Active=2)), ("blur", 32, counts(SendStall=5))]),
        ]
    )
    assert text.count("=== Device #") == 2, "a device without samples has no table"
    samples = _read(text)
    assert [(kernel.device, len(kernel.counts)) for kernel in samples.kernels] == [(0, 1), (2, 2)]


def test_a_kernel_loaded_twice_has_its_counts_summed() -> None:
    samples = _read(stall_samples([("blur", 16, counts(Active=1, SyncStall=2)), ("blur", 16, counts(Active=4))]))
    assert samples.kernels[0].counts == {16: counts(Active=5, SyncStall=2)}


def test_names_without_quotes_line_ends_of_windows_and_a_byte_order_mark() -> None:
    text = stall_samples([(TEMPLATE, 8, counts(Active=1)), ("Kernel", 8, counts(Active=2))]).replace('"', "")
    samples = read_unitrace(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert [kernel.name for kernel in samples.kernels] == [TEMPLATE, "Kernel"]


def test_other_columns_of_other_devices() -> None:
    text = stall_samples([("k", 8, (1, 2))], metrics=("Active[Events]", "MatrixStall[Events]"))
    assert [reason.name for reason in _read(text).reasons] == ["Active", "MatrixStall"]


def test_the_columns_of_xe2() -> None:
    samples = _read(stall_samples([("k", 8, tuple(range(10)))], metrics=METRICS_OF_XE2))
    assert [reason.name for reason in samples.reasons] == ["Active", "PSDepStall", *REASONS[1:]]
    assert samples.kernels[0].counts == {8: tuple(range(10))}


def test_lines_before_the_first_heading() -> None:
    text = "[INFO] some, text, of the application\n" + stall_samples([("k", 8, counts(Active=1))])
    assert _read(text).total == 1


def test_each_row_of_random_files_is_read() -> None:
    rng = random.Random(23)
    letters = 'ab<>,()" :~é*&[]#=_0'
    for _ in range(60):
        names = ["".join(rng.choices(letters, k=rng.randrange(1, 40))).strip() or "k" for _ in range(4)]
        devices, expected = [], dict[tuple[str, int, int], list[int]]()
        for number in rng.sample(range(9), rng.randrange(1, 4)):
            rows: list[Row] = []
            for _ in range(rng.randrange(1, 30)):
                name, offset = rng.choice(names), 8 * rng.randrange(20)
                numbers = [rng.choice((0, 1, rng.randrange(1 << 64))) for _ in METRICS]
                rows.append((name, offset, numbers))
                before = expected.get((name, number, offset), [0] * len(METRICS))
                expected[name, number, offset] = [a + b for a, b in zip(before, numbers, strict=True)]
            devices.append(Device(number, rows))
        samples = _read(legacy_stall_samples(devices))
        assert expected == {
            (kernel.name, kernel.device, offset): list(each)
            for kernel in samples.kernels
            for offset, each in kernel.counts.items()
        }


GOOD = stall_samples([("blur", 16, counts(Active=1))])
HEADING, ROW = GOOD.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no line has the columns"),
        (b"a,b,c\n1,2,3\n", "no line has the columns"),
        (b"Kernel, GlobalInstanceId, GpuTime[ns]\nblur, 1, 5\n", "line 1 begins other metrics"),
        (GOOD.encode("utf-16"), "UTF-16"),
        (GOOD.encode() + b"\0", "a byte is 0"),
        ((HEADING + ROW[:-30]).encode(), "line 2 is not a kernel's name with an offset and 9 counts"),
        ((HEADING + ROW.replace("1,", "one,")).encode(), "line 2 is not"),
        ((HEADING + ROW.replace(" 1,", "-1,")).encode(), "line 2 is not"),
        ((HEADING + ROW.replace(" 1,", "1_0,")).encode(), "line 2 is not"),
        ((HEADING + ROW.replace(" 1,", f"{1 << 64},")).encode(), "line 2 has a number of more than 64 bits"),
        ((HEADING + ROW.replace(" 1,", f" {'9' * 10_000},")).encode(), "line 2 is not"),
        ((HEADING + ROW.rstrip("\n") + ", 5\n").encode(), "line 2 has a kernel's name whose quotes do not end"),
        ((HEADING + ROW + HEADING.replace("Sync", "Sink")).encode(), "line 3 has other columns"),
        (HEADING.replace("Sync", "Send").encode(), "line 1 is a heading with the same column twice"),
        (HEADING.replace("Sync", "Sync[Events]," * 80).encode(), "line 1 is a heading with"),
    ],
)
def test_what_is_no_file_of_samples(content: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_unitrace(content)


def test_an_error_quotes_little_of_a_line() -> None:
    with pytest.raises(FormatError) as error:
        read_unitrace((HEADING + "x" * 1_000_000 + "\n").encode())
    assert len(str(error.value)) < 300


SIZE = 10 << 20


@pytest.mark.parametrize(
    "content",
    [
        lambda: HEADING + '"' + "a" * SIZE + '", 10' + ", 1" * 9 + "\n",
        lambda: HEADING + "," * SIZE,
        lambda: HEADING + " " * SIZE,
        lambda: HEADING * (SIZE // len(HEADING)),
        lambda: HEADING + "".join(f"k{number}, 10{', 1' * 9}\n" for number in range(SIZE // 40)),
        lambda: HEADING + "".join(f"k, {number:x}{', 1' * 9}\n" for number in range(SIZE // 36)),
        lambda: "Kernel, IP, a\n" + "k,1,1\n" * (SIZE // 6),
        lambda: "Kernel, IP, a\n" + "=== Device #1 Metrics ===\nKernel, IP, a\n" * (SIZE // 40),
        lambda: HEADING + "k, " + "1" * SIZE + "\n",
        lambda: "\n" * SIZE,
        lambda: "Kernel," * (SIZE // 7),
        lambda: HEADING + f"k,{' ' * 1_000_000}x\n" * 10,
    ],
)
def test_hostile_files_of_10_mb(content: Callable[[], str]) -> None:
    data = content().encode()
    with address_space(300 << 20), processor_time(), contextlib.suppress(FormatError):
        read_unitrace(data)
