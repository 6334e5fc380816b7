"""``kernlens FILE`` runs the command that shows most of the file, and says which."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tree import ROOT
from tests.unit.cli.test_sources_of_every_verb import source
from tests.unit.conftest import Kernlens
from tests.writers.programs import spirv

__all__ = ["source"]


def test_a_source_is_annotated(kernlens: Kernlens, source: Path) -> None:
    done = kernlens(source, "--device", "skl")
    assert done.status == 0, done.err
    assert done.err.startswith("kernlens: scale.cl (source): kernlens annotate scale.cl --device skl\n")
    assert done.out == kernlens("annotate", source, "--device", "skl").out


def test_of_a_recording_or_binary_of_several_kernels_there_is_a_table(
    kernlens: Kernlens, source: Path, file: Path
) -> None:
    assert kernlens("compile", source, "--device", "skl", "-o", "all.klens").status == 0
    for path in ("all.klens", file):
        done = kernlens(path)
        assert done.status == 0, done.err
        assert f"several kernels): kernlens inspect {path}" in done.err
        assert done.out == kernlens("inspect", path).out


def test_spirv_with_a_kernel_is_compiled(kernlens: Kernlens, source: Path) -> None:
    Path("module.spv").write_bytes(spirv())
    done = kernlens("module.spv", "--device", "skl")
    assert (done.status, done.err) == (0, "kernlens: module.spv (SPIR-V): kernlens annotate module.spv --device skl\n")


def test_a_folder_is_listed(kernlens: Kernlens, source: Path) -> None:
    Path("kernels").mkdir()
    shutil.copy(source, "kernels")
    done = kernlens("kernels", "--device", "skl")
    assert "kernlens: kernels (folder of 1 source): kernlens inspect kernels" in done.err


@pytest.mark.parametrize(("name", "what"), [("inlined.cubin", "cubin"), ("inlined.ptx", "PTX")])
def test_code_of_another_vendor_is_shown_as_far_as_it_can_be(name: str, what: str, kernlens: Kernlens) -> None:
    done = kernlens(ROOT / "tests/data/nvidia" / name)
    assert done.status == 0, done.err
    assert f"{name} ({what}, " in done.err


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("blur.asm", "kernlens assemble blur.asm --into BINARY"),
        ("blur.ll", "kernlens reads the binary"),
        ("samples.csv", "kernlens annotate PATH --samples samples.csv"),
        ("baseline.json", "kernlens check PATH --baseline baseline.json"),
        ("kernlens.toml", "kernlens check PATH --budget kernlens.toml"),
    ],
)
def test_a_text_that_no_command_reads_alone_names_the_command_that_takes_it(
    name: str, advice: str, kernlens: Kernlens, source: Path
) -> None:
    Path(name).write_text("a text\n")
    done = kernlens(name)
    assert (done.status, done.out) == (2, "")
    assert f"kernlens: {name} is " in done.err
    assert advice in done.err


def test_what_is_no_code_is_named(kernlens: Kernlens, source: Path) -> None:
    Path("picture").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    done = kernlens("picture")
    assert done.status == 2
    assert "picture is a PNG image" in done.err
