"""Launches of CLBlast's and clFFT's kernels that PoCL made, on Oclgrind: equal, or differing by what OpenCL C allows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.corpus.launches import PROGRAMS, on_another
from tests.integration.capture.capture_fixtures import MAIN, environment
from tests.integration.capture.test_oclgrind_and_rusticl import LIBRARY
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER, pocl
from tests.whole import before_release

pytestmark = pytest.mark.skipif(
    not (Path(LIBRARY).exists() and (ICD_FOLDER / "pocl.icd").exists() and shutil.which("clblast_test_xscal")),
    reason="Debian's oclgrind, pocl-opencl-icd clblast-tests, clblast-utils or clfft-client is not installed",
)
_SIZES = ("-n", "64", "-m", "64", "-k", "64", "-full_test", "0", "-runs", "1")
#: Programs, and how many kernels each launches: 23 of real sources.
KERNELS = {
    **{f"clblast_test_{name}": 2 for name in ("xscal", "xdot", "xcopy", "xswap", "xasum", "xnrm2", "xamax")},
    **{"clblast_test_xaxpy": 3, "clfft": 1, "clblast-copy_fast": 1, "clblast-transpose_fast": 1, "clblast-xgemv": 3},
}


@before_release
@pytest.mark.parametrize("name", KERNELS)
def test_real_kernels_are_equal_or_within_their_bounds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording, vendors = tmp_path / "x.klens", tmp_path / "vendors"
    vendors.mkdir()
    shutil.copy(ICD_FOLDER / "pocl.icd", vendors)
    (vendors / "oclgrind.icd").write_text(f"{LIBRARY}\n")
    words = PROGRAMS[name].words if name in PROGRAMS else (name, *_SIZES)
    capture = [*MAIN, "capture", "--launch", "*:first", "-o", str(recording), "--", *words]
    caches = environment(pocl(tmp_path / "cache"))
    done = subprocess.run(capture, env=caches, cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("OTHER_VENDORS", f"{vendors}/")
    answers = list(on_another(recording, "Oclgrind"))
    assert len(answers) == KERNELS[name], answers
    for answer in answers:
        within = ("within what one call may differ by", "may be the reason")
        assert answer.endswith(": equal") or any(each in answer for each in within), answer
