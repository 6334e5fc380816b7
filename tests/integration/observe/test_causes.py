"""Causes told from counts: kernels with one fault each are found, at their line, and kernels that look alike are silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernlens.analysis.observed_causes import Cause, observed_causes
from kernlens.verbs.observe.observe import observe
from tests.integration.observe.test_hardware_counters import DATA, pytestmark  # noqa: F401
from tests.whole import each_run

SOURCE = DATA / "causes.cl"
TEXT = SOURCE.read_text().split("\n")
#: Of each fault the words that its line has, where more than one line accesses memory.
LINES = {
    "stride_of_a_row": "s +=",
    "stores_of_structures": "p[i",
    "scatter": "b[idx",
    "transposed_store": "b[column",
    "banks_of_a_tree": "sums[k]",
    "local_bins": "atomic_add(&",
    "divergent_halves": "for (int k",
    "one_lane_works": "for (int k",
    "uneven_rounds": "for (int k",
    "all_misaligned": "",
}


def kernels() -> Iterator[tuple[str, str | None]]:
    """Each kernel, and the kind of its fault."""
    for number, line in enumerate(TEXT):
        if match := re.match(r"kernel void (\w+)", line):
            expected = re.fullmatch(r"// expect: (.*)", TEXT[number - 1])
            yield match[1], expected[1] if expected else None


FAULTS = {name: kind for name, kind in kernels() if kind is not None}
ALIKE = [name for name, kind in kernels() if kind is None]


@pytest.fixture(scope="module")
def permutation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An array in which each number below 65,536 stands once."""
    path = tmp_path_factory.mktemp("arrays") / "idx.raw"
    path.write_bytes(b"".join((each * 40503 % 65536).to_bytes(4, "little") for each in range(65536)))
    return path


def causes(kernel: str, permutation: Path) -> tuple[Cause, ...]:
    observed = observe(
        SOURCE,
        kernel=kernel,
        size=[256],
        group=[64],
        arguments=["random:float:65536", "zeros:float:65536", str(permutation), "65536"],
        device="h100",
        seconds=60,
    )
    assert observed.groups_done == 4
    assert not observed.faults
    return observed_causes(observed, {observed.source: TEXT})


@pytest.mark.parametrize(
    "name", each_run("array_of_structures", "banks_32", "few_bins", "divergent_halves", others=FAULTS)
)
def test_a_fault_is_the_first_cause(name: str, permutation: Path) -> None:
    first = causes(name, permutation)[0]
    assert first.kind == FAULTS[name]
    assert first.place is not None
    assert LINES.get(name, "") in TEXT[first.place.line - 1]


@pytest.mark.parametrize("name", each_run("stencil", "padded_banks", "many_bins", "guard", others=ALIKE))
def test_look_alikes_are_silent(name: str, permutation: Path) -> None:
    assert causes(name, permutation) == ()


PARTED = {
    "one line": ("if (i % 2) b[i] = a[i] * 2;", 16.0),
    "a fourth": ("if (i % 4 == 1) b[i] = a[i] * 2;", 8.0),
    "two lines": ("if (i & 1)\n  b[i] = a[i] * 2;", 16.0),
}


@pytest.mark.parametrize(("body", "lanes"), PARTED.values(), ids=PARTED)
def test_lanes_that_part_are_idle_and_not_misaligned(body: str, lanes: float, tmp_path: Path) -> None:
    """Consecutive lanes access consecutive elements: those between are idle, which no padding helps."""
    source = tmp_path / "k.cl"
    source.write_text(
        f"kernel void k(global const float *a, global float *b)\n{{\n int i = get_global_id(0);\n {body}\n}}\n"
    )
    arguments = ["random:float:1024", "zeros:float:1024"]
    observed = observe(source, size=[1024], group=[256], arguments=arguments, device="h100")
    (cause,) = observed_causes(observed, {})
    assert cause.kind == "idle lanes"
    assert cause.sentence.startswith(f"{lanes:.1f} of 32 lanes are at work")


def test_what_begins_within_a_unit_is_misaligned_still(tmp_path: Path) -> None:
    source = tmp_path / "k.cl"
    source.write_text(
        "kernel void k(global const char *a, global char *b)\n{\n int i = get_global_id(0);\n b[i + 4] = a[i + 4];\n}\n"
    )
    observed = observe(
        source, size=[1024], group=[256], arguments=["zeros:char:1028", "zeros:char:1028"], device="h100"
    )
    assert {each.kind for each in observed_causes(observed, {})} == {"misaligned access"}


#: Structures of 32 bytes: each access moves eight times what it asks for, and wastes less than a tenth of all.
PARTICLES = """\
typedef struct { float x, y, z, w, vx, vy, vz, mass; } particle;
kernel void drift(global particle *p, global float *b)
{
    int i = get_global_id(0);
    p[i].x += b[0] * p[i].vx;
    p[i].y += b[0] * p[i].vy;
    p[i].z += b[0] * p[i].vz;
}
kernel void little(global const particle *p, global float *b)
{
    int i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < 400; k++)
        s += b[k * 256 + i];
    b[i] = s + p[i].x
        + p[i].y;
}
kernel void apart(global const particle *p, global float *b)
{
    int i = get_global_id(0);
    float s = 0;
    for (int k = 0; k < 60; k++)
        s += b[k * 256 + i];
    b[i] = s + p[i].x
        + b[65536 + i * 8];
}
"""


@pytest.mark.parametrize(("kernel", "lines"), {"drift": [5, 6, 7], "little": [], "apart": []}.items())
def test_accesses_that_waste_in_the_same_way_are_one_cause(kernel: str, lines: list[int], tmp_path: Path) -> None:
    """Those of one stride of a buffer; two buffers, or two strides, are two ways."""
    source = tmp_path / "particles.cl"
    source.write_text(PARTICLES)
    arguments = ["random:float:102400", "zeros:float:102400"]
    observed = observe(source, kernel=kernel, size=[256], group=[64], arguments=arguments, device="dg2")
    told = observed_causes(observed, {})
    assert [sorted(line for _, line in cause.lines) for cause in told] == ([lines] if lines else [])
    for cause in told:
        moved = [each for each in observed.accesses if each.space == "global"]
        units, least = (sum(getattr(each, name)[1] for each in moved) for name in ("units", "least"))
        assert cause.wasted == units - least
        assert cause.sentence.endswith("8 more accesses of this line and lines 6, 7 do the same")


def test_a_barrier_with_the_wrong_fence_is_a_race_and_not_needless(tmp_path: Path) -> None:
    source = tmp_path / "fence.cl"
    source.write_text(
        "kernel void shift(global int *a, global int *b) { int i = get_global_id(0); a[i] = i;\n"
        "barrier(CLK_LOCAL_MEM_FENCE);\nb[i] = a[i ^ 1]; }\n"
    )
    told = {}
    for fence in ("LOCAL", "GLOBAL"):
        source.write_text(source.read_text().replace("LOCAL", fence))
        observed = observe(source, kernel="shift", size=[64], group=[64], arguments=["zeros:int:64"] * 2, device="h100")
        told[fence] = [each.sentence for each in observed.faults]
        texts = {str(source): source.read_text().splitlines()}
        told_of = [each.kind for each in observed_causes(observed, texts)]
        assert "barrier over nothing" not in told_of
    (race,) = told["LOCAL"]
    assert "without atomics or a barrier with CLK_GLOBAL_MEM_FENCE between them" in race
    assert told["GLOBAL"] == []
