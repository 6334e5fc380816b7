"""The layer's reader of NVIDIA's compute cache, compiled for itself: the same code as Python's reader."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.nvidia_files import DRIVER_ENTRY, LINES_ENTRY, OPENCL, PLAIN_ENTRY, entry, opencl, unpack
from tests.tree import ROOT

MAIN = r"""
#include "base/files.h"
#include "opencl_layer/compilers/stages.h"
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    (void)count;
    size_t size = 0;
    char *ptx = file_read(words[1], &size);
    struct view binary = {.bytes = (const unsigned char *)ptx, .size = size};
    const struct stage_form form = {&nvidia_compiler, stage_named(&nvidia_compiler, "sass"), false};
    struct snapshots snapshots = {0};
    nvidia_compiler.collect(&form, NULL, &binary, &snapshots);
    for (size_t index = 0; index < snapshots.count; ++index)
        fwrite(snapshots.items[index].bytes, 1, snapshots.items[index].size, stdout);
    snapshots_free(&snapshots);
    free(ptx);
    return 0;
}
"""
Reader = Callable[[bytes, "Path | None"], bytes]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    gcc = shutil.which("gcc")
    if gcc is None:
        pytest.skip("no gcc here")
    folder = tmp_path_factory.mktemp("cached")
    (folder / "main.c").write_text(MAIN)
    native = ROOT / "native"
    sources = [*sorted((native / "base").glob("*.c")), *(native / "opencl_layer" / "compilers").glob("[ns]*.c")]
    flags = [
        "-std=c11",
        "-g",
        "-fsanitize=address,undefined",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{native}",
        "-pthread",
        "-ldl",
    ]
    program = folder / "reader"
    subprocess.run([gcc, *map(str, sources), str(folder / "main.c"), *flags, "-o", str(program)], check=True)

    def read(ptx: bytes, cache: Path | None) -> bytes:
        path = folder / "program.ptx"
        path.write_bytes(ptx)
        variables = {"PATH": "/usr/bin", **({"CUDA_CACHE_PATH": str(cache)} if cache else {"HOME": str(folder)})}
        done = subprocess.run([program, path], env=variables, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return read


def test_the_code_of_exactly_this_ptx(reader: Reader, tmp_path: Path) -> None:
    cache = unpack(OPENCL, tmp_path) / "ComputeCache"
    for name, ptx in ((PLAIN_ENTRY, "program.ptx"), (LINES_ENTRY, "program_with_nv_line_info.ptx")):
        assert reader(opencl(ptx), cache) == bytes(entry(name).result)
    assert reader(entry(DRIVER_ENTRY).ptx, cache) == bytes(entry(DRIVER_ENTRY).result)
    assert reader(opencl("program.ptx").replace(b"mul.wide.s32", b"mul.wide.u32", 1), cache) == b""
    assert reader(opencl("program.ptx").rstrip(b"\0")[:-9], cache) == b""
    assert reader(b"\0", cache) == b""
    assert reader(opencl("program.ptx"), None) == b""


def test_damaged_entries_and_several(reader: Reader, tmp_path: Path) -> None:
    content, ptx = opencl(PLAIN_ENTRY), opencl("program.ptx")
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    for size in (0, 3, 20, 28, 60, len(content) - 1):
        (folder / "entry").write_bytes(content[:size])
        assert reader(ptx, tmp_path) == b"", size
    (folder / "entry").write_bytes(content[:4] + b"\xff" * 16 + content[20:])
    assert reader(ptx, tmp_path) == b""
    (folder / "entry").write_bytes(content)
    assert reader(ptx, tmp_path) == bytes(entry(PLAIN_ENTRY).result)
    (folder / "same").write_bytes(content)
    assert reader(ptx, tmp_path) == bytes(entry(PLAIN_ENTRY).result)
    (folder / "other").write_bytes(content[:-1] + b"\1")
    assert reader(ptx, tmp_path) == b""
