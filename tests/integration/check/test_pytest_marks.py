"""The pytest plugin with a real compiler and a simulated device."""

from __future__ import annotations

import pytest

from tests.integration.capture.test_capture_failed_builds import TOLERANT
from tests.integration.drivers.test_simulated_devices import WAITING
from tests.tree import ROOT
from tests.unit.package.test_pytest_plugin import INSTALLED, OTHERS

pytest_plugins = ["pytester"]

TESTS = """\
import pytest

@pytest.mark.kernel_budget(max_spill_bytes=0, min_simd=16)
@pytest.mark.kernel_budget(max_instructions=4, kernel="work")
def test_compiled(kernlens_compile):
    kernlens_compile("work.cl", "dg2")

@pytest.mark.kernel_budget(max_scratch=0, min_simd=8, kernel="f")
def test_captured(kernlens_capture):
    (program,) = kernlens_capture("application.py", simulate="dg2")
    assert list(program.entry_kernels) == ["f"]

@pytest.mark.kernel_budget(max_scratch=0)
def test_a_build_that_fails(kernlens_capture):
    kernlens_capture("tolerant.py", simulate="dg2")

@pytest.mark.kernel_budget(max_scratch=0, allow_failed_builds=True)
def test_a_build_that_may_fail(kernlens_capture):
    kernlens_capture("tolerant.py", simulate="dg2")

@pytest.mark.kernel_budget(max_scratch=0)
def test_a_command_that_fails(kernlens_capture):
    kernlens_capture(["false"])

@pytest.mark.kernel_budget(max_scratch=0)
def test_a_command_that_builds_nothing(kernlens_capture):
    kernlens_capture(["true"])
"""


def test_marks_fail_tests_whose_kernels_exceed_them(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    pytester.makepyfile(TESTS)
    (pytester.path / "application.py").write_text(WAITING)
    (pytester.path / "tolerant.py").write_text(TOLERANT)
    (pytester.path / "work.cl").write_text("kernel void work(global float *a) {\n  a[get_global_id(0)] *= 3;\n}\n")
    plugin = () if "kernlens" in INSTALLED else ("-p", "kernlens.pytest_plugin")
    result = pytester.runpytest_subprocess(*OTHERS, *plugin, "--strict-markers")
    result.assert_outcomes(passed=2, failed=4)
    result.stdout.fnmatch_lines(
        [
            "work  work on dg2 (12.55.8) by system",
            "  max-instructions: instructions *, at most 4 (kernel_budget)",
            "    work.cl:2 | a[[]get_global_id(0)[]] *= 3;",
            "2 of 3 builds failed: the first program-1 for dg2 *",
            "false ended with status 1",
            "nothing was captured of true: *",
        ]
    )
