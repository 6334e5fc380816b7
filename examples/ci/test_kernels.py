import pytest


@pytest.mark.kernel_budget(max_spill_bytes=0, min_simd=16)
@pytest.mark.kernel_budget(max_code_size=9000, kernel="ton?", device="dg2")
@pytest.mark.parametrize("device", ["dg2", "skl"])
def test_kernels(kernlens_compile, device):
    kernlens_compile(["examples/kernels/blur.cl", "examples/kernels/tone.cl"], device)


@pytest.mark.kernel_budget(max_scratch=0)
def test_what_the_application_builds(kernlens_capture):
    kernlens_capture("examples/opencl_source.py", simulate="dg2", lines=True)
