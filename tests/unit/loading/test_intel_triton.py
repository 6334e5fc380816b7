"""The cache of Triton's backend for Intel GPUs, as version 3.3 wrote it (``tests/data/intel_triton``)."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.loading.open import load, open_file
from kernlens.loading.spirv_images import spirv_images
from kernlens.verbs.stages import stages_in
from tests.unit.conftest import Kernlens

ARCHIVE = Path(__file__).parents[2] / "data" / "intel_triton" / "triton_cache.tar.xz"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A folder ``native`` of a kernel with machine code for pvc in ``softmax.spv``, and ``spv`` of one with SPIR-V there."""
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def newer(cache: Path) -> Path:
    """The folder as later versions name its files: the machine code beside the SPIR-V that it was made of."""
    folder = cache / "newer"
    (cache / "native").rename(folder)
    (folder / "softmax.spv").rename(folder / "softmax.zebin")
    (folder / "softmax.spv").write_bytes((cache / "spv" / "softmax.spv").read_bytes())
    return folder


def test_machine_code_with_its_stages(cache: Path) -> None:
    (program,) = load(cache / "native")
    assert (program.format, str(program.device), program.build.toolchain_title) == ("zebin", "pvc", "Triton 3.3.0b1")
    assert [each.stage for each in program.build.snapshots] == ["ttir", "ttgir", "llir"]
    lines = {stage_map.stage: {line for _, line in stage_map.lines} for stage_map in program.stage_maps}
    for stage in ("ttir", "ttgir", "llir", "program"):
        assert lines[stage] >= {5, 6, 7, 8, 9, 11}, stage
    places = {place.path for stage_map in program.stage_maps for place in stage_map.places if place and place.line == 9}
    assert places == {"/tmp/softmax.py"}


def test_machine_code_beside_its_spirv(newer: Path) -> None:
    (program,) = load(newer)
    assert (program.format, str(program.device)) == ("zebin", "pvc")
    assert [(each.stage, each.form) for each in program.build.snapshots][-1] == ("spirv", "binary")
    (alone,) = load(newer / "softmax.spv")
    assert (alone.format, [each.stage for each in alone.build.snapshots]) == ("spirv", ["ttir", "ttgir", "llir"])


def test_spirv_alone_says_how_to_compile_it(cache: Path) -> None:
    path = str(cache / "spv" / "softmax.spv")
    contents = open_file(path)
    assert [program.format for program in contents.programs] == ["spirv"]
    with pytest.raises(UnsupportedError, match="contains SPIR-V but no machine code; compile it"):
        contents.machine_code()
    with pytest.raises(UnsupportedError, match=f"kernlens compile {path} --device D$"):
        open_file(cache / "spv").machine_code()
    (pipeline,) = stages_in(path, None, tell=print)
    assert [snapshot.stage for snapshot in pipeline] == ["ttir", "ttgir", "llir"]


def test_it_is_compiled_with_the_options_that_triton_chose(cache: Path) -> None:
    path, stated = cache / "spv" / "softmax.spv", cache / "spv" / "softmax.json"
    assert [image.options for image in spirv_images(str(path))] == [""]
    words = stated.read_text().replace('"build_flags": ""', '"build_flags": " -cl-intel-256-GRF-per-thread"')
    stated.write_text(words)
    assert [image.options for image in spirv_images(str(path))] == ["-cl-intel-256-GRF-per-thread"]


def test_a_line_of_python_in_all_stages(kernlens: Kernlens, newer: Path) -> None:
    done = kernlens("stages", str(newer / "softmax.zebin"), "--line", "softmax.py:9")
    assert done.status == 0
    assert "math.exp" in done.out
    assert "llvm.exp2" in done.out
