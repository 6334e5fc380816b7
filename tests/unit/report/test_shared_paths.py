"""Pages that are given away: without the sharer's folders, and with what they leave out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernlens.model.build import Build, HeldParts, Source
from kernlens.recording.writer import RecordingWriter
from kernlens.report.shared_paths import SharedPaths
from tests.explore_reader import Page
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE, binary, decoded, spirv

HOME = "/home/alicia"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("/home/al/proj/k/a.cl:3", "k/a.cl:3"),
        ("-I /home/al/proj -I/home/al/other", "-I . -I~/other"),
        ("/home/alicia/x, /home/al", "~/x, ~"),
        ("/home/al/project/b.cl", "~/project/b.cl"),
        ("/scratch/run/out and /scratch/running", "./out and /scratch/running"),
        ("/usr/include/x.h", "/usr/include/x.h"),
    ],
)
def test_paths_in_texts_and_in_json(text: str, told: str) -> None:
    paths = SharedPaths(["/home/al/proj/k/a.cl", "/home/al/proj/b.cl", "/usr/include/x.h"], "/scratch/run", "/home/al")
    assert paths.text(text) == told
    assert json.loads(paths.json(json.dumps({"a": f'"{text}"'}).encode())) == {"a": f'"{told}"'}


def test_sources_that_have_no_folder_in_common_keep_their_names() -> None:
    paths = SharedPaths(["/work/a.cl", "/data/b.cl"], "/", "")
    assert paths.text("/work/a.cl /data/b.cl") == "/work/a.cl /data/b.cl"
    umlaut = SharedPaths([], "", "/data/jörg")
    assert umlaut.json(json.dumps("/data/jörg/x").encode()) == b'"~/x"'
    assert umlaut.text("/data/jörg/x") == "~/x"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder within somebody's home folder, with a recording that names it, a damaged file, and SPIR-V."""
    home = tmp_path / "home" / "of-alice"
    folder = home / "project" / "all"
    folder.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    monkeypatch.setattr("kernlens.report.explore.single_file.viewer_script", lambda **_: "viewer")
    path = str(folder.parent / "k" / "scale.cl")
    parts = HeldParts(f"{path}:1:1: warning: odd\n", binary(), sources=(Source(path, SOURCE),))
    options = f"-I {home}/include -DX"
    with RecordingWriter(folder / "a.klens") as writer:
        writer.add(Build("scale", "skl", options=options, command=f"ocloc {options} {path}", path=path, parts=parts))
        writer.add(Build("bad", "skl", ok=False, reason=f"{path} is bad", path=path, parts=HeldParts(f"{path}: no")))
    (folder / "module.spv").write_bytes(spirv())
    (folder / "cut.bin").write_bytes(binary()[:200])
    return folder


def content(path: Path) -> str:
    page = Page(path.read_text())
    return "\n".join(
        [path.read_text(), json.dumps(page.index), *(str(page.chunk(chunk)) for chunk in page.index["chunks"])]
    )


def test_a_page_does_not_have_the_sharer_s_folders(kernlens: Kernlens, folder: Path, tmp_path: Path) -> None:
    assert kernlens("report", folder / "a.klens", "-o", tmp_path / "x.html").status == 0
    text = content(tmp_path / "x.html")
    assert str(tmp_path) not in text
    assert "of-alice" not in text
    index = Page((tmp_path / "x.html").read_text()).index
    good, bad = index["programs"]
    assert [file["path"] for file in good["files"]] == ["scale.cl"]
    assert good["command"] == "ocloc -I ~/include -DX scale.cl"
    assert bad["reason"] == "bad does not compile for skl: scale.cl is bad"
    assert kernlens("report", folder / "a.klens", "-o", tmp_path / "x.html", "--paths").status == 0
    assert str(folder.parent / "k" / "scale.cl") in content(tmp_path / "x.html")


def test_what_a_page_of_a_folder_leaves_out_is_said(kernlens: Kernlens, folder: Path, tmp_path: Path) -> None:
    done = kernlens("report", folder, "-o", tmp_path / "x.html")
    assert done.status == 2, "a file is damaged"
    assert "1 file of the folder" in done.err
    assert (
        "kernlens: module is left out of the page: it is SPIR-V, which kernlens compile makes machine code of"
        in done.err
    )
    programs = {program["name"]: program for program in Page((tmp_path / "x.html").read_text()).index["programs"]}
    assert set(programs) == {"scale", "bad", "module", "~/project/all/cut.bin"}
    assert programs["module"]["reason"].startswith("it is SPIR-V")
    assert programs["~/project/all/cut.bin"]["reason"].startswith("it cannot be read: ")
    assert not programs["bad"]["ok"]
