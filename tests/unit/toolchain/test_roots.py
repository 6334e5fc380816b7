"""Toolchain roots: registering, removing, what interrupted commands leave, and apt's configuration."""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, NotFoundError, OutputError, ToolError, UnsupportedError
from kernlens.toolchain import roots
from kernlens.toolchain.apt import debian_mirror
from kernlens.toolchain.toolchains import find_toolchains, programs, toolchain, toolchains_folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of toolchains, used by everything here."""
    path = tmp_path / "toolchains"
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(path))
    monkeypatch.delenv("KERNLENS_NEWEST_ROOT", raising=False)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder laid out as a root is: a compiler with a version in its name, and a link to it that leads outside."""
    path = tmp_path / "my root"
    (path / "usr/bin").mkdir(parents=True)
    (path / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
    for version in ("9.1", "26.27.1", "26.3.1"):
        (path / f"usr/bin/ocloc-{version}").write_text("")
    (path / "usr/bin/ocloc").symlink_to("/bin/sh")
    library = path / "usr/lib/x86_64-linux-gnu"
    (library / "libigc.so.2").symlink_to("libigc.so.2.40.14+0")
    (library / "libiga64.so.2").write_text("")
    (library / "ld-linux-x86-64.so.2").write_text("")
    return path


def test_where_toolchains_are_registered(monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path) -> None:
    assert toolchains_folder() == folder
    monkeypatch.delenv("KERNLENS_TOOLCHAINS")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert toolchains_folder() == tmp_path / "share/kernlens/toolchains"
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert toolchains_folder() == tmp_path / ".local/share/kernlens/toolchains"


def test_programs_of_a_root(root: Path) -> None:
    names = [path.name for path in programs(root, "ocloc")]
    assert names == ["ocloc-26.27.1", "ocloc-26.3.1", "ocloc-9.1"]


def test_register_and_remove_an_existing_root(root: Path, folder: Path) -> None:
    added = roots.add("mine", root=root)
    assert (added.name, added.root, added.igc_version) == ("mine", root, "2.40.14")
    assert added.ocloc == root / "usr/bin/ocloc-26.27.1"
    assert added.iga_libraries == (root / "usr/lib/x86_64-linux-gnu/libiga64.so.2",)
    assert [chain.name for chain in find_toolchains()] == ["system", "mine"]
    with pytest.raises(KernlensError, match=r"there is a toolchain mine already.*toolchain remove mine"):
        roots.add("mine", root=root)
    roots.remove("mine")
    assert (root / "usr/bin/ocloc-26.27.1").exists()
    assert [chain.name for chain in find_toolchains()] == ["system"]
    with pytest.raises(NotFoundError, match="there is no toolchain 'mine'; there are: system"):
        roots.remove("mine")


def test_a_root_named_by_the_environment(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFoundError, match="'kernlens toolchain add newest' builds newest"):
        toolchain("newest")
    monkeypatch.setenv("KERNLENS_NEWEST_ROOT", str(root))
    assert toolchain("newest").root == root
    with pytest.raises(NotFoundError, match="KERNLENS_NEWEST_ROOT"):
        roots.remove("newest")
    monkeypatch.setenv("KERNLENS_NEWEST_ROOT", str(root / "gone"))
    with pytest.raises(NotFoundError, match="correct or unset"):
        find_toolchains()


def test_a_folder_that_is_no_root(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(KernlensError, match="contains no ocloc"):
        roots.add("mine", root=tmp_path)
    with pytest.raises(NotFoundError, match="there is no folder"):
        roots.add("mine", root=tmp_path / "gone")
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/ocloc").write_text("")
    with pytest.raises(KernlensError, match="contains no dynamic loader"):
        roots.add("mine", root=tmp_path)
    assert not os.path.lexists(folder / "mine")


def test_a_root_that_broke_is_listed_and_hinders_nothing(root: Path) -> None:
    roots.add("mine", root=root)
    (root / "usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2").unlink()
    broken = find_toolchains()[1]
    assert (broken.name, broken.neo_version) == ("mine", None)
    with pytest.raises(ToolError, match="add it again"):
        broken.command("ocloc")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "-x", "x" * 65, "a b", "a\n"])
def test_names_that_are_not_allowed(name: str, root: Path) -> None:
    with pytest.raises(KernlensError, match="cannot name a toolchain"):
        roots.add(name, root=root)
    with pytest.raises(KernlensError, match="cannot name a toolchain"):
        roots.remove(name)


def test_the_system_is_neither_added_nor_removed(root: Path) -> None:
    with pytest.raises(KernlensError, match="machine's own"):
        roots.add("system", root=root)
    with pytest.raises(KernlensError, match="machine's own"):
        roots.remove("system")


def test_removing_follows_no_links(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    inside = folder / "mine" / "usr"
    inside.mkdir(parents=True)
    (inside / "link").symlink_to(outside)
    (folder / "mine" / "absolute").symlink_to(outside / "precious")
    roots.remove("mine")
    assert (outside / "precious").read_text() == "x"
    assert [path.name for path in folder.iterdir()] == [".lock"]


ISOLATED = ("unshare", "--map-root-user", "--mount", "sh", "-c")
REMOVE_WITH_A_MOUNT = """
import sys
from kernlens.errors import KernlensError
from kernlens.toolchain import roots
try:
    roots.remove("mine")
except KernlensError as error:
    print(error)
"""


@pytest.mark.usefixtures("user_namespaces")
def test_removing_follows_no_mounts(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "out side"
    outside.mkdir()
    (outside / "precious").write_text("x")
    inside = folder / "mine" / "mo unt"
    inside.mkdir(parents=True)
    # A mount in a name space of its own, which vanishes with the process.
    script = 'mount --bind "$1" "$2" && exec "$3" -c "$4"'
    done = subprocess.run(
        [*ISOLATED, script, "sh", outside, inside, sys.executable, REMOVE_WITH_A_MOUNT],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert f"{inside} is a mount point; unmount it first" in done.stdout, done.stderr
    assert (outside / "precious").read_text() == "x"
    assert inside.exists()
    roots.remove("mine")
    assert (outside / "precious").read_text() == "x"


def test_leftovers_are_no_toolchains_and_go_with_the_next_add(root: Path, folder: Path) -> None:
    leftover = folder / ".partial-newest-1234" / "root" / "usr"
    leftover.mkdir(parents=True)
    assert [chain.name for chain in find_toolchains()] == ["system"]
    roots.add("mine", root=root)
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "mine"]


def test_what_a_killed_process_still_writes_is_removed_too(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last system call of a process that was killed can come while its folder is being emptied."""
    leftover = folder / ".partial-newest-1234"
    (leftover / "packages").mkdir(parents=True)
    late = [leftover / "packages" / "late.deb", leftover / "later.deb"]
    rmdir = os.rmdir

    def rmdir_after_a_write(path: str, **words: int) -> None:
        if late and late[0].parent.name == Path(path).name:
            late.pop(0).write_text("")
        rmdir(path, **words)

    monkeypatch.setattr(os, "rmdir", rmdir_after_a_write)
    roots._delete(leftover)
    assert late == []
    assert not leftover.exists()


def test_one_at_a_time(root: Path, folder: Path) -> None:
    """While another command holds the lock, its half-built folder is left alone."""
    events: queue.SimpleQueue[str] = queue.SimpleQueue()
    with roots._locked(folder, events.put):
        (folder / ".partial-newest-1").mkdir()
        other = threading.Thread(target=roots.add, args=("mine",), kwargs={"root": root, "on_progress": events.put})
        other.start()
        assert events.get() == "Waiting for another 'kernlens toolchain' command to end"
        assert (folder / ".partial-newest-1").exists()
    other.join()
    assert events.empty()
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "mine"]


def test_a_folder_that_cannot_be_written(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KERNLENS_TOOLCHAINS", str(tmp_path / "file" / "toolchains"))
    with pytest.raises(OutputError, match="cannot be changed: Not a directory"):
        roots.add("mine", root=root)


def test_too_little_room(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roots, "SPACE_NEEDED", 1 << 60)
    with pytest.raises(OutputError, match=r"MB free and \d+ MB are needed"):
        roots.add("newest", mirror="http://mirror.invalid/debian")


def test_packages_may_not_run_as_another_user(tmp_path: Path) -> None:
    program = tmp_path / "root" / "closed" / "su"
    program.parent.mkdir(parents=True)
    program.write_text("")
    program.chmod(0o4755)
    (tmp_path / "root" / "link").symlink_to("/nowhere")
    program.parent.chmod(0o2555)
    roots._make_harmless(tmp_path / "root")
    assert program.stat().st_mode & 0o7777 == 0o755
    assert program.parent.stat().st_mode & 0o7777 == 0o755


LISTS = {
    "sources.list": "# deb http://comment.example/debian x main\ndeb-src http://source.example/debian x main\n",
    "sources.list.d/a.list": "deb [arch=amd64 signed-by=/k] http://one.example/debian-security x main\n",
    "sources.list.d/b.sources": (
        "Types: deb\nEnabled: no\nURIs: http://off.example/debian\nSuites: x\nComponents: main\n\n"
        "# a comment\nTypes: deb-src\nURIs: http://src.example/debian\nSuites: x\nComponents: main\n\n"
        "Types: deb deb-src\n# URIs: http://comment.example/debian\nURIs: http://two.example/debian-security\n"
        " https://three.example/path/debian/\nSuites: x\nComponents: main\n"
    ),
    "sources.list.d/c.list": "deb http://four.example/debian x main\n",
    "sources.list.d/cloud.sources": "Types: deb\nURIs: mirror+file:/etc/apt/mirrors/debian.list\nSuites: x\nComponents: main\n",
    "sources.list.d/d.list.disabled": "deb http://five.example/debian x main\n",
    "sources.list.d/ubuntu.list": "deb http://six.example/ubuntu x main\n",
}


def write_lists(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have apt read these files in place of the machine's."""
    (folder / "sources.list.d").mkdir()
    for name in names:
        (folder / name).write_text(LISTS[name])
    configuration = folder / "apt.conf"
    configuration.write_text(
        f'Dir::Etc::sourcelist "{folder}/sources.list";\nDir::Etc::sourceparts "{folder}/sources.list.d";\n'
    )
    monkeypatch.setenv("APT_CONFIG", str(configuration))


needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="it is apt's configuration")


@needs_apt
@pytest.mark.parametrize(
    ("names", "mirror"),
    [
        (tuple(LISTS), "https://three.example/path/debian"),
        (("sources.list", "sources.list.d/c.list"), "http://four.example/debian"),
        (("sources.list.d/cloud.sources",), "mirror+file:/etc/apt/mirrors/debian.list"),
    ],
)
def test_the_mirror_is_apts(
    names: tuple[str, ...], mirror: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_lists(tmp_path, monkeypatch, *names)
    assert debian_mirror() == mirror


@needs_apt
@pytest.mark.parametrize(
    "names", [(), ("sources.list", "sources.list.d/ubuntu.list", "sources.list.d/d.list.disabled")]
)
def test_no_mirror(names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_lists(tmp_path, monkeypatch, *names)
    with pytest.raises(
        NotFoundError, match="name no Debian mirror; name one: kernlens toolchain add newest --mirror http"
    ):
        debian_mirror()


def test_a_machine_without_apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnsupportedError, match=r"this machine has no apt-get.*registered with --root DIR"):
        debian_mirror()
