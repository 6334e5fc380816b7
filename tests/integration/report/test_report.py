"""``kernlens report`` of real compiles: what is shown, what is left out, and how large it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kernlens.pipeline.compile_stages import Pipeline
from kernlens.pipeline.igc import snapshots
from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.stages import record
from tests.explore_reader import KernelChunk, Page
from tests.integration.stages.stage_fixtures import SMALL, small
from tests.integration.toolchain.toolchain_fixtures import each, newest, system
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["each", "kernlens", "newest", "small", "system"]

VIEWER = "/* the viewer */"
LINES = [line.strip() for line in SMALL.splitlines() if len(line.strip()) > 8]


@pytest.fixture(autouse=True)
def viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.report.explore.single_file.viewer_script", lambda **_: VIEWER)


def report(kernlens: Kernlens, path: Path, *words: str) -> Page:
    output = path.with_suffix(".html")
    done = kernlens("report", path, "-o", output, *words)
    assert done.status == 0, done.err
    return Page(output.read_text("utf-8"))


def recorded(
    source: Path, toolchain: Toolchain, options: str = "-gline-tables-only", *, all_passes: bool = False
) -> Path:
    path = source.with_suffix(".klens")
    record([Pipeline(snapshots(source, "dg2", options, toolchain, all_passes))], path)
    return path


@pytest.mark.parametrize("options", ["-gline-tables-only", "-g"])
def test_no_source_is_left_in_a_redacted_report(each: Toolchain, kernlens: Kernlens, small: Path, options: str) -> None:
    """In the lines of messages; there are no stages."""
    small.write_text(SMALL + "int broken_warning(int used_name) { int unused_name_here; }\n")
    path = recorded(small, each, options)
    page, redacted = report(kernlens, path), report(kernlens, path, "--redact", "source")
    whole = json.dumps([page.index, *map(page.chunk, page.index["chunks"])])
    left = json.dumps([redacted.index, *map(redacted.chunk, redacted.index["chunks"])])
    lines = [*LINES, "int broken_warning(int used_name) { int unused_name_here; }"]
    assert sum(json.dumps(line)[1:-1] in whole for line in lines) == len(lines)
    for line in lines:
        assert json.dumps(line)[1:-1] not in left
        assert re.sub(r"\s+", "", line) not in re.sub(r"\s+", "", left)
    assert set(redacted.index["programs"][0]["kernels"]["name"]) == {"scale"}
    assert redacted.chunk(redacted.index["programs"][0]["kernels"]["chunk"][0])["stages"] == []


def test_stages_that_were_not_kept_are_compiled_again(kernlens: Kernlens, small: Path) -> None:
    path = small.with_suffix(".klens")
    assert kernlens("compile", small, "--device", "dg2", "-o", path).status == 0
    without = report(kernlens, path)
    (entry,) = without.index["programs"]
    assert "kernlens stages" in entry["no_stages"]
    assert KernelChunk(without.chunk(entry["kernels"]["chunk"][0])).stages == {}
    (entry,) = report(kernlens, path, "--stages").index["programs"]
    assert [stage["name"] for stage in entry["stages"]][-1] == "visa"
    page = Page(path.with_suffix(".html").read_text("utf-8"))
    chunk = KernelChunk(page.chunk(entry["kernels"]["chunk"][0]))
    assert chunk.document["files"][0].endswith("scale.cl")
    placed = {place.path for place in chunk.places if place}
    of_stages = {place.path for number in chunk.stages["llvm-codegen"].places if (place := chunk.place(number))}
    assert placed == of_stages, "one file, whatever its path was while it was compiled"
