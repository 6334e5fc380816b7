"""Which build a snapshot comes from: the application's own, or a second one in a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernlens.toolchain.simulation import simulated_environment
from kernlens.toolchain.toolchains import of_root
from tests.integration.layers.opencl_layer_fixtures import (
    BUILDER,
    IGC,
    LAYER,
    STAGE_CHECKS,
    TEXT,
    TIME_LIMIT,
    Platform,
    led,
    passed,
    place,
    platform,
    work,
)
from tests.processes import ASLEEP, have_ended
from tests.whole import each_run

__all__ = ["place", "platform", "work"]

#: From its cache the driver answers without compiling.
FRESH: dict[str, Any] = {"NEO_CACHE_PERSISTENT": "0"}
#: A user's own dumps, of either compiler; none is made in these tests.
USERS_DUMPS = {
    "IGC_DumpToCustomDir": "/nonexistent/of-the-user",
    "CL_CONFIG_DUMP_FILE_NAME_PREFIX": "/nonexistent/of-the-user",
}


def without_builder(platform: Platform, place: Path) -> str:
    """The layer in a folder of its own: what comes then comes from the application's own build."""
    alone = place / "alone"
    alone.mkdir(exist_ok=True)
    shutil.copy2(place / LAYER, alone / LAYER)
    return f"{platform.inside(alone)}/{LAYER}"


@pytest.mark.parametrize("check", each_run(*STAGE_CHECKS[:2], others=STAGE_CHECKS))
@pytest.mark.parametrize("platform", each_run("dg2", "bmg", others=IGC), indirect=True)
def test_own_build_keeps_every_stage_of_igc(platform: Platform, check: str, place: Path) -> None:
    """One after the other in one process."""
    layer = without_builder(platform, place)
    before = set(place.iterdir())
    module = f"{platform.inside(place)}/module.spv"
    passed(platform.run(place, "checks", module, check, layer=layer, **FRESH))
    assert set(place.iterdir()) == before, "the compiler's files in the current folder"


@pytest.mark.parametrize("platform", IGC, indirect=True)
def test_forked_children_build(platform: Platform, place: Path) -> None:
    """A child inherits locks and IGC's settings in the middle of a build of another thread. (Other compilers hang in forked
    children by themselves.)"""
    passed(platform.run(place, "fork", str(platform.inside(place / "module.spv")), **FRESH))


def test_own_build_refused(platform: Platform, place: Path) -> None:
    """KERNLENS_SNAPSHOT_OWN_BUILD=0, a user who has dumps made for himself, a second IGC, and a user of Level Zero whose
    compiles the layer does not see: nothing is left but the second build."""
    layer = without_builder(platform, place)
    reasons = [{"KERNLENS_SNAPSHOT_OWN_BUILD": "0"}, USERS_DUMPS]
    if "driver" in platform.name:
        for name in ("libigc.so.9", "libze_loader.so.1"):  # libraries of these names with nothing in them
            reasons.append({"LD_PRELOAD": str(platform.inside(place / name))})
    for variable in reasons:
        result = platform.run(place, "refused", platform.late, layer=layer, **variable)  # type: ignore[arg-type]
        passed(result)
        assert BUILDER in result.stderr


def test_second_build_that_takes_too_long(platform: Platform, place: Path) -> None:
    """A process that never answers is ended, and the build succeeds."""
    stuck = place / "stuck"
    stuck.mkdir(exist_ok=True)
    shutil.copy2(place / LAYER, stuck / LAYER)
    # No script: the newest driver's root may have no shell.
    (stuck / "stuck.c").write_text(
        "#include <stdio.h>\n#include <string.h>\n#include <unistd.h>\n"
        "int main(int count, char **words) {\n"
        "  char path[4096];\n"
        "  snprintf(path, sizeof path, \"%.*snumber\", (int)(strrchr(words[0], '/') + 1 - words[0]), words[0]);\n"
        '  FILE *file = fopen(path, "w");\n'
        '  if (count < 1 || !file || fprintf(file, "%d", (int)getpid()) < 0 || fclose(file)) return 1;\n'
        f"  sleep({ASLEEP});\n"
        "}\n"
    )
    subprocess.run(["gcc", "-static", "-o", stuck / BUILDER, stuck / "stuck.c"], check=True)
    result = platform.run(
        place,
        "refused",
        platform.late,
        layer=f"{platform.inside(stuck)}/{LAYER}",
        KERNLENS_SNAPSHOT_TIMEOUT="1",
        KERNLENS_SNAPSHOT_OWN_BUILD="0",
    )
    passed(result)
    assert "more than 1 seconds" in result.stderr
    assert have_ended([int((stuck / "number").read_text())])


def test_second_build_in_another_root(work: Path, newest_root: Path, tmp_path: Path) -> None:
    """A program that runs by a root's own loader, as kernlens run does: what it starts must run so too."""
    chosen = of_root("newest", newest_root)
    command = chosen.command(work / "snapshot_test", "save", "visa", str(TEXT), str(tmp_path / "visa"), "")
    environment = {**os.environ, **chosen.environment(), **simulated_environment("bmg", chosen)}
    environment = led(work / LAYER, environment) | {"KERNLENS_SNAPSHOT_OWN_BUILD": "0"}
    passed(
        subprocess.run(
            command, env=environment, cwd=work, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
        )
    )
    assert ".kernel" in (tmp_path / "visa").read_text()
