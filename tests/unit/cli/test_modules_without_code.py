"""Modules without kernels: what they have instead is said, and nothing that they have not. Misspelt built-in functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.formats.neo_elf import DEVICE_BINARY, SPIRV
from kernlens.model.opencl_built_ins import misspelt_built_in
from tests.unit.conftest import Kernlens
from tests.writers.patch_tokens import neo_elf, program
from tests.writers.programs import spirv


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("get_globl_id", "get_global_id"),
        ("native_expp", "native_exp"),
        ("sinf", "sin"),
        ("clmap", "clamp"),
        ("read_imagef2", "read_imagef"),
        ("native_exp", None),
        ("myfunc", None),
        ("scale_rows", None),
        ("x" * 3_000_000, None),
    ],
)
def test_a_misspelt_built_in_function(name: str, meant: str | None) -> None:
    assert misspelt_built_in(name) == meant


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        (
            "_Z12get_globl_idj",
            "if the built-in function get_global_id is meant, correct the name; otherwise add the module",
        ),
        ("native_expp", "if the built-in function native_exp is meant, correct the name; otherwise add the module"),
        ("native_exp", "native_exp is a built-in function of OpenCL C, but not for these types"),
        ("convolve_rows", "no module here defines it: add the one that does"),
    ],
)
def test_it_is_told_from_a_missing_module(name: str, advice: str, kernlens: Kernlens, tmp_path: Path) -> None:
    (tmp_path / "user.spv").write_bytes(spirv(imports=name))
    done = kernlens("link", tmp_path / "user.spv", "--build-options", "-library-compilation")
    assert done.status == 1
    assert advice in done.out


_MISSING = "the device or this version of OpenCL C lacks built-in functions: work_group_reduce_max"


@pytest.mark.parametrize(
    ("message", "options", "remedy"),
    [
        (
            "implicit declaration of function 'native_expp' is invalid in OpenCL",
            "",
            "native_expp is no built-in function; native_exp is one",
        ),
        (
            "implicit declaration of function 'work_group_reduce_max' is invalid in OpenCL",
            "-cl-std=CL1.2",
            f"{_MISSING}; try --build-options -cl-std=CL3.0",
        ),
        ("use of undeclared identifier 'work_group_reduce_max'", "-cl-std=CL3.0", _MISSING),
        (
            "Cannot compile a kernel in the SIMD mode specified by intel_reqd_sub_group_size(64)",
            "",
            "one such kernel keeps the whole program from compiling; skl has sub-groups of 8, 16, 32; compile it apart from the"
            " others (SYCL: -fsycl-device-code-split=per_kernel)",
        ),
        (
            "total scratch space exceeds HW supported limit for kernel f: 279488 bytes (max permitted PTSS 262144 bytes)",
            "",
            "the limit is for a hardware thread, and what it needs grows with the SIMD width: require smaller sub-groups"
            " (intel_reqd_sub_group_size), or try --build-options -cl-intel-256-GRF-per-thread",
        ),
    ],
)
def test_a_compile_names_the_remedy(
    message: str, options: str, remedy: str, kernlens: Kernlens, compiler: Path, tmp_path: Path
) -> None:
    compiler.write_text(compiler.read_text().replace("it is broken", message))
    (tmp_path / "broken.cl").write_text("broken\n")
    words = ("--device", "skl", "--build-options", options, "-o", tmp_path / "x.klens")
    done = kernlens("compile", tmp_path / "broken.cl", *words)
    assert f"kernlens: {remedy}\n" in done.err


def test_a_binary_without_code_whose_spirv_has_the_kernel(kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "empty.bin"
    path.write_bytes(neo_elf([(SPIRV, spirv(exports="f")), (DEVICE_BINARY, program([]))]))
    done = kernlens("annotate", path)
    assert done.status == 2
    assert (
        f"{path} has no machine code, but its SPIR-V holds work; build it: kernlens compile {path} --device D"
        in done.err
    )
    done = kernlens("link", path, "--driver", "22.43")
    assert (
        "empty.bin has no machine code, but its SPIR-V holds work: kernlens compile empty.bin --device D builds it"
        in done.out
    )


def test_a_binary_that_offers_nothing_offers_nothing(kernlens: Kernlens, tmp_path: Path) -> None:
    path = tmp_path / "empty.bin"
    path.write_bytes(neo_elf([(DEVICE_BINARY, program([]))]))
    done = kernlens("annotate", path)
    assert done.status == 2
    assert "lists the functions" not in done.err
    assert "contains no kernel, and offers no function or variable to other modules" in done.err
