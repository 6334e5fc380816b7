"""``kernlens capture`` beside other OpenCL layers and kernlens's own extension: an application finds what it finds without."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from kernlens.toolchain.native_layers import OPENCL_LAYER, is_opencl_layer, needed_layer
from tests.integration.capture.capture_fixtures import MAIN, build_counter
from tests.integration.layers.opencl_layer_fixtures import BUILDER, LAYER, NATIVE, TEXT, work

__all__ = ["work"]

#: What may stand in OPENCL_LAYERS: this installation's layer, by its own and another name, another installation's, by its path,
#: by a relative one and by its name among libraries, and a layer of somebody else's.
OURS, LINK, OTHER, RELATIVE, NAMED, FOREIGN = "ours", "link", "other", "relative", "named", "foreign"


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, work: Path) -> dict[str, str]:
    folder = build_counter(tmp_path_factory.mktemp("layers"))
    ours = needed_layer(OPENCL_LAYER)
    (folder / "link.so").symlink_to(ours)
    for name in (LAYER, BUILDER):
        (folder / name).write_bytes((NATIVE / name).read_bytes())
        (folder / name).chmod(0o755)
    (folder / LAYER).rename(folder / "libanother.so")
    return {
        OURS: str(ours),
        LINK: str(folder / "link.so"),
        OTHER: str(work / LAYER),
        RELATIVE: os.path.relpath(folder / "libanother.so", work),
        NAMED: "libanother.so",
        FOREIGN: str(folder / "count.so"),
    }


def ran(
    verb: str, layers: tuple[str, ...], places: dict[str, str], work: Path, *words: str, **more: str
) -> tuple[str, Counter[str]]:
    """The application under a verb: what it prints, and what the foreign layer counted."""
    counted = work / "counted"
    counted.write_text("")
    variables = {name: value for name, value in os.environ.items() if not name.startswith("KERNLENS_SNAPSHOT")}
    named = ":".join(places[layer] for layer in layers)
    libraries = f"{Path(places[FOREIGN]).parent}:{os.environ.get('LD_LIBRARY_PATH', '')}"
    variables |= {"OPENCL_LAYERS": named, "COUNTED": str(counted), "LD_LIBRARY_PATH": libraries, **more}
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


ALONE = [(OURS,), (LINK,), (OTHER,), (RELATIVE,), (NAMED,)]
TOGETHER = [(OTHER, FOREIGN), (FOREIGN, OTHER), (FOREIGN, OURS), (LINK, FOREIGN, OTHER, OURS)]


@pytest.mark.parametrize(
    ("layers", "own_build"),
    [*((layers, "1") for layers in (*ALONE, *TOGETHER)), ((OURS,), "0"), ((OTHER, FOREIGN), "0")],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_the_extension_works_in_any_order(
    layers: tuple[str, ...], own_build: str, places: dict[str, str], work: Path, tmp_path: Path
) -> None:
    """With the snapshot from the application's build, or from a second one, which nobody records."""
    saved = work / "saved"
    words = ("save", "llvm-optimized", str(TEXT), str(saved), "-cl-mad-enable")
    out, counted = ran("run", layers, places, work, *words, KERNLENS_SNAPSHOT_OWN_BUILD=own_build)
    expected = saved.read_bytes()
    saved.unlink()
    assert b"define" in expected
    assert ran("capture", layers, places, work, *words, KERNLENS_SNAPSHOT_OWN_BUILD=own_build) == (out, counted)
    assert saved.read_bytes() == expected
    assert json.loads((work / "x.json").read_text())["builds"] == 1, "one recorder, whatever layers there are"


@pytest.mark.parametrize("layers", [(), (FOREIGN,)], ids="-".join)
def test_nobody_finds_what_he_has_not_asked_for(layers: tuple[str, ...], places: dict[str, str], work: Path) -> None:
    out, counted = ran("run", layers, places, work, "plain")
    assert ran("capture", layers, places, work, "plain") == (out, counted)
    off = {"KERNLENS_SNAPSHOTS": "0"}
    assert (
        ran("capture", (OURS,), places, work, "plain", **off)[0] == ran("run", (OURS,), places, work, "plain", **off)[0]
    )


def test_what_is_a_layer_of_kernlens(places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(places[OTHER]).parent)
    libraries = {"LD_LIBRARY_PATH": f"/nonexistent:{Path(places[FOREIGN]).parent}"}
    assert [is_opencl_layer(places[name], libraries) for name in (OURS, LINK, OTHER, RELATIVE, NAMED)] == [True] * 5
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "empty").touch()
    others = [
        places[FOREIGN],
        str(tmp_path),
        str(tmp_path / "fifo"),
        str(tmp_path / "empty"),
        f"{tmp_path}/{LAYER}",
        "no.so",
    ]
    assert not any(is_opencl_layer(entry, libraries) for entry in others)
    assert not is_opencl_layer(NAMED, {})


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
