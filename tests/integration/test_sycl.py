"""SYCL kernels of our own, compiled at run time by the compiler of a package: what a capture has of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.sycl_fixtures import ESIMD, KERNELS, SyclHost, sycl_host

__all__ = ["sycl_host"]


@pytest.mark.parametrize("interface", ["level_zero", "opencl"])
def test_a_capture_has_the_kernels_of_sycl_source(sycl_host: SyclHost, tmp_path: Path, interface: str) -> None:
    done = sycl_host.captured(tmp_path, KERNELS, interface=interface, launched=("scale",))
    assert done.status == 0, done.err
    (build,) = done.builds
    assert build.ok
    assert build.spirv[:4] == b"\x03\x02\x23\x07"
    assert done.launches() == {"__sycl_kernel_scale": 1}


def test_a_capture_has_explicit_simd_kernels(sycl_host: SyclHost, tmp_path: Path) -> None:
    done = sycl_host.captured(tmp_path, ESIMD, launched=("add_explicitly",))
    assert done.status == 0, done.err
    assert done.launches() == {"__sycl_kernel_add_explicitly": 1}
