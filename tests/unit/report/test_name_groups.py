"""The names of a list of kernels: groups, what they share said once, and nothing lost. The sets of names are real:
``FILE<tab>NAME`` of darktable, OpenCV, a physics library, a tensor library and dpnp (SYCL)."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernlens.report.explore.name_groups import OTHERS, KernelNames, Listed, kernel_names, shared
from tests.limits import processor_time

SETS = Path(__file__).parent / "name_sets"


def names_of(name: str) -> list[Listed]:
    lines = (SETS / f"{name}.txt").read_text().splitlines()
    return [Listed(kernel, file) for file, kernel in (line.split("\t") for line in lines)]


def heads(kernels: list[Listed]) -> dict[str, list[str]]:
    """Return the rows below each head, as a reader sees both."""
    names = kernel_names(kernels)
    seen: dict[str, list[str]] = {}
    for row, number, beside in zip(names.rows, names.group_of, names.beside, strict=True):
        group = names.groups[number]
        head = " ".join(filter(None, (group.build, group.title, group.words)))
        seen.setdefault(head, []).append(f"{row} {beside}".strip())
    return seen


def in_file(file: str, *names: str) -> list[Listed]:
    return [Listed(name, file) for name in names]


#: The design's table.
@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        (
            in_file("sharpen.cl", "sharpen_hblur", "sharpen_vblur", "sharpen_mix"),
            {"sharpen.cl": ["hblur", "vblur", "mix"]},
        ),
        (
            in_file(
                "satClipHullContacts.cl",
                *("clipHullHullKernel", "clipFacesAndFindContactsKernel", "newContactReductionKernel"),
            ),
            {"satClipHullContacts.cl …Kernel": ["clipHullHull", "clipFacesAndFindContacts", "newContactReduction"]},
        ),
        (
            in_file(
                "satConcave.cl",
                *("findConcaveSeparatingAxisEdgeEdgeKernel", "findConcaveSeparatingAxisVertexFaceKernel"),
            ),
            {"satConcave.cl findConcaveSeparatingAxis…Kernel": ["EdgeEdge", "VertexFace"]},
        ),
        (
            in_file(
                "lib.so",
                "at::native::xpu::ReduceKernel<4, ReduceOp<float, SumFunctor<float>, 4>>",
                "at::native::xpu::ReduceKernel<2, ReduceOp<double, MaxFunctor<double>, 2>>",
            ),
            {
                "ReduceKernel<…> at::native::xpu": [
                    "4, ReduceOp<float, SumFunctor<float>, 4>",
                    "2, ReduceOp<double, MaxFunctor<double>, 2>",
                ]
            },
        ),
        (in_file("one.cl", "alone"), {"one.cl": ["alone"]}),
        (
            [Listed("first", "a.cl"), Listed("second", "b.cl"), Listed("third", "c.cl")],
            {"": ["first", "second", "third"]},
        ),
    ],
)
def test_the_table_of_the_design(kernels: list[Listed], expected: dict[str, list[str]]) -> None:
    assert heads(kernels) == expected


def test_real_names_are_grouped_by_file_or_by_words() -> None:
    darktable = heads(names_of("darktable"))
    assert darktable["sharpen.cl"] == ["hblur", "vblur", "mix"]
    assert darktable["atrous.cl eaw_…"] == ["decompose", "synthesize"]
    assert darktable["files with one kernel each"][:2] == ["basicadj", "convolve"]
    physics = heads(names_of("bullet"))
    assert physics["FillKernels.cl Fill…Kernel"] == ["Int", "Float", "UnsignedInt", "Int2", "Int4"]
    # 135 files with hardly more than a kernel each.
    tensors = heads(names_of("ggml"))
    assert tensors["kernel_mul_mv_…"][:3] == ["iq4_nl_f32", "iq4_nl_f32_flat", "mxfp4_f32"]
    assert "conv_2d conv2d_f16_f32.cl" in tensors["kernel_…"]
    assert heads(names_of("opencv"))["intelblas_gemm_buffer_…"] == ["NN_sp", "NN", "NT", "TN", "TT"]
    sycl = heads(names_of("dpnp"))
    assert sycl["KaiserFunctor<…> dpnp::kernels::kaiser"] == ["float", "double"]
    assert sycl["reduction_over_group_with_atomics_init_krn<… > dpnp::tensor::kernels"][0] == (
        "unsigned long, bool, plus<unsigned long>"
    )
    assert any(head.startswith("RoundedRangeKernel<") for head in sycl)


def without_namespaces(row: str, shown: str) -> str:
    """Return the row without those namespaces that what is shown lacks, word by word."""
    parts = re.split(r"((?:[A-Za-z_]\w*::)+)", row)
    text = ""
    for part in parts:
        text += part if not part.endswith("::") or shown.startswith(text + part) else ""
    return text


def assert_nothing_is_lost(kernels: list[Listed], names: KernelNames) -> None:
    """Rows with their heads give back the whole names, and no two rows of a group look alike."""
    rows = []
    for kernel, number, shown, beside in zip(kernels, names.group_of, names.rows, names.beside, strict=True):
        group = names.groups[number]
        row = group.row(kernel.name)
        assert len(shown) <= len(row)
        assert shown == row or ("<" in kernel.name and shown == without_namespaces(row, shown))
        assert group.before + row + group.after == kernel.name
        assert row or not kernel.name
        rows.append((number, shown, beside))
    assert [row for row, count in Counter(rows).items() if count > 1] == []
    assert set(names.group_of) == set(range(len(names.groups)))
    for number, group in enumerate(names.groups):
        own = [kernel.name for kernel, each in zip(kernels, names.group_of, strict=True) if each == number]
        assert all(name.startswith(group.before) and name.endswith(group.after) for name in own)
        assert (group.before, group.after) == ("", "") or len(own) > 1


@pytest.mark.parametrize("name", ["darktable", "bullet", "ggml", "opencv", "dpnp"])
def test_no_real_name_is_lost(name: str) -> None:
    kernels = names_of(name)
    assert_nothing_is_lost(kernels, kernel_names(kernels))
    builds = [kernel._replace(device=device) for kernel in kernels for device in ("dg2", "bmg")]
    names = kernel_names(builds)
    assert_nothing_is_lost(builds, names)
    assert {group.build for group in names.groups} == {"dg2", "bmg"}


WORDS = st.sampled_from(["blur", "_", "Kernel", "::", "<", ">", ", ", "q4", "K", "at", "f32", " ", "é", "x"])
NAMES = st.lists(WORDS, max_size=9).map("".join)
KERNELS = st.lists(
    st.builds(
        Listed,
        NAMES,
        st.sampled_from(["a.cl", "dir/a.cl", "b.cl", "", "/"]),
        st.sampled_from(["dg2", "bmg"]),
        st.just("newest"),
        st.sampled_from(["", "-D A=1", "-D A=2 -cl-fast"]),
    ),
    max_size=40,
)


@settings(max_examples=60, deadline=None)
@given(KERNELS)
def test_no_name_is_lost(kernels: list[Listed]) -> None:
    assert_nothing_is_lost(kernels, kernel_names(kernels))


@settings(max_examples=40, deadline=None)
@given(st.lists(NAMES, min_size=2, max_size=6))
def test_what_is_shared_is_of_all_names(names: list[str]) -> None:
    before, after = shared(names)
    for name in names:
        assert name.startswith(before)
        assert name.endswith(after)
        assert len(before) + len(after) < max(1, len(name))


def test_types_in_templates_are_named_shortly_where_all_mean_the_same() -> None:
    names = [
        "krn<a::half, b::Indexer<a::b::Flat>>",
        "krn<float, c::Indexer<a::b::Flat>>",
        "krn<a::half, Flat2, a::operator+>",
    ]
    rows = kernel_names(in_file("x.so", *(f"lib::{name}" for name in names))).rows
    assert rows == ["half, b::Indexer<Flat>", "float, c::Indexer<Flat>", "half, Flat2, a::operator+"]
    long = max((row for row in kernel_names(names_of("dpnp")).rows), key=len)
    assert len(long) < 330, "528 with all namespaces"


def test_builds_are_told_by_what_differs() -> None:
    blur = Listed("blur", "blur.cl", "dg2", "newest", "-cl-fast")
    assert kernel_names([blur]).groups[0].build == ""
    by_device = kernel_names([blur, blur._replace(device="bmg")])
    assert [group.build for group in by_device.groups] == ["dg2", "bmg"]
    both = kernel_names([blur, blur._replace(device="bmg", toolchain="system")])
    assert [group.build for group in both.groups] == ["dg2 · newest", "bmg · system"]
    # A sweep of options: all have the same files.
    sweep = kernel_names([blur, blur._replace(options="")])
    assert [group.build for group in sweep.groups] == ["-cl-fast", "no options"]
    # An application's programs, each with definitions of its own: they are no builds of blur another.
    programs = kernel_names([blur, Listed("mix", "mix.cl", "dg2", "newest", "-D T=int")])
    assert [group.build for group in programs.groups] == [""]


def test_the_same_name_twice_is_told_by_file_options_or_number() -> None:
    def beside(*kernels: Listed) -> list[str]:
        return kernel_names([*kernels, *in_file("c.cl", "warp"), *in_file("d.cl", "bias")]).beside[: len(kernels)]

    assert beside(Listed("blur", "x/a.cl"), Listed("blur", "y/a.cl")) == ["x/a.cl", "y/a.cl"]
    assert beside(
        Listed("blur", "a.cl", options="-D T=int -cl-fast"), Listed("blur", "a.cl", options="-D T=float -cl-fast")
    ) == ["-D T=int", "-D T=float"]
    assert beside(Listed("blur", "a.cl"), Listed("blur", "a.cl")) == ["#1", "#2"]


def test_many_long_names_cost_little() -> None:
    """Names come from files: neither their length nor their number may stop the page."""
    deep = in_file("a.cl", *("a_" * (depth + 1) for depth in range(3000)))
    long = in_file("a.cl", *(f"{'word_' * 20_000}{number}" for number in range(20)))
    with processor_time(5):
        grouped = kernel_names(deep), kernel_names(long)
    assert_nothing_is_lost(deep, grouped[0])
    assert_nothing_is_lost(long, grouped[1])
    assert [group.title for group in grouped[1].groups] != [OTHERS]
