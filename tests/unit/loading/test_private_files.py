"""Links that lead out of a folder: a sentence says that they are not followed, and all else is read."""

from __future__ import annotations

from pathlib import Path

from kernlens.loading import open_file
from tests.nvidia_files import triton
from tests.unit.conftest import Kernlens
from tests.writers import programs

PRIVATE = "a password"


def test_a_stage_that_is_a_link(tmp_path: Path, kernlens: Kernlens) -> None:
    private, folder = tmp_path / "private", tmp_path / "cache"
    private.write_text(PRIVATE)
    folder.mkdir()
    for ending in (".cubin", ".ttir", ".llir", ".ptx"):
        (folder / f"k{ending}").write_bytes(triton(ending))
    for ending in (".source", ".ttgir", ".json"):
        (folder / f"k{ending}").symlink_to(private)
    (program,) = open_file(folder / "k.cubin").programs
    stages = {each.stage: each.failure for each in program.build.snapshots}
    assert stages.pop("ttir") is stages.pop("llir") is stages.pop("ptx") is None
    assert set(stages) == {"ttir-source", "ttgir"}
    for failure in stages.values():
        assert str(failure).endswith(
            f"is a link to {private}, which nobody has named, so it is not read; name that file itself"
        )
    done = kernlens("stages", folder / "k.cubin", "-o", tmp_path / "k.klens")
    assert done.status == 0
    assert PRIVATE not in done.out + done.err
    assert "which nobody has named" in done.out
    shown = kernlens("stages", tmp_path / "k.klens", "--stage", "ttgir")
    assert PRIVATE not in shown.out + shown.err


def test_a_file_of_a_folder_that_is_a_link(tmp_path: Path, kernlens: Kernlens) -> None:
    folder, outside = tmp_path / "builds", tmp_path / "outside.bin"
    (folder / "bin").mkdir(parents=True)
    outside.write_bytes(programs.binary(kernel="private"))
    (folder / "own.bin").write_bytes(programs.binary())
    (folder / "linked.bin").symlink_to(outside)
    (folder / "again.bin").symlink_to("own.bin")
    # Programs and libraries are passed over in a folder, links to them too.
    (folder / "bin" / "python3").symlink_to("/usr/bin/env")
    done = kernlens("inspect", folder)
    assert done.status == 2
    assert f"linked.bin is a link to {outside}, which nobody has named, so it is not read" in done.err
    assert "1 file of the folder" in done.err
    assert "NEO ELF own" in done.out
    assert "NEO ELF again" in done.out
    assert "private" not in done.out
    assert kernlens("inspect", folder / "linked.bin").status == 0
