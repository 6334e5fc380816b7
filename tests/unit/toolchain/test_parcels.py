"""Parcels: the files of a compile as bytes, and their copies on another machine."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from kernlens.errors import KernlensError
from kernlens.toolchain.sources.parcels import copied_options, parcel_for, read_parcel
from tests.tree import ROOT


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (tmp_path / "inc").mkdir()
    (folder / "src/a.cl").write_text('#include "near.h"\n#include <far.h>\n')
    (folder / "src/near.h").write_bytes(b"\xef\xbb\xbfint near;\n")
    (tmp_path / "inc/far.h").write_text('#include "../project/src/near.h"\n#include <nowhere/x.h>\n')
    (tmp_path / "inc/alias.h").symlink_to("far.h")
    monkeypatch.chdir(folder)
    return folder


def test_copies_lie_as_the_originals_do(project: Path, tmp_path: Path) -> None:
    """Headers count their lines from 1 under their own names, and a folder to include from is there, if empty."""
    (project / "src/a.cl").write_text('#include "near.h"\n#include <far.h>\n#include <alias.h>\n')
    content = parcel_for(Path("src/a.cl"), "-I ../inc -I none")
    assert hashlib.sha256(zstandard.ZstdDecompressor().decompress(content)).digest() == _in_another_process()
    parcel = read_parcel(content)
    below = tmp_path / "below"
    below.mkdir()
    copy = parcel.unpack(str(below), copied_options(Path("src/a.cl"), f"-DX=1 -I {tmp_path}/inc -gline-tables-only"))
    assert copy.folder == f"{below}{project}"
    assert copy.name == "src/a.cl"
    assert copy.path.read_bytes() == Path("src/a.cl").read_bytes()
    assert copy.options == f"-DX=1 -I ../inc -gline-tables-only -s {project}/src/a.cl -I src"
    header = Path(f"{below}{tmp_path}/inc/far.h")
    assert header.read_text().startswith(f'#line 1 "{tmp_path}/inc/far.h"\n#include "../project')
    assert header.samefile(header.with_name("alias.h")), "what is to be included once is one file"
    near = Path(f"{below}{project}/src/near.h")
    assert near.read_bytes() == f'#line 1 "{project}/src/near.h"\nint near;\n'.encode()
    assert Path(f"{below}{project}/none").is_dir()
    assert parcel.missing == ("nowhere/x.h",)
    assert [source.path for source in parcel.sources] == [
        f"{project}/src/a.cl", f"{tmp_path}/inc/alias.h", f"{tmp_path}/inc/far.h", f"{project}/src/near.h"
    ]  # fmt: skip
    assert parcel.sources[1].text == parcel.sources[2].text


def _in_another_process() -> bytes:
    """Return the digest of the same parcel where sets have another order."""
    code = """if True:
        import hashlib, sys, zstandard
        from pathlib import Path
        from kernlens.toolchain.sources.parcels import parcel_for
        content = zstandard.ZstdDecompressor().decompress(parcel_for(Path("src/a.cl"), "-I ../inc -I none"))
        sys.stdout.buffer.write(hashlib.sha256(content).digest())"""
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout


@pytest.mark.parametrize(
    ("text", "options", "reason"),
    [
        ("char *built = __TIME__;", "", "contains __TIME__"),
        ("#define H <x.h>\n#include H", "", "a macro names a file"),
        ("#include FULL", "", "by its full path"),
        ("", "-include near.h", "may refer to a file"),
        ('#include "named.h"', "", "uses __FILE__, and is included by a relative name"),
    ],
)
def test_what_cannot_travel(text: str, options: str, reason: str, project: Path) -> None:
    (project / "src/named.h").write_text("constant char name[] = __FILE__;\n")
    (project / "src/b.cl").write_text(text.replace("FULL", f'"{project}/src/near.h"'))
    with pytest.raises(ValueError, match=reason):
        parcel_for(Path("src/b.cl"), options)


def test_a_header_of_the_worker_alone(project: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parcel = read_parcel(parcel_for(Path("src/a.cl"), "-I ../inc"))
    assert parcel.foreign_header() == ""
    (tmp_path / "nowhere").mkdir()
    (tmp_path / "nowhere/x.h").write_text("")
    monkeypatch.setattr("kernlens.toolchain.sources.parcels.SYSTEM_INCLUDES", (str(tmp_path),))
    assert parcel.foreign_header() == f"{tmp_path}/nowhere/x.h"


@pytest.mark.parametrize(
    "change",
    [
        {"files": [["/a/../../etc/x", 0]]},
        {"files": [["relative", 0]]},
        {"files": [["/a", 5]]},
        {"files": [["/a\0", 0]]},
        {"links": {"/b": "/none"}},
        {"folder": "//a"},
        {"folders": ["/a/.."]},
        {"headers": None},
        {"files": 3},
    ],
)
def test_hostile_parcels(change: dict[str, object]) -> None:
    head: dict[str, object] = {"folder": "/a", "source": "/a/b", "files": [["/a/b", 0]], "links": {}, "headers": [],
                               "shown": [], "missing": [], "folders": []}  # fmt: skip

    def packed(document: dict[str, object]) -> bytes:
        return zstandard.ZstdCompressor().compress(json.dumps(document).encode() + b"\n")

    assert read_parcel(packed(head)).folder == "/a"
    for content in (packed(head | change), b"", os.urandom(50)):
        with pytest.raises(KernlensError, match="install the same kernlens"):
            read_parcel(content)
