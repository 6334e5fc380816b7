"""A folder of sources stands for the sources in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.verbs.sources.spread import spread

KERNEL = "kernel void run(global int *out) { out[0] = 1; }\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "b.cl").write_text(f'#include "part.cl"\n{KERNEL}')
    (tmp_path / "below" / "a.cl").write_text(KERNEL)
    (tmp_path / "part.cl").write_text("#define PART 1\n")  # b.cl includes it.
    (tmp_path / "notes.txt").write_text("kernel")
    (tmp_path / ".hidden.cl").write_text(KERNEL)
    return tmp_path


def test_all_sources_but_those_that_others_include(folder: Path) -> None:
    assert spread([folder, "other.cl"]) == [str(folder / "b.cl"), str(folder / "below" / "a.cl"), "other.cl"]


def test_a_folder_that_has_binaries_too_is_read_as_one_of_binaries(folder: Path) -> None:
    (folder / "module.spv").write_bytes(bytes.fromhex("0302230700000100000000000100000000000000"))
    assert spread([folder]) == [str(folder)]
    assert spread([folder], even_mixed=True)[:1] == [str(folder / "b.cl")]


def test_a_folder_without_sources_stays(tmp_path: Path) -> None:
    assert spread([tmp_path], even_mixed=True) == [str(tmp_path)]


def test_links_out_of_the_folder_are_none_of_its_sources(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other") / "c.cl"
    other.write_text(KERNEL)
    (folder / "c.cl").symlink_to(other)
    assert str(folder / "c.cl") not in spread([folder])
