"""The pytest plugin with a real compiler and a simulated device."""

from __future__ import annotations

import pytest

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
def test_a_command_that_fails(kernlens_capture):
    kernlens_capture(["false"])

@pytest.mark.kernel_budget(max_scratch=0)
def test_a_command_that_builds_nothing(kernlens_capture):
    kernlens_capture(["true"])
"""


def test_marks(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    pytester.makepyfile(TESTS)
    (pytester.path / "application.py").write_text(WAITING)
    (pytester.path / "work.cl").write_text("kernel void work(global float *a) {\n  a[get_global_id(0)] *= 3;\n}\n")
    plugin = () if "kernlens" in INSTALLED else ("-p", "kernlens.pytest_plugin")
    result = pytester.runpytest_subprocess(*OTHERS, *plugin, "--strict-markers")
    result.assert_outcomes(passed=1, failed=3)
    result.stdout.fnmatch_lines(
        [
            "work  work on dg2 (12.55.8) by system",
            "  max-instructions: instructions *, at most 4 (kernel_budget)",
            "    work.cl:2 | a[[]get_global_id(0)[]] *= 3;",
            "false ended with status 1",
            "nothing was captured of true: *",
        ]
    )
