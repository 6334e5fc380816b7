"""Source pages of Nsight Compute: real ones of an H100, against their own sums by line, and files that are none."""

from __future__ import annotations

import contextlib
import csv
import io
import random
from collections import Counter

import pytest

from kernlens.errors import FormatError, KernlensError
from kernlens.formats.samples.nsight_compute import MEASURES, is_source_page, read_source_page
from kernlens.model.samples import SampledKernel, Samples
from tests.nvidia_files import profiled
from tests.unit.verbs.source_page import instruction, page


def _named(samples: Samples, kernel: SampledKernel) -> dict[int, dict[str, int]]:
    """Return what is counted at each offset, without zeros."""
    names = [*(reason.name for reason in samples.reasons), *samples.measures]
    none = (0,) * len(names)
    return {
        offset: {
            name: count
            for name, count in zip(
                names,
                (*kernel.counts.get(offset, none[: len(samples.reasons)]), *kernel.measured.get(offset, none)),
                strict=False,
            )
            if count
        }
        for offset in kernel.texts
    }


@pytest.mark.parametrize("name", ["sass.csv", "both.csv", "triton_sass.csv", "triton_both.csv"])
def test_each_cell_of_a_real_page(name: str) -> None:
    content = profiled(name)
    assert is_source_page(content)
    samples = read_source_page(content)
    (kernel,) = samples.kernels
    assert kernel.name == ("matmul" if "triton" in name else "mixed")
    expected, heading, executed = {}, [""], 0
    for cells in csv.reader(io.StringIO(content.decode())):
        if cells and cells[0] in ("Address", "Line No"):
            heading = cells
        at = heading.index("Address") if "Address" in heading else -1
        if at < 0 or len(cells) <= at or not cells[at].startswith("0x"):
            continue
        row = dict(reversed(list(zip(heading, cells, strict=True))))
        numbers = {
            title: int(cell)
            for title, cell in row.items()
            if (title in MEASURES or (title.startswith("stall_") and not title.endswith("(Not Issued)"))) and int(cell)
        }
        rest = int(row["# Samples"]) - sum(count for title, count in numbers.items() if title.startswith("stall_"))
        if rest > 0:
            numbers["without a reason"] = rest
        expected[int(cells[at], 16) - kernel.address] = numbers
        executed += numbers.get("Instructions Executed", 0)
    assert _named(samples, kernel) == expected
    assert len(expected) == {"sass.csv": 304, "both.csv": 304}.get(name, len(kernel.texts))
    assert executed > 100_000
    assert [reason.name for reason in samples.reasons if not reason.is_stall] == ["stall_selected"]


def test_by_instruction_and_by_line_is_the_same() -> None:
    both, sass = read_source_page(profiled("both.csv")), read_source_page(profiled("sass.csv"))
    assert both == sass
    assert (both.total, len(both.kernels[0].texts)) == (8465, 304)


def test_columns_that_differ_from_kernel_to_kernel() -> None:
    first = page("a", [instruction(0x400, "MOV R1, R2", stall_wait=3)])
    second = page("b", [instruction(0x900, "EXIT", stall_math=2, **{"Divergent Branches": 7})])
    samples = read_source_page((first + second).encode())
    assert [reason.name for reason in samples.reasons] == ["stall_wait", "stall_math"]
    assert samples.measures == ("Divergent Branches",)
    assert [(each.name, each.counts, each.measured) for each in samples.kernels] == [
        ("a", {0: (3, 0)}, {}),
        ("b", {0: (0, 2)}, {0: (7,)}),
    ]


def test_several_launches_of_a_kernel_are_apart() -> None:
    launch = page("a", [instruction(0x400, "MOV R1, R2", stall_wait=3)])
    samples = read_source_page((launch + launch.replace("0x400", "0x800")).encode())
    assert Counter(each.name for each in samples.kernels) == {"a": 2}
    assert samples.total == 6


def test_a_page_of_a_launch_too_short_for_a_sample_has_its_counts() -> None:
    # Nsight Compute leaves out the column of samples then, and those of all reasons.
    rows = [instruction(0x400 + 16 * number, "MOV R1, R2", **{"Instructions Executed": number}) for number in (0, 7)]
    samples = read_source_page(page("a", rows).replace("# Samples", "Warp Stall Sampling (All Samples)").encode())
    assert (samples.total, samples.reasons, samples.measures) == (0, (), ("Instructions Executed",))
    assert [(each.counts, each.measured) for each in samples.kernels] == [({}, {0x70: (7,)})]


GOOD = page("k", [instruction(0x10, "MOV R1, R2", stall_wait=3)])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace('"3"', '"x"'), "line 3 has no number where a count stands"),
        (GOOD.replace('"3"', f'"{1 << 64}"'), "line 3 has a number of more than 64 bits"),
        (GOOD.replace('"3"', '"' + "9" * 5000 + '"'), "line 3 has no number"),
        (GOOD.replace("0x10", "16"), "line 3 has no address: '16'"),
        (GOOD.replace("# Samples", "Samples"), "line 2 is a heading without Address, Source and # Samples"),
        (GOOD.replace('"0x10",', ""), "line 3 has 3 cells, and its heading 4"),
        (GOOD.rsplit("\n", 2)[0] + "\n", "no row is an instruction"),
        (GOOD + GOOD.splitlines()[2].replace('"3"', '"4"'), "line 4 has other samples of the instruction at 0x10"),
        (GOOD.replace('"k",', '"' + "k" * 200_000 + '",'), "field larger than field limit"),
    ],
)
def test_what_is_no_source_page(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_source_page(text.encode())


def test_damaged_pages_raise_nothing_else() -> None:
    rng, content = random.Random(5), profiled("both.csv")[:6000]
    for _ in range(300):
        data = bytearray(content)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(3)] = bytes(rng.choices(b'",\n0x-\xff\0', k=rng.randrange(3)))
        with contextlib.suppress(KernlensError):
            read_source_page(bytes(data))
