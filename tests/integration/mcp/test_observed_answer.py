"""The tool's answer on what a kernel does on data: small, and what moves most above its ideal first."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from mcp.client.client import Client

from tests.documents import faults
from tests.integration.annotate.test_observed import TRANSPOSE
from tests.integration.cli.test_cli import kernlens
from tests.integration.mcp.test_mcp import answer, with_client
from tests.tree import ROOT

pytestmark = [
    pytest.mark.skipif(not Path("/usr/lib/oclgrind/liboclgrind-rt.so").exists(), reason="no Oclgrind 21.10"),
    pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs"),
]


def test_the_line_that_moves_most_above_its_ideal_comes_first(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "transpose.cl", tmp_path)
    words = ("observe", "transpose.cl", "--kernel", "transpose", "--device", "dg2", *TRANSPOSE)
    assert kernlens(*words, "-o", "seen.klens", cwd=tmp_path).returncode == 0

    async def steps(client: Client) -> None:
        asked = {
            "path": str(tmp_path / "seen.klens"),
            "kernel": "transpose",
            "top": 2,
            "sort": "excess",
            "full": True,
            "limit": 20_000,
        }
        result = (await answer(client, "annotate", **asked))["answer"]
        assert faults("annotate", result) == []
        (kernel,) = result["programs"][0]["kernels"]
        first = kernel["observed_lines"][0]
        assert (first["line"], first["units"], first["least_units"]) == (8, 2304, 512)
        assert "16 units of 64 bytes a request where 2 would do" in first["accesses"][0]
        assert kernel["observed"]["sentences"][0] == "observed: counted in an interpreter, on this data; not time"
        assert len(json.dumps(result)) < 4000

    with_client(steps, tmp_path)
