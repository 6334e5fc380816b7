"""What ``kernlens.toml`` says on a source: which file counts, what its tables add up to, and what such a file may not name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kernlens.errors import KernlensError, NotFoundError, UnsupportedError
from kernlens.toolchain.sources.project_file import VARIABLE, project_file
from kernlens.toolchain.sources.source_settings import NO_SETTINGS, settings_for, unused_tables

EXAMPLE = """
[source."*.cl"]
options = "-cl-mad-enable -cl-std=CL1.2"
define = { WIDTH = 4, DEBUG = true }

[source."OpenCL/m*.cl"]
options = "-cl-std=CL2.0"
include = ["OpenCL/inc"]
define = { VENDOR_ID = 8, TILE = [8, 16], DEBUG = false, NAME = "a b", F = 1.5 }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a ``kernlens.toml``, which is the working folder."""
    path = tmp_path / "project"
    (path / "OpenCL/inc").mkdir(parents=True)
    (path / "OpenCL/m1.cl").write_text("")
    (path / "kernlens.toml").write_text(EXAMPLE)
    monkeypatch.chdir(path)
    monkeypatch.delenv(VARIABLE, raising=False)
    return path


def test_tables_add_up_and_a_later_one_goes_before_an_earlier_one(folder: Path) -> None:
    settings = settings_for("OpenCL/m1.cl")
    assert settings.patterns == ("*.cl", "OpenCL/m*.cl")
    first = '-cl-mad-enable -cl-std=CL2.0 -DWIDTH=4 -DVENDOR_ID=8 -DTILE=8 -D"NAME=a b" -DF=1.5 -I OpenCL/inc'
    assert settings.options() == first
    assert settings.sets("-w") == [
        (first.replace(" -I", " -w -I"), "-w -DTILE=8"),
        (first.replace("TILE=8", "TILE=16").replace(" -I", " -w -I"), "-w -DTILE=16"),
    ]
    assert settings_for("other.cl").options() == "-cl-mad-enable -cl-std=CL1.2 -DWIDTH=4 -DDEBUG"
    assert settings_for("OpenCL/m1.h") == NO_SETTINGS
    assert NO_SETTINGS.options("-w -w") == "-w -w"
    assert NO_SETTINGS.sets("-w") == [("-w", "-w")]


@pytest.mark.parametrize(
    ("stated", "options"),
    [
        ("-w", "-cl-mad-enable -cl-std=CL1.2 -DWIDTH=4 -DDEBUG -w"),
        ("-cl-std=CL3.0", "-cl-mad-enable -DWIDTH=4 -DDEBUG -cl-std=CL3.0"),
        ("-DWIDTH=8", "-cl-mad-enable -cl-std=CL1.2 -DDEBUG -DWIDTH=8"),
        ("-D WIDTH=8 -U DEBUG", "-cl-mad-enable -cl-std=CL1.2 -D WIDTH=8 -U DEBUG"),
        ("-UDEBUG -cl-mad-enable", "-cl-std=CL1.2 -DWIDTH=4 -UDEBUG -cl-mad-enable"),
        ("-I a", "-cl-mad-enable -cl-std=CL1.2 -DWIDTH=4 -DDEBUG -I a"),
    ],
)
def test_options_of_the_command_line_take_the_place_of_those_with_their_name(
    folder: Path, stated: str, options: str
) -> None:
    assert settings_for("x.cl").options(stated) == options


def test_line_tables_are_asked_for_once(folder: Path) -> None:
    (folder / "kernlens.toml").write_text('[source."*"]\noptions = ["-g", "-w"]')
    assert settings_for("x.cl").options("-gline-tables-only") == "-w -gline-tables-only"


def test_macros_among_the_options_are_macros_too(folder: Path) -> None:
    (folder / "kernlens.toml").write_text(
        '[source."*"]\ndefine = { A = 1, B = 2 }\n[source."x*"]\noptions = "-DA=5 -D B"\n[source."xy*"]\ndefine = { B = 7 }'
    )
    assert settings_for("x.cl").options() == "-DA=5 -D B"
    assert settings_for("xy.cl").options() == "-DA=5 -DB=7"


def test_several_values_of_several_macros_are_every_combination(folder: Path) -> None:
    (folder / "kernlens.toml").write_text('[source."*"]\ndefine = { A = [1, 2], B = [3, 4], C = ["x"] }')
    assert settings_for("x.cl").sets("-w -DB=9") == [
        ("-DA=1 -DC=x -w -DB=9", "-w -DB=9 -DA=1"),
        ("-DA=2 -DC=x -w -DB=9", "-w -DB=9 -DA=2"),
    ]
    assert len(settings_for("x.cl").sets()) == 4
    values = ", ".join(f"M{number} = [1, 2, 3, 4]" for number in range(20))
    (folder / "kernlens.toml").write_text(f'[source."*"]\ndefine = {{ {values} }}')
    with pytest.raises(KernlensError, match="1,099,511,627,776 combinations"):
        settings_for("x.cl").sets()


def test_sets_of_options_are_compiled_one_by_one(folder: Path) -> None:
    """Macros that belong together: three sets, and not the nine combinations of their values."""
    project = """
[source."*.cl"]
options = "-w -cl-std=CL1.2"
define = { DK = 5, T = [1, 2] }
variants = ["-DDK=64 -D DV=64", "-DDK=192 -DDV=128 -cl-std=CL3.0", ""]
"""
    (folder / "kernlens.toml").write_text(project)
    settings = settings_for("x.cl")
    assert settings.options("-g") == "-w -cl-std=CL1.2 -DDK=64 -D DV=64 -DT=1 -g"
    assert settings.sets("-DT=3") == [
        ("-w -cl-std=CL1.2 -DDK=64 -D DV=64 -DT=3", "-DT=3 -DDK=64 -D DV=64"),
        ("-w -DDK=192 -DDV=128 -cl-std=CL3.0 -DT=3", "-DT=3 -DDK=192 -DDV=128 -cl-std=CL3.0"),
        ("-w -cl-std=CL1.2 -DDK=5 -DT=3", "-DT=3"),
    ]
    assert len(settings.sets()) == 6
    assert [each.options("-DT=3") for each in settings.variants("-DT=3")] == [all for all, _ in settings.sets("-DT=3")]
    # What the command line says is the same in all of them, which are then fewer.
    assert len(settings.variants("-DDK=1 -DDV=1 -DT=3 -cl-std=CL2.0")) == 1
    later = '[source."x*"]\ndefine = { DK = 7 }\n[source."xy*"]\nvariants = ["-DA"]'
    (folder / "kernlens.toml").write_text(project + later)
    assert settings_for("x.cl").sets("-DT=3")[1][0] == "-w -DDV=128 -cl-std=CL3.0 -DDK=7 -DT=3"
    assert settings_for("xy.cl").sets("-DT=3") == [("-w -cl-std=CL1.2 -DA -DDK=7 -DT=3", "-DT=3 -DA")]
    for wrong, error in (('"-DA"', "an array of texts"), ("['-D\"A']", "each as for --build-options")):
        (folder / "kernlens.toml").write_text(f'[source."*"]\nvariants = {wrong}')
        with pytest.raises(KernlensError, match=error):
            settings_for("x.cl")
    (folder / "kernlens.toml").write_text('[source."*"]\nvariants = ["-DA", "-include /etc/passwd"]')
    with pytest.raises(UnsupportedError, match="may name a file"):
        settings_for("x.cl")


def test_the_nearest_file_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = folder / "OpenCL/kernlens.toml"
    assert project_file("OpenCL/m1.cl") == "kernlens.toml"
    assert project_file(folder / "OpenCL/inc") == "kernlens.toml"
    inner.write_text('[source."m*.cl"]\noptions = "-w"')
    assert project_file("OpenCL/m1.cl") == "OpenCL/kernlens.toml"
    assert settings_for("OpenCL/m1.cl").options() == "-w"
    elsewhere = folder.parent / "elsewhere"
    elsewhere.mkdir()
    # One of another folder has that of the working folder, by its path from there.
    assert project_file(elsewhere / "x.cl") == "kernlens.toml"
    assert settings_for(elsewhere / "x.cl").patterns == ("*.cl",)
    monkeypatch.chdir(elsewhere)
    assert project_file("x.cl") is None
    assert project_file("../project/x.cl") == "../project/kernlens.toml"
    assert project_file(folder / "OpenCL/inc/x.cl") == str(inner)
    monkeypatch.setenv(VARIABLE, "off")
    assert settings_for(inner) == NO_SETTINGS
    monkeypatch.setenv(VARIABLE, str(folder / "kernlens.toml"))
    assert settings_for(folder / "OpenCL/m1.cl").include == (str(folder / "OpenCL/inc"),)


def test_a_file_that_somebody_has_put_into_a_folder_of_all_does_not_count(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    (shared / "own").mkdir(parents=True)
    (shared / "kernlens.toml").write_text(EXAMPLE)
    assert project_file(shared / "own/x.cl") == str(shared / "kernlens.toml")
    shared.chmod(0o1777)
    assert project_file(shared / "own/x.cl") is None
    assert project_file(shared / "x.cl") == str(shared / "kernlens.toml")


def test_in_a_tree_its_own_file_counts_alone(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    (tree / "k/inc").mkdir(parents=True)
    (tmp_path / "kernlens.toml").write_text('[source."*"]\noptions = "-DOUTSIDE"')
    monkeypatch.setenv(VARIABLE, str(folder / "kernlens.toml"))
    assert settings_for(tree / "k/x.cl", str(tree)) == NO_SETTINGS
    (tree / "kernlens.toml").write_text('[source."k/*"]\noptions = "-w"\ninclude = "k/inc"')
    settings = settings_for(tree / "k/x.cl", str(tree))
    assert (settings.words, settings.include) == (("-w",), (str(tree / "k/inc"),))
    assert settings_for(tmp_path / "x.cl", str(tree)) == NO_SETTINGS
    (tree / "kernlens.toml").unlink()
    (tree / "kernlens.toml").symlink_to(folder / "kernlens.toml")
    with pytest.raises(UnsupportedError, match="a link that leads out of"):
        settings_for(tree / "k/x.cl", str(tree))


@pytest.mark.parametrize("include", ["..", "/etc", "OpenCL/../..", "out", "/"])
def test_folders_outside_of_its_own_are_not_for_a_file_to_name(
    folder: Path, include: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.parent / "elsewhere").mkdir()
    (folder / "out").symlink_to(folder.parent / "elsewhere")
    (folder / "kernlens.toml").write_text(f'[source."*"]\ninclude = ["{include}"]')
    with pytest.raises(UnsupportedError, match=f"include folder {include} is outside of .*; add it with -I"):
        settings_for("x.cl")
    # Whoever names the file himself has read it.
    path = os.path.normpath(folder / include)
    path = os.path.relpath(path) if path.startswith(f"{folder}/") else path
    assert settings_for("x.cl", file="kernlens.toml").options() == f"-I {path}"
    monkeypatch.setenv(VARIABLE, "kernlens.toml")
    assert settings_for("x.cl").options() == f"-I {path}"


@pytest.mark.parametrize(
    "option", ["-I /etc", "-I/etc", "-include /etc/passwd", "@/etc/passwd", "-s /etc/passwd", "-fplugin=/x.so", "/x"]
)
def test_nor_are_options_that_name_files(folder: Path, option: str) -> None:
    (folder / "kernlens.toml").write_text(f'[source."*"]\noptions = "-w {option}"')
    with pytest.raises(UnsupportedError, match=r'kernlens.toml, source."\*": the option .* may name a file'):
        settings_for("x.cl")
    assert settings_for("x.cl", file="kernlens.toml").options().startswith("-w ")


def test_a_folder_that_is_not_there(folder: Path) -> None:
    (folder / "kernlens.toml").write_text('[source."*"]\ninclude = "inc"')
    with pytest.raises(NotFoundError, match=f"there is no folder {folder}/inc to include from"):
        settings_for("x.cl")


def test_patterns_that_fit_no_file(folder: Path) -> None:
    (folder / "kernlens.toml").write_text(
        '[source."OpenCL/m*.cl"]\n[source."OpenCl/m1.cl"]\n[source."../x.cl"]\n[source."*"]\n[source."qqq"]'
    )
    assert unused_tables("kernlens.toml") == [
        'kernlens.toml, source."OpenCl/m1.cl": no file fits; did you mean OpenCL/m1.cl?',
        'kernlens.toml, source."qqq": no file fits',
    ]
