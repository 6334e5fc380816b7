"""A sample of the real programs that are counted plain and captured: ``python -m tests.corpus.programs`` runs them all."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.corpus.programs import PROGRAMS, compare
from tests.integration.capture.capture_fixtures import POCL_DRIVER, counting_driver


@pytest.mark.parametrize("led", [True, False], ids=["led", "with drivers of its own"])
def test_clinfo_is_recorded_as_it_is_counted(led: bool, tmp_path: Path) -> None:
    """What is not led to the layer differs: so a program of which nothing is recorded would."""
    if not POCL_DRIVER or shutil.which("clinfo") is None:
        pytest.skip("needs pocl-opencl-icd and clinfo")
    driver, program = counting_driver(tmp_path, POCL_DRIVER), PROGRAMS["clinfo"]
    own = () if led else ("env", f"OCL_ICD_VENDORS={driver['OCL_ICD_VENDORS']}")
    is_equal, counted = compare(replace(program, words=(*own, *program.words)), driver)
    assert is_equal == led, str(counted)
    assert [each["build"] for each in counted.counted] == [1, 1, 1]
    assert counted.recorded["build"] == led
