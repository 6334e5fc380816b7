"""Short answers of the tools that compile: folders of sources, limits, sets, revisions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from mcp.client.client import Client

from tests.integration.mcp.test_mcp import LOOP, answer, with_client
from tests.writers.repositories import Repository

pytestmark = pytest.mark.skipif(shutil.which("ocloc") is None, reason="no compiler for Intel's GPUs")


def test_short_answers_and_the_tools_that_compile(tmp_path: Path) -> None:
    """A folder of sources, one of which is broken; limits; sets; revisions; and plurals that are forgiven."""
    sources = tmp_path / "sources"
    repository = Repository(sources)
    spills = (
        "kernel void spills(global float *a, int n) {\n  float b[64];\n  for (int i = 0; i < 64; ++i) b[i] = a[i];\n"
    )
    spills += "  for (int k = 0; k < n; ++k) for (int i = 0; i < 64; ++i) b[i] = b[i] * b[(i + k) & 63];\n"
    spills += "  for (int i = 0; i < 64; ++i) a[i] = b[i];\n}\n"
    texts = {"loop.cl": LOOP, "spills.cl": spills}
    repository.commit("First", texts)
    repository.commit("Second", {"loop.cl": LOOP.replace("a[i];\n  }", "a[i];\n  }").replace("sum += ", "sum += 2 * ")})

    async def steps(client: Client) -> None:
        whole = (await answer(client, "inspect", path=".", device="dg2"))["answer"]
        assert [each["kernel"] for each in whole["kernels"]] == ["spills", "total"]
        verdict = await answer(
            client, "check", paths=["loop.cl", "spills.cl"], devices="dg2", limits={"max-instructions": 150}
        )
        assert (verdict["answer"]["ok"], verdict["answer"]["passed"]) == (False, 1)
        assert [each["kernel"] for each in verdict["answer"]["findings"]] == ["spills"]
        built = (await answer(client, "compile", path="loop.cl", device="dg2"))["answer"]
        assert built["kernels"][0]["kernel"] == "total"
        rows = (await answer(client, "sweep", path="loop.cl", device=["dg2", "skl"]))["answer"]["rows"]
        assert {each["device"] for each in rows} == {"dg2", "skl"}
        changed = (await answer(client, "diff", path=".", device="dg2", git="HEAD~1..HEAD"))["answer"]
        assert (changed["equal"], [each["name"] for each in changed["kernels"]]) == (False, ["total"])
        assert "left_out" not in changed
        where = (await answer(client, "annotate", path="loop.cl", device="dg2", line="4"))["answer"]
        load = next(each["offset"] for each in where["kernels"][0]["instructions"] if "send" in each["text"])
        (at,) = (await answer(client, "annotate", path="loop.cl", device="dg2", offsets=[load]))["answer"]["offsets"]
        assert at["memory"]["space"] == "global"
        assert "load" in at["memory"]["operation"]
        (sources / "broken.cl").write_text("broken")
        assert "broken.cl" in (await answer(client, "inspect", path=".", device="dg2"))["messages"]
        (failed,) = (await answer(client, "compile", path="broken.cl", device="dg2"))["answer"]["failed"]
        assert "unknown type name 'broken'" in failed["reason"]

    with_client(steps, sources)
