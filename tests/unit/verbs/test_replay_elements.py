"""Elements of memory, how contents differ, and what times tell."""

from __future__ import annotations

import random
import struct
from statistics import median

import pytest

from kernlens.runtime.opencl.pointer_moves import PointerMoves
from kernlens.verbs.replay.elements import WORDS, Element, Tolerance, difference, element_of, signature_of
from kernlens.verbs.replay.timing import ratio_of, times_of

EXACT = Tolerance()
FLOAT = Element("float", "f")


@pytest.mark.parametrize(
    ("name", "element"),
    [
        ("float*", FLOAT),
        ("__global const float4 *restrict", FLOAT),
        ("float3*", Element("float", "f", is_padded=True)),
        ("unsigned int*", Element("uint", "I")),
        ("ulong2*", Element("ulong", "Q")),
        ("struct pair*", None),
        ("image2d_t", None),
    ],
)
def test_elements_of_types(name: str, element: Element | None) -> None:
    assert element_of(name) == element


def floats(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def test_count_place_and_distances() -> None:
    old = floats(*[1.0] * 40_000)
    new = floats(*[1.0] * 30_000, 1 + 2**-23, 1 + 2**-20, *[1.0] * 9_998)
    differing = difference(old, new, FLOAT, EXACT)
    assert differing is not None
    assert (differing.count, differing.first, differing.ulp) == (2, 30_000, 8)
    assert differing.relative == pytest.approx(2**-20, rel=1e-5)
    assert difference(old, new, FLOAT, Tolerance(ulp=8)) is None
    within = difference(old, new, FLOAT, Tolerance(ulp=7))
    assert within is not None
    assert (within.count, within.first) == (1, 30_001)
    assert difference(old, new, FLOAT, Tolerance(relative=1e-6)) is None


def test_numbers_across_zero_and_what_is_none() -> None:
    nan, other = struct.pack("<I", 0x7FC00000), struct.pack("<I", 0xFFC00001)
    assert difference(nan, other, FLOAT, EXACT) is None
    differing = difference(floats(0.0), floats(-0.0), FLOAT, EXACT)
    assert differing is not None
    assert (differing.ulp, differing.relative) == (0, 0.0)
    smallest = difference(struct.pack("<I", 1), struct.pack("<I", 0x80000001), FLOAT, EXACT)
    assert smallest is not None
    assert smallest.ulp == 2
    for old, new in ((nan, floats(1.0)), (floats(1.0), nan)):
        differing = difference(old, new, FLOAT, Tolerance(ulp=1 << 29, relative=0.9))
        assert differing is not None
        assert (differing.count, differing.ulp, differing.relative) == (1, None, None)
    infinite = difference(floats(float("inf")), floats(1.0), FLOAT, Tolerance(relative=0.9))
    assert infinite is not None
    assert infinite.relative is None


def test_a_number_against_none_is_never_within_a_distance() -> None:
    """The largest distance of the others would hide it: near numbers beside it, before and behind, whatever the payload."""
    quiet, signalling = struct.pack("<I", 0x7FC00000), struct.pack("<I", 0x7F800001)
    near = struct.pack("<I", 0x3F800001)
    for none in (quiet, signalling):
        for old, new in ((floats(1.0, 1.0) + none, near + floats(1.0, 2.0)), (none + floats(1.0), floats(2.0) + near)):
            differing = difference(old, new, FLOAT, EXACT)
            assert differing is not None
            assert (differing.count, differing.ulp, differing.relative) == (2, None, None)
            behind = difference(old, new, FLOAT, Tolerance(ulp=1 << 30, relative=1.0))
            assert behind is not None
            assert behind.count == 1
    assert difference(quiet, signalling, FLOAT, EXACT) is None, "OpenCL C states no payload"


def test_words_and_bytes() -> None:
    differing = difference(bytes(8), bytes(4) + b"\x10\0\0\x80", WORDS, EXACT)
    assert differing is not None
    assert (differing.first, differing.recorded, differing.result, differing.ulp) == (
        1,
        "0x00000000",
        "0x80000010",
        None,
    )
    odd = difference(bytes(7), bytes(6) + b"\1", WORDS, EXACT)
    assert odd is not None
    assert (odd.first, odd.result) == (6, "1")


def test_padding_is_passed_over() -> None:
    element = Element("float", "f", is_padded=True)
    assert difference(floats(1, 2, 3, 4), floats(1, 2, 3, 5), element, EXACT) is None
    assert difference(floats(1, 2, 3, 4), floats(1, 2, 4, 5), element, EXACT) is not None


def test_parameters_of_a_source() -> None:
    text = (
        "/* f(int x) { */ void g(int); kernel void f(global float *a, // f(\n  const uint n, local int4* t) { g(n); }"
    )
    assert signature_of(text, "f") == [("global float *", "a"), ("const uint", "n"), ("local int4*", "t")]
    assert signature_of(text, "h") == []
    assert signature_of("f(" * 100_000, "f") == []


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    """Of pairs whose true ratio is 1.25 the interval holds it in 99 of 100 experiments or more, and rarely says that equal
    builds differ."""
    source = random.Random(5)
    held = told = faster = 0
    for _ in range(2000):
        fast = [round(1e6 * source.lognormvariate(0, 0.1)) for _ in range(20)]
        slow = [round(1.25e6 * source.lognormvariate(0, 0.1)) for _ in range(20)]
        ratio = ratio_of(slow, fast)
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.high is not None
        held += ratio.low <= 1.25 <= ratio.high
        again = ratio_of(fast, [round(1e6 * source.lognormvariate(0, 0.1)) for _ in range(20)])
        assert again is not None
        told += again.is_different
        faster += ratio.is_different
    assert faster >= 0.97 * 2000
    assert held >= 0.985 * 2000
    assert told <= 0.012 * 2000


def test_few_runs() -> None:
    assert times_of([None, None]) is None
    times = times_of([3, 1, 2])
    assert times is not None
    assert (times.runs, times.median, times.lower, times.upper) == (3, 2, 1.5, 2.5)
    few = ratio_of([2] * 7, [1] * 7)
    assert few is not None
    assert (few.median, few.low, few.is_different) == (2, None, False)
    eight = ratio_of([2] * 8, [1] * 8)
    assert eight is not None
    assert (eight.low, eight.high) == (2, 2)
    assert ratio_of([None], [None]) is None
    values = [source * 100 for source in range(1, 22)]
    twenty = ratio_of(values[:20], [100] * 20)
    assert twenty is not None
    # The 4th and the 17th of 20 values: the classical interval of 99.74%.
    assert (twenty.low, twenty.high, twenty.median) == (4, 17, median(range(1, 21)))


def test_pointers_move_and_come_back() -> None:
    moves = PointerMoves([(0x1000, 0x100, 0x90000), (0x1100, 0x10, 0x5000)])
    words = [0x1000, 0x10FF, 0x1100, 0x1110, 0x1111, 0xFFF, 0, (1 << 64) - 1]
    content = bytearray(struct.pack("<8Q3x", *words))
    moves.apply(content)
    assert struct.unpack("<8Q3x", content) == (0x90000, 0x900FF, 0x5000, 0x5010, 0x1111, 0xFFF, 0, (1 << 64) - 1)
    moves.back().apply(content)
    assert struct.unpack("<8Q3x", content) == tuple(words)
    PointerMoves([]).apply(content)
