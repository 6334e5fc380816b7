"""Kernels for GPUs of two vendors beside one another: each with its own figures, and nothing of Intel's said of others."""

from __future__ import annotations

import pytest

import kernlens
from kernlens.report.explore import explore_document
from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.toolchains import find_toolchains
from tests.browser.conftest import Open
from tests.browser.viewer import Viewer
from tests.tree import ROOT

pytestmark = pytest.mark.skipif(
    not any(map(amd_compiler, find_toolchains())),
    reason="no clang with lld and the ROCm device libraries (rocm-device-libs, lld-15)",
)


@pytest.fixture
def viewer(open_report: Open) -> Viewer:
    blur = ROOT / "examples/kernels/blur.cl"
    return open_report(explore_document(kernlens.compile(blur, ["dg2", "gfx1030"]), title="blur"))


def test_each_vendors_kernel_has_its_own_figures(viewer: Viewer) -> None:
    viewer.find("nav .k").nth(0).click()
    intel = viewer.text("header .facts")
    viewer.find("nav .k").nth(1).click()
    viewer.find(".operands-head", has_text="operands").wait_for()
    amd = viewer.text("header .facts")
    assert "SIMD32" in intel
    assert "GRFs live" in intel
    assert "VGPRs" not in intel
    assert "VGPRs 20" in amd.replace("\n", " ")
    assert "wave size 32" in amd.replace("\n", " ")
    assert "SIMD" not in amd
    assert "GRF" not in amd
    assert viewer.find(".tokens-head").count() == 0
    operands = {
        line.split()[0]: line.split()[1:]
        for line in viewer.texts(".gen .cm-line")
        if "s_endpgm" not in line and len(line.split()) > 1
    }
    assert operands["s_load_dword"][0].startswith("s")


def test_two_vendors_are_compared_by_lines(viewer: Viewer) -> None:
    viewer.find("button", has_text="Compare").first.click()
    viewer.find(".card").first.wait_for()
    cards = [text.replace("\n", " ") for text in viewer.texts(".card")]
    assert cards[0].startswith("instructions 180 → 121 ")
    assert cards[1].startswith("code size 2,080 → 704")
    assert cards[2].startswith("only dg2 ")
    assert "GRF count 128" in cards[2]
    assert cards[3].startswith("only gfx1030 VGPRs 20, SGPRs 11")
    assert len(cards) == 4
    shown = viewer.text(".view:visible")
    assert "These are two instruction sets" in shown
    assert "52 → 26" in shown
    assert viewer.find(".row .half:not(.none)", has_text="v_max_i32").count() > 0
