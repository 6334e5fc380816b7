"""What the dynamic loader reads of files: of real ones as other readers do, of made ones whatever is wrong with them."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

from kernlens.errors import FormatError
from kernlens.formats.elf.dynamic import DynamicLinking, read_dynamic
from kernlens.formats.library_cache import read_library_cache
from tests.writers.dynamic import dynamic_file, library_cache

CACHE = Path("/etc/ld.so.cache")
LIBRARIES = 120


def by_pyelftools(path: Path) -> tuple[list[str], str, list[str], list[str]]:
    with path.open("rb") as file:
        segments = [each for each in ELFFile(file).iter_segments() if isinstance(each, DynamicSegment)]
        tags = [tag for segment in segments for tag in segment.iter_tags()]
        texts: dict[str, list[str]] = {"needed": [], "soname": [], "rpath": [], "runpath": []}
        for tag in tags:
            name = tag.entry.d_tag.removeprefix("DT_").lower()
            if name in texts:
                texts[name].append(getattr(tag, name))
        folders = [[each for path in texts[name] for each in path.split(":") if each] for name in ("rpath", "runpath")]
        return texts["needed"], next(iter(texts["soname"]), ""), folders[0], folders[1]


def test_real_libraries_read_as_by_pyelftools() -> None:
    folders = [Path(folder) for folder in ("/usr/bin", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu")]
    paths = [path for folder in folders for path in sorted(folder.glob("*")) if path.is_file()]
    compared = 0
    for path in paths[:: max(1, len(paths) // LIBRARIES)]:
        content = path.read_bytes()
        if content[:5] == b"\x7fELF\x02":
            read = read_dynamic(memoryview(content))
            assert ([*read.needed], read.soname, [*read.rpath], [*read.runpath]) == by_pyelftools(path), path
            compared += 1
    assert compared > 10


def test_what_a_file_has() -> None:
    content = dynamic_file(
        ["libOpenCL.so.1", "libc.so.6"],
        soname="libx.so.1",
        rpath="$ORIGIN/a:/b",
        runpath="/c",
        interpreter="/lib/ld.so",
    )
    assert read_dynamic(memoryview(content)) == DynamicLinking(
        machine=62,
        interpreter="/lib/ld.so",
        needed=("libOpenCL.so.1", "libc.so.6"),
        soname="libx.so.1",
        rpath=("$ORIGIN/a", "/b"),
        runpath=("/c",),
        is_dynamic=True,
    )


@pytest.mark.parametrize(
    ("place", "layout", "value", "reason"),
    [
        (54, "<H", 32, "program headers of 32 bytes"),
        (32, "<Q", 1 << 40, "program headers do not fit"),
        (64 + 32, "<Q", 1 << 40, "does not fit into the file"),
        (64 + 16, "<Q", 1 << 20, "lie in no segment"),
        (4, "<B", 1, "32-bit ELF"),
    ],
)
def test_a_damaged_file(place: int, layout: str, value: int, reason: str) -> None:
    content = bytearray(dynamic_file(["libc.so.6"]))
    struct.pack_into(layout, content, place, value)
    with pytest.raises(FormatError, match=reason):
        read_dynamic(memoryview(bytes(content)))


def test_a_file_that_is_cut_off() -> None:
    content = dynamic_file(["libc.so.6"], runpath="/a")
    for size in range(len(content)):
        with pytest.raises(FormatError):
            read_dynamic(memoryview(content[:size]))


@pytest.mark.skipif(
    not CACHE.is_file() or shutil.which("ldconfig") is None, reason="no cache of libraries, or no ldconfig"
)
def test_the_machines_cache_reads_as_by_ldconfig() -> None:
    listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True, timeout=60).stdout
    rows = re.findall(r"^\t(\S+) \(libc6,(?:x86-64|AArch64)[^)]*\) => (\S+)$", listed, re.MULTILINE)
    assert rows
    content = memoryview(CACHE.read_bytes())
    for name in sorted({name for name, _ in rows})[::10]:
        assert read_library_cache(content, name) == [path for other, path in rows if other == name]


@pytest.mark.parametrize("older", [0, 1, 2])
def test_a_cache(older: int) -> None:
    libraries = [("liba.so.1", "/a/liba.so.1", 0x303), ("liba.so.1", "/32/liba.so.1", 0x3), ("liba.so.1", "/b", 0x303)]
    content = library_cache([*libraries, ("liba.so.10", "/c", 0x303)], older=older)
    assert read_library_cache(memoryview(content), "liba.so.1") == ["/a/liba.so.1", "/b"]
    assert read_library_cache(memoryview(content), "libb.so.1") == []
    for size in range(len(content)):
        with pytest.raises(FormatError):
            read_library_cache(memoryview(content[:size]), "liba.so.1")
