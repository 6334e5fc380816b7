"""SYCL kernels of our own, compiled at run time by the compiler of a package: what a capture has of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import kernlens
from kernlens.model.program import Program
from kernlens.model.stages import VECTOR_2
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.capture.capture_fixtures import Done
from tests.integration.capture.sycl_fixtures import ESIMD, KERNELS, SyclHost, sycl_host
from tests.whole import each_run

__all__ = ["sycl_host"]

KERNEL = "__sycl_kernel_add_explicitly"


@pytest.mark.parametrize("interface", ["level_zero", "opencl"])
def test_a_capture_has_the_kernels_of_sycl_source(sycl_host: SyclHost, tmp_path: Path, interface: str) -> None:
    done = sycl_host.captured(tmp_path, KERNELS, interface=interface, launched=("scale",))
    assert done.status == 0, done.err
    (build,) = done.builds
    assert build.ok
    assert build.spirv[:4] == b"\x03\x02\x23\x07"
    assert done.launches() == {"__sycl_kernel_scale": 1}


@pytest.mark.parametrize("device", each_run("bmg", others=["lnl", "ptl"]))
def test_sycl_starts_on_devices_of_its_newer_adapter(sycl_host: SyclHost, tmp_path: Path, device: str) -> None:
    """From Xe2 on that has its memory made resident, and makes no queue where this is refused."""
    done = sycl_host.captured(tmp_path, KERNELS, device=device, launched=("scale",))
    assert done.status == 0, done.err
    assert done.launches() == {"__sycl_kernel_scale": 1}


VECTOR_LLVM = tuple(stage.name for stage in VECTOR_2.stages if stage.text == ".ll")


@pytest.fixture(scope="session")
def with_stages(sycl_host: SyclHost, tmp_path_factory: pytest.TempPathFactory) -> Done:
    done = sycl_host.captured(tmp_path_factory.mktemp("esimd"), ESIMD, device="bmg", capture=("--stages",))
    assert done.status == 0, done.err
    return done


@pytest.mark.parametrize(("device", "toolchain"), [("dg2", SYSTEM), ("bmg", NEWEST)])
def test_stages_of_explicit_simd_kernels(with_stages: Done, tmp_path: Path, device: str, toolchain: str) -> None:
    """IGC's vector compiler has stages of its own, which stages shows as capture --stages does."""
    (loaded,) = kernlens.load(with_stages.recording)
    build = loaded.build
    (spirv,) = (each.content for each in build.snapshots if each.stage == "spirv")
    assert spirv == build.spirv
    module = tmp_path / "esimd.spv"
    module.write_bytes(spirv)
    offline = kernlens.stages(module, device, options=build.options or "", toolchain=toolchain)
    for snapshots, program in ((build.snapshots, build.binary), (offline.snapshots, offline.build.binary)):
        assert tuple(each.stage for each in snapshots if each.stage.startswith("llvm")) == VECTOR_LLVM
        assert all(f"@{KERNEL}(" in each.text for each in snapshots if each.stage in VECTOR_LLVM)
        visa, assembly, code = (
            next(each for each in snapshots if (each.stage, each.form, each.kernel) == (*kind, KERNEL))
            for kind in (("visa", "text"), ("gen-assembly", "text"), ("gen-assembly", "binary"))
        )
        assert f'.kernel "{KERNEL}"' in visa.text
        assert f"//.kernel {KERNEL}" in assembly.text
        assert code.content[:32] in program


def test_a_capture_has_explicit_simd_kernels(sycl_host: SyclHost, tmp_path: Path) -> None:
    done = sycl_host.captured(tmp_path, ESIMD, launched=("add_explicitly",))
    assert done.status == 0, done.err
    assert done.launches() == {"__sycl_kernel_add_explicitly": 1}


#: A text that stands on one line of kernels.cpp alone, and a part of the name of the kernel that this line is of.
ONLY_IN = {
    "* 2.0f + 1.0f": "_ZTSN5names5NamedE",
    "sycl::sin(values[index])": "_ZTSN5names7FunctorIfLi3EEE",
    "sycl::dot(": "_ZTSZ6submitRN4sycl3_V15queueEPfPNS0_3vecIfLi3EEEEUlvE_",
    "sycl::normalize(": "_ZTSZ6submitRN4sycl3_V15queueEPfPNS0_3vecIfLi3EEEE10InFunction",
    "sycl::sqrt(values[index])": "__sycl_kernel_scale",
}


@pytest.fixture(scope="session")
def with_lines(sycl_host: SyclHost, tmp_path_factory: pytest.TempPathFactory) -> Done:
    """A capture of kernels.cpp with debug information: its SPIR-V has lines, the driver's build of it is not optimized."""
    done = sycl_host.captured(tmp_path_factory.mktemp("sycl"), KERNELS, "-g")
    assert done.status == 0, done.err
    return done


@pytest.fixture(scope="session")
def spirv(with_lines: Done, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The SPIR-V of that capture."""
    (build,) = with_lines.builds
    path = tmp_path_factory.mktemp("spirv") / "kernels.spv"
    path.write_bytes(build.spirv)
    return path


def holds_its_lines(program: Program) -> None:
    """Each kernel has a line table, and it is that kernel's."""
    lines = KERNELS.read_text().split("\n")
    numbers = {text: number for number, line in enumerate(lines, 1) for text in ONLY_IN if text in line}
    with_line: dict[str, set[str]] = {text: set() for text in ONLY_IN}
    for name, kernel in program.entry_kernels.items():
        assert kernel.line_table is not None, kernel.line_table_reason
        rows = {(kernel.line_table.files[row.file].path, row.line) for row in kernel.line_table.rows}
        for text, number in numbers.items():
            if any(line == number and path.endswith("rtc_0.cpp") for path, line in rows):
                with_line[text].add(name)
    for text, name in ONLY_IN.items():
        # A kernel over a range that SYCL rounds up has the same lines.
        others = {other for other in with_line[text] if "RoundedRange" in other or "__pf_kernel_wrapper" in other}
        assert with_line[text] - others == {name}, text


def test_kernels_with_cxx_names_have_their_own_lines(with_lines: Done) -> None:
    (program,) = kernlens.load(with_lines.recording)
    holds_its_lines(program)


@pytest.mark.parametrize("device", ["dg2", "pvc", "bmg"])
def test_optimized_kernels_with_cxx_names_have_their_own_lines(spirv: Path, device: str) -> None:
    """Which relocation symbols lose their names differs between devices."""
    (program,) = kernlens.compile(spirv, [device], toolchain=NEWEST)
    holds_its_lines(program)
