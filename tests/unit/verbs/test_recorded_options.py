"""The options with which an application built its sources, as ``kernlens.toml`` has them."""

from __future__ import annotations

import os
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.errors import NotFoundError
from kernlens.formats.budget_file import read_budget_file
from kernlens.model.build import Build, HeldParts, Source
from kernlens.verbs.recorded_options import recorded_options
from tests.unit.conftest import Kernlens
from tests.writers.recordings import FAILED, record

SOURCE = "kernel void rows(global float* a) {\n    a[get_global_id(0)] *= ROWS;\n}\n"


def built(number: int, options: str, text: str = SOURCE) -> Build:
    sources = (Source("", text),) if text else ()
    return Build(f"program-{number}", "dg2", options=options, parts=HeldParts(binary=b"x", sources=sources))


def tables(folder: Path, *builds: Build) -> dict[str, object]:
    options = recorded_options(record(folder / "app.klens", *builds), folder)
    read_budget_file(options.toml().encode(), "kernlens.toml")
    (folder / "app.klens").unlink()
    assert options.toml().startswith(f"# kernlens.toml of the folder {os.path.basename(options.folder)}, from which")
    return dict(tomllib.loads(options.toml()).get("source", {}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k").mkdir()
    (tmp_path / "k/rows.cl").write_text(SOURCE)
    return tmp_path


def test_related_macros_are_sets(folder: Path) -> None:
    sets = ["-w -DROWS=8 -DX=1", "-w -DROWS=16 -D X=2", "-w -DROWS=32 -DX=2"]
    builds = [built(number, f"-g {options}") for number, options in enumerate([*sets, sets[1]])]
    variants = ["-DROWS=8 -DX=1", "-DROWS=16 -DX=2", "-DROWS=32 -DX=2"]
    assert tables(folder, *builds) == {"k/rows.cl": {"options": "-w", "variants": variants}}


def test_all_combinations_of_values_are_values_of_macros(folder: Path) -> None:
    builds = [built(number, f"-DROWS={number} -DT={each}") for number in (8, 16) for each in ("int", "half")]
    define = {"ROWS": [8, 16], "T": ["int", "half"]}
    assert tables(folder, *(replace(each, name=str(number)) for number, each in enumerate(builds))) == {
        "k/rows.cl": {"define": define}
    }
    # Without one of the four they are no combinations.
    assert len(tables(folder, *builds[:3])["k/rows.cl"]["variants"]) == 3  # type: ignore[index]


def test_what_the_application_joins_with_a_file(folder: Path) -> None:
    (folder / "app.klens").unlink(missing_ok=True)
    joined = f"#define ROWS 8\n# define T  int 4 \n\n{SOURCE}\nconstant int more = 1;"
    recording = record(folder / "app.klens", built(1, "-w", joined), built(2, "-DROWS=4"))
    options = recorded_options(recording, folder)
    (source,) = options.sources
    assert (source.path, source.added) == ("k/rows.cl", 1)
    assert source.listed == [('-DROWS=8 -D"T=int 4" -w', 1), ("-DROWS=4", 1)]
    assert options.notes == ["k/rows.cl: the application compiles 1 more line with it, which the file does not have"]


def test_folders_and_files_of_others_are_left_out(folder: Path) -> None:
    (folder / "inc").mkdir()
    text = f'#include "a.h"\n{SOURCE}'
    (folder / "k/rows.cl").write_text(text)
    recording = record(folder / "app.klens", built(1, "-I inc -I /usr/include -include /etc/passwd -DROWS=1", text))
    (source,) = (options := recorded_options(recording, folder)).sources
    assert source.include == ("inc",)
    assert "left out -I /usr/include -include /etc/passwd" in options.notes[0]
    assert tomllib.loads(options.toml())["source"] == {"k/rows.cl": {"options": "-DROWS=1", "include": ["inc"]}}


def test_what_stands_in_no_table_is_named(folder: Path, kernlens: Kernlens) -> None:
    builds = [built(1, "-w", "kernel void other() {}"), built(2, "-w", ""), FAILED, built(3, "-DROWS=1")]
    recording = record(folder / "app.klens", *builds)
    done = kernlens("recording", "options", str(recording), "--toml", "--source-root", str(folder))
    notes = [
        "program-1: no file has this source; kernlens extract writes it",
        "program-2: the recording has no source text",
        "broken: the build failed",
    ]
    assert done.err.splitlines() == [f"kernlens: {note}" for note in notes]
    assert done.out.splitlines() == [
        f"# kernlens.toml of the folder {folder.name}, from which the paths are",
        *(f"# {note}" for note in notes),
        "",
        '[source."k/rows.cl"]',
        'options = "-DROWS=1"',
    ]
    document = kernlens("recording", "options", str(recording), "--json", "--source-root", str(folder)).document
    assert [each["source"] for each in document["sources"]] == [None, "k/rows.cl"]
    assert document["notes"] == notes
    with pytest.raises(NotFoundError, match="no source text"):
        recorded_options(record(folder / "other.klens", FAILED), folder)


def test_a_name_with_marks_of_patterns_fits_itself_alone(folder: Path) -> None:
    (folder / "k/rows.cl").rename(folder / 'r[0]*"é.cl')
    assert tables(folder, built(1, "-DROWS=1")) == {'r[[]0][*]"é.cl': {"options": "-DROWS=1"}}
