"""The check of paths and build options in front of the tools."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.agents.allowed_paths import AllowedPaths
from kernlens.errors import KernlensError, NotFoundError, UnsupportedError


@pytest.fixture
def allowed(tmp_path: Path) -> AllowedPaths:
    """A folder with a file, a folder, and links that lead out; beside it a folder whose name begins alike."""
    inside = tmp_path / "in"
    for folder in (inside / "deep", tmp_path / "in2"):
        folder.mkdir(parents=True)
        (folder / "a.cl").touch()
    (inside / "out").symlink_to(tmp_path / "in2")
    (inside / "loop").symlink_to(inside / "loop")
    return AllowedPaths([str(inside)])


def test_paths_inside(allowed: AllowedPaths) -> None:
    (folder,) = allowed.paths
    for path in ("deep/a.cl", "./deep/../deep/a.cl", f"{folder}/deep/a.cl"):
        assert allowed.resolved(path) == f"{folder}/deep/a.cl"
    assert allowed.resolved(".") == folder


@pytest.mark.parametrize(
    "path", ["..", "../in2/a.cl", "out/a.cl", "out", "/", "/etc/passwd", "../nothing", "/nothing", ""]
)
def test_paths_outside(allowed: AllowedPaths, path: str) -> None:
    if path:
        with pytest.raises(UnsupportedError, match="outside of what this server may read"):
            allowed.resolved(path)
    else:
        assert allowed.resolved(path) == allowed.paths[0]


@pytest.mark.parametrize("path", ["nothing", "loop", "deep/a.cl/x"])
def test_paths_that_are_not_there(allowed: AllowedPaths, path: str) -> None:
    with pytest.raises(NotFoundError, match="correct the path"):
        allowed.resolved(path)


@pytest.mark.parametrize("path", ["a\0b", "a/" * 3000])
def test_paths_that_no_file_can_have(allowed: AllowedPaths, path: str) -> None:
    with pytest.raises(KernlensError):
        allowed.resolved(path)


def test_a_file_that_is_given_does_not_give_its_folder(tmp_path: Path) -> None:
    for name in ("a.cl", "b.cl"):
        (tmp_path / name).touch()
    allowed = AllowedPaths([str(tmp_path / "a.cl")])
    assert allowed.resolved(str(tmp_path / "a.cl")) == str(tmp_path / "a.cl")
    with pytest.raises(UnsupportedError, match="outside"):
        allowed.resolved(str(tmp_path / "b.cl"))


def test_options_name_files_below_the_allowed_paths_alone(allowed: AllowedPaths) -> None:
    (folder,) = allowed.paths
    assert allowed.checked_options("-cl-fast-relaxed-math -DN=4 -D M -I deep") == (
        f"-cl-fast-relaxed-math -D N=4 -D M -I {folder}/deep"
    ).replace("-D N=4", "-DN=4")
    for options in ("-I out", "-I/etc", "-I ../in2", "-I"):
        if options == "-I":
            assert allowed.checked_options(options) == f"-I {folder}"
            continue
        with pytest.raises(UnsupportedError, match="outside"):
            allowed.checked_options(options)
    for options in (
        "-include /etc/passwd",
        "-imacros x",
        "@x",
        "/etc/passwd",
        "-x c",
        "-s /etc/passwd",
        "-isystem/etc",
    ):
        with pytest.raises(UnsupportedError, match="may name a file"):
            allowed.checked_options(options)


@pytest.mark.parametrize("path", ["/", "/tmp", "/usr", str(Path.home())])
def test_folders_that_hold_everything_cannot_be_given(path: str) -> None:
    with pytest.raises(UnsupportedError, match="name a folder below it"):
        AllowedPaths([path])
