"""Which files are read for source text: those below folders that the user works in or names, and no others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.model.build import Source
from kernlens.toolchain.sources import source_reading
from kernlens.toolchain.sources.includes import source_files
from kernlens.toolchain.sources.source_reading import SIZE_LIMIT, SourceFolders, is_wide, read_beside


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``work`` in which the user is, another ``input`` that he opens, and what he has besides."""
    for name in ("work", "input/.ssh", "input/sub", "secret"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("work/a.cl", "input/b.cl", "input/sub/c.cl", "input/.ssh/id_rsa", "secret/key"):
        (tmp_path / name).write_text(f"text of {name}")
    (tmp_path / "input/link.cl").symlink_to(tmp_path / "secret/key")
    (tmp_path / "input/inside.cl").symlink_to(tmp_path / "input/sub/c.cl")
    (tmp_path / "input/folder").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "input/pipe.cl")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize("name", ["work/a.cl", "input/b.cl", "input/sub/c.cl", "input/inside.cl", "input/sub/../b.cl"])
def test_files_that_are_read(name: str, home: Path) -> None:
    source = SourceFolders([str(home / "input"), os.getcwd()]).read(str(home / name))
    assert source is not None
    assert (source.path, source.unread) == (str(home / name), "")
    assert source.text.startswith("text of ")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("secret/key", "outside the folders that may be read; --source-root {}/secret allows it"),
        ("input/../secret/key", "outside the folders"),
        ("input/link.cl", "it lies at {}/secret, outside the folders"),
        ("input/folder/key", "outside the folders"),
        ("input/.ssh/id_rsa", "it is hidden; --source-root {}/input/.ssh allows it"),
        ("input/pipe.cl", "it is not a regular file"),
        ("/proc/self/environ", "it is a file of the system"),
        ("/dev/null", "it is a file of the system"),
        ("/etc/passwd", "outside the folders"),
    ],
)
def test_files_that_are_named_and_not_read(name: str, reason: str, home: Path) -> None:
    source = SourceFolders([str(home / "input"), os.getcwd()]).read(str(home / name))
    assert source is not None
    assert source.text == ""
    assert reason.format(home) in source.unread


@pytest.mark.parametrize(
    "name", ["input/gone.cl", "input/sub", "input/a\0b", "input/" + "x" * 5000, "input/" + "x/" * 30_000]
)
def test_what_is_no_file(name: str, home: Path) -> None:
    assert SourceFolders([str(home / "input")]).read(f"{home}/{name}") is None


def test_an_option_allows_what_it_names(home: Path) -> None:
    folders = SourceFolders([], [str(home / "secret"), str(home / "input/.ssh")])
    for name in ("secret/key", "input/link.cl", "input/.ssh/id_rsa"):
        source = folders.read(str(home / name))
        assert source is not None
        assert source.text
    root = SourceFolders([], ["/"]).read("/proc/self/environ")
    assert root is not None
    assert root.text == ""


def test_a_folder_with_a_name_that_none_can_have_allows_nothing(home: Path) -> None:
    folders = SourceFolders([os.getcwd(), "\0"], ["secret\0", "\ud800"])
    assert folders.read(f"{home}/work/a.cl") == Source(f"{home}/work/a.cl", "text of work/a.cl")
    (files,) = source_files(home / "work/a.cl", "-I nowhere")
    assert files.text == "text of work/a.cl"


def test_a_file_larger_than_a_source_is_none(home: Path) -> None:
    large = home / "work/large.cl"
    large.write_bytes(b"x" * SIZE_LIMIT)
    folders = SourceFolders([os.getcwd()])
    assert folders.read(str(large)) is not None
    with large.open("ab") as file:
        file.write(b"x")
    assert folders.read(str(large)) is None


def test_a_compile_keeps_no_file_that_it_must_not_read(home: Path) -> None:
    kernel = home / "input/k.cl"
    kernel.write_text(
        f'#include "b.h"\n#include "{home}/secret/key"\n#include "/proc/self/environ"\n#include ".ssh/id_rsa"\n'
        f'#if 0\n#include "sub/c.cl"\n#endif\n#ifdef WITH_C\n#include "sub/c.cl"\n#endif\n'
    )
    (home / "input/b.h").write_text("#define WITH_B\n")
    sources = source_files(kernel)
    assert [(source.path, bool(source.text)) for source in sources] == [
        (str(kernel), True),
        (str(home / "input/b.h"), True),
        (str(home / "secret/key"), False),
        ("/proc/self/environ", False),
        (str(home / "input/.ssh/id_rsa"), False),
        # After files that were not read, any name may be defined.
        (str(home / "input/sub/c.cl"), True),
    ]
    kernel.write_text('#include "b.h"\n#ifdef WITH_B\n#include "sub/c.cl"\n#else\n#include ".ssh/id_rsa"\n#endif\n')
    assert [Path(source.path).name for source in source_files(kernel)] == ["k.cl", "b.h", "c.cl"]
    allowed = source_files(kernel, f"-I {home}/secret")
    assert all(source.text for source in allowed)
    kernel.write_text("#include <key>\n")
    assert [Path(source.path).name for source in source_files(kernel, f"-I {home}/secret")] == ["k.cl", "key"]


@pytest.mark.parametrize("near", ["/", "/etc/..", "/etc", "/tmp", "link", "", "..", "shared", "/usr"])
def test_a_folder_that_holds_everything_is_near_nothing(near: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``/``, the home folder and those above it, and those of all, though somebody works there or has put the binary there."""
    monkeypatch.setenv("HOME", str(home))
    (home / "shared").mkdir()
    (home / "shared").chmod(0o1777)
    (home / "shared/a.cl").write_text("of another user")
    (home / "link").symlink_to("/")
    folder = os.path.join(home, near)
    assert is_wide(folder)
    for path in ("/etc/passwd", f"{home}/work/a.cl", f"{home}/shared/a.cl", "/usr/include/stdlib.h"):
        source = SourceFolders([folder]).read(path)
        assert source is None or (source.text, "outside the folders that may be read" in source.unread) == ("", True)
    named = SourceFolders([], [folder]).read(f"{home}/shared/a.cl")
    assert named is not None
    assert bool(named.text) == (near in ("/", "/etc/..", "/tmp", "link", "", "..", "shared"))


def test_the_home_folder_of_another_user_is_near_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_reading, "_HOMES", (str(home),))
    assert is_wide(f"{home}/work")
    assert not is_wide(f"{home}/input/sub")


def test_a_folder_of_a_project_is_near(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    assert not any(map(is_wide, (f"{home}/work", f"{home}/input/sub", "/no/such/folder", "/work/is/not/there", "a\0b")))
    monkeypatch.setenv("HOME", "/nowhere/me")
    assert not is_wide(str(home))


def test_a_source_in_the_home_folder_says_what_to_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that the user names is read; what it includes from his home folder is not, unless -I says so."""
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home)
    (home / "a.cl").write_text('#include "private.txt"\n')
    (home / "private.txt").write_text("private")
    own, included = source_files(home / "a.cl")
    assert (own.text, included.text) == ('#include "private.txt"\n', "")
    assert f"-I {home} allows it" in included.unread
    assert source_files(home / "a.cl", f"-I {home}")[1].text == "private"


def test_what_replaces_a_file_before_it_is_opened_is_not_read(home: Path) -> None:
    """A pipe in its place; and a link in place of its folder, which leads to another file."""
    os.mkfifo(home / "work/pipe.cl")
    (home / "elsewhere").symlink_to(home / "secret")
    (home / "work/link.cl").symlink_to(home / "secret/key")
    for path in ("work/pipe.cl", "elsewhere/key", "work/link.cl"):
        assert source_reading._source(path, f"{home}/{path}") is None
    assert source_reading._source("key", f"{home}/secret/key") is not None


def test_a_file_beside_is_opened_unless_a_link_leads_out(home: Path) -> None:
    folder = home / "input"
    assert read_beside(folder / "inside.cl", folder) == b"text of input/sub/c.cl"
    os.link(home / "input/b.cl", folder / "hard.cl")
    assert read_beside("../input/hard.cl", "../input") == b"text of input/b.cl"
    with pytest.raises(NotFoundError, match="there is no file"):
        read_beside(folder / "none", folder)
    with pytest.raises(UnsupportedError, match="has 18 bytes, at most 14 are read"):
        read_beside(folder / "b.cl", folder, 14)


@pytest.mark.parametrize(
    "name", ["link.cl", "folder/key", "../secret/key", "key", "/etc/passwd", "pipe.cl", "sub", "a\0b"]
)
def test_what_is_beside_and_not_opened(name: str, home: Path) -> None:
    folder = home / "input"
    (folder / "key").symlink_to(".ssh/id_rsa")
    with pytest.raises(
        UnsupportedError, match=r"is a link to .*; name that file itself|is a pipe|is a folder|null (byte|character)"
    ):
        read_beside(folder / name, folder)


def test_no_link_counts_where_everybody_s_files_are(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that was unpacked in the home folder could name any other file in it."""
    monkeypatch.setenv("HOME", str(home / "input"))
    with pytest.raises(UnsupportedError, match="is a link to"):
        read_beside(home / "input/inside.cl", home / "input")
    assert read_beside(home / "input/b.cl", home / "input") == b"text of input/b.cl"


def test_a_folder_that_a_link_replaces_meanwhile_is_not_followed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opens, folder = os.open, home / "input"

    def replaced(path: str, flags: int) -> int:
        (folder / "sub").rename(folder / "moved")
        (folder / "sub").symlink_to(home / "secret")
        return opens(path, flags)

    (home / "secret/c.cl").write_text("a password")
    monkeypatch.setattr(os, "open", replaced)
    with pytest.raises(UnsupportedError, match="was replaced while it was opened"):
        read_beside(folder / "sub/c.cl", folder)
