"""``kernlens capture`` beside other OpenCL layers and kernlens's own extension: an application finds what it finds without."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kernlens.toolchain.loaders.native_layers import OPENCL_LAYER, needed_layer
from tests.integration.capture.capture_fixtures import MAIN, build_counter
from tests.integration.layers.opencl_layer_fixtures import BUILDER, LAYER, NATIVE, TEXT, work

__all__ = ["work"]

#: The layer that loaders may be led to already: this installation's, or another's.
OURS, OTHER = "ours", "other"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The folders of vendors with each, and the layer that counts."""
    folder = build_counter(tmp_path_factory.mktemp("layers"))
    for name in (LAYER, BUILDER):
        (folder / name).write_bytes((NATIVE / name).read_bytes())
        (folder / name).chmod(0o755)
    places = {"count": str(folder / "count.so"), "": ""}
    for name, layer in ((OURS, needed_layer(OPENCL_LAYER)), (OTHER, folder / LAYER)):
        (folder / name).mkdir()
        (folder / name / "kernlens.icd").write_text(f"{layer}\n")
        places[name] = f"{folder / name}/"
    return places


def ran(
    verb: str, layer: str, counts: bool, places: dict[str, str], work: Path, *words: str, **more: str
) -> tuple[str, Counter[str]]:
    """The application under a verb: what it prints, and what a foreign layer counted."""
    counted = work / "counted"
    counted.write_text("")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("KERNLENS_SNAPSHOT")}
    variables |= {"OCL_ICD_VENDORS": places[layer]} if layer else {}
    variables |= {"OPENCL_LAYERS": places["count"] if counts else "", "COUNTED": str(counted), **more}
    options = ("-o", str(work / "x.klens"), "--json-file", str(work / "x.json")) if verb == "capture" else ()
    done = subprocess.run(
        [*MAIN, verb, "--simulate", "dg2", *options, "--", str(work / "snapshot_test"), *words],
        cwd=work,
        env=variables,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, Counter(counted.read_text().split())


@pytest.mark.parametrize("layer", [OURS, OTHER])
@pytest.mark.parametrize("counts", [False, True], ids=["alone", "counted"])
@pytest.mark.parametrize("own_build", ["0", "1"])
def test_the_extension_stays(
    layer: str, counts: bool, own_build: str, places: dict[str, str], work: Path, tmp_path: Path
) -> None:
    """With the snapshot from the application's build, or from a second one, which nobody records."""
    saved = work / "saved"
    words = ("save", "llvm-optimized", str(TEXT), str(saved), "-cl-mad-enable")
    out, counted = ran("run", layer, counts, places, work, *words, KERNLENS_SNAPSHOT_OWN_BUILD=own_build)
    expected = saved.read_bytes()
    saved.unlink()
    assert b"define" in expected
    captured = ran("capture", layer, counts, places, work, *words, KERNLENS_SNAPSHOT_OWN_BUILD=own_build)
    assert captured == (out, counted)
    assert saved.read_bytes() == expected
    assert json.loads((work / "x.json").read_text())["builds"] == 1, "one recorder, whatever layers there are"


@pytest.mark.parametrize("counts", [False, True], ids=["alone", "counted"])
def test_nobody_finds_what_he_has_not_asked_for(counts: bool, places: dict[str, str], work: Path) -> None:
    out, counted = ran("run", "", counts, places, work, "plain")
    assert ran("capture", "", counts, places, work, "plain") == (out, counted)
    off = {"KERNLENS_SNAPSHOTS": "0"}
    plain = ran("run", OURS, counts, places, work, "plain", **off)
    assert ran("capture", OURS, counts, places, work, "plain", **off) == plain


@pytest.mark.parametrize(
    ("order", "snapshots"), [(("record",), "0"), (("layer", "record"), ""), (("record", "layer"), "")]
)
def test_layer_and_capture_in_one_shell(order: tuple[str, ...], snapshots: str, tmp_path: Path) -> None:
    """What kernlens layer --capture prints keeps the extension back, unless kernlens layer was asked for it, in any order."""
    lines = {"layer": 'eval "$("$@" layer)"', "record": 'eval "$("$@" layer --capture x.klens)"'}
    script = "\n".join(["set -e", *(lines[step] for step in order), 'echo "$KERNLENS_SNAPSHOTS"'])
    environment = {"PATH": os.environ["PATH"]}
    command = ["sh", "-c", script, "sh", *MAIN]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == f"{snapshots}\n"
