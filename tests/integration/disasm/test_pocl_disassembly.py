"""PoCL's machine code: instructions as llvm-objdump prints them, lines as llvm-dwarfdump does, and the code that ran."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernlens
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.poclbin import read_poclbin
from kernlens.isa.llvm.llvm_libraries import llvm_for
from kernlens.loading.open import open_file
from kernlens.model.binary import Container
from kernlens.model.line_table import END_SEQUENCE
from tests.tree import ROOT
from tests.whole import WHOLE

pytestmark = [
    pytest.mark.skipif(not Path("/etc/OpenCL/vendors/pocl.icd").exists(), reason="PoCL is not installed"),
    pytest.mark.skipif(not shutil.which("llvm-objdump-15"), reason="llvm-15 is not installed"),
]

#: Beside a real kernel of darktable's, or all of them in the long run.
EXAMPLES = sorted((ROOT / "examples" / "kernels").glob("*.cl"))
#: Builds each source named on standard input on PoCL, and writes its binary beside its number.
BUILD = """
import sys, pyopencl as cl
(device,) = [p for p in cl.get_platforms() if p.name.startswith("Portable")][0].get_devices()[:1]
context = cl.Context([device])
for number, path in enumerate(sys.stdin.read().split()):
    program = cl.Program(context, open(path).read())
    binary = program.build("-g -I " + path.rpartition("/")[0], cache_dir=False).binaries[0]
    open(f"{sys.argv[1]}/{number}.poclbin", "wb").write(binary)
"""
#: Runs a kernel and then asks for its program's binary, which holds what ran. Prints a digest of what it computed.
RUN = """
import hashlib, sys, numpy, pyopencl as cl
(device,) = [p for p in cl.get_platforms() if p.name.startswith("Portable")][0].get_devices()[:1]
context = cl.Context([device]); queue = cl.CommandQueue(context)
source = "kernel void twice(global const int *in, global int *out) { out[get_global_id(0)] = 2 * in[get_global_id(0)] + 1; }"
program = cl.Program(context, source).build("-g", cache_dir=False)
numbers = numpy.arange(4096, dtype=numpy.int32); result = numpy.zeros_like(numbers)
flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
buffers = [cl.Buffer(context, flags, hostbuf=each) for each in (numbers, result)]
program.twice(queue, (4096,), (64,), *buffers)
cl.enqueue_copy(queue, result, buffers[1]); queue.finish()
assert (result == 2 * numbers + 1).all()
print(hashlib.sha256(result.tobytes()).hexdigest())
if len(sys.argv) > 1:
    import json, kernlens
    open(sys.argv[1], "wb").write(program.binaries[0])
    # PoCL's LLVM lives in this process, and kernlens's in another.
    live = kernlens.from_opencl(program)[0]
    print(json.dumps({kernel.name: list(kernel.instructions.texts) for kernel in live.kernels.values()}))
"""
DWARFDUMP_ROW = re.compile(r"0x([0-9a-f]{16}) +(\d+) +(\d+) +(\d+) +\d+ +\d+ +(.*)$", re.MULTILINE)


def run(script: str, *words: str, stdin: str = "", **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory, darktable_kernels: Path) -> list[Path]:
    """The program binaries of kernels, built by PoCL with lines."""
    folder = tmp_path_factory.mktemp("poclbin")
    sources = [*EXAMPLES, *(sorted(darktable_kernels.glob("*.cl")) if WHOLE else [darktable_kernels / "soften.cl"])]
    run(
        BUILD,
        str(folder),
        stdin="\n".join(map(str, sources)),
        POCL_CACHE_DIR=str(folder / "cache"),
    )
    return sorted(folder.glob("*.poclbin"))


def shared_objects(binary: Path) -> Iterator[tuple[str, bytes]]:
    for kernel in read_poclbin(memoryview(binary.read_bytes())).kernels:
        yield from ((kernel.name, bytes(file.data)) for file in kernel.files if file.name.endswith(".so"))


def as_one_line(text: str) -> str:
    """A text with single spaces, and without what llvm-objdump adds of symbols."""
    return re.sub(r" <[^<>]*>(?=$| #)", "", " ".join(text.split()))


def test_instructions_as_llvm_objdump_prints_them(binaries: list[Path], tmp_path: Path) -> None:
    major = next(llvm_for("x86")).major
    objdump = shutil.which(f"llvm-objdump-{major}")
    if objdump is None:
        pytest.skip(f"llvm-objdump-{major} is not installed")
    compared = 0
    for binary in binaries:
        (program,) = kernlens.load(binary)
        for name, content in shared_objects(binary):
            path = tmp_path / "code.so"
            path.write_bytes(content)
            command = [objdump, "-d", "--no-show-raw-insn", "--section=.text", str(path)]
            listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            # The address that is read stands in a line of its own if there is another comment.
            listing = re.sub(r"\n +# ", " # ", listing)
            start = read_elf(memoryview(content)).section(".text")
            assert start is not None
            matches = filter(None, map(re.compile(r"\s*([0-9a-f]+):\s+(.*)$").match, listing.splitlines()))
            theirs = [(int(match[1], 16) - start.address, as_one_line(match[2])) for match in matches]
            instructions = program.kernels[name].instructions
            assert list(zip(instructions.offsets, instructions.texts, strict=True)) == theirs, (binary, name)
            compared += len(theirs)
    assert compared > 3000


def test_lines_as_llvm_dwarfdump_prints_them(binaries: list[Path], tmp_path: Path) -> None:
    compared = 0
    for binary in binaries:
        (program,) = kernlens.load(binary)
        for name, content in shared_objects(binary):
            path = tmp_path / "code.so"
            path.write_bytes(content)
            command = ["llvm-dwarfdump-15", "--debug-line", str(path)]
            listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            section, table = read_elf(memoryview(content)).section(".text"), program.kernels[name].line_table
            assert section is not None
            assert table is not None
            theirs = [
                (int(address, 16) - section.address, int(line), int(column), int(file), "end_sequence" in flags)
                for address, line, column, file, flags in DWARFDUMP_ROW.findall(listing)
            ]
            ends = [bool(flag & END_SEQUENCE) for flag in table.flags]
            own = list(zip(table.offsets, table.lines, table.columns, table.files_of, ends, strict=True))
            assert own == theirs, (binary, name)
            compared += len(own)
    assert compared > 300


def files_in(container: Container) -> Iterator[Container]:
    yield container
    for child in container.children:
        yield from files_in(child)


def test_the_code_that_ran(tmp_path: Path) -> None:
    """The shared objects that PoCL loaded are those that are shown, byte for byte, and they computed what they should."""
    cache, path = tmp_path / "cache", tmp_path / "ran.poclbin"
    digest, listed = run(RUN, str(path), POCL_CACHE_DIR=str(cache)).splitlines()
    assert digest == run(RUN, POCL_CACHE_DIR=str(tmp_path / "other")).strip()
    loaded = {each.parent.name: each.read_bytes() for each in cache.rglob("*.so")}
    ran = [folder for folder in loaded if folder.startswith("64-1-1")]
    assert ran
    containers = [
        each for box in open_file(str(path)).containers for each in files_in(box) if each.name.endswith(".so")
    ]
    shown = {each.name.split("/")[-2]: bytes(each.content) for each in containers}
    assert {folder: shown[folder] for folder in ran} == {folder: loaded[folder] for folder in ran}
    kernels = kernlens.load(path)[0].kernels
    section = read_elf(memoryview(loaded[ran[0]])).section(".text")
    assert section is not None
    assert bytes(kernels["twice@64x1x1"].code) == bytes(section.data)
    texts = {name: list(kernel.instructions.texts) for name, kernel in kernels.items()}
    assert json.loads(listed) == texts


def test_a_capture_changes_no_result_and_shows_the_code(tmp_path: Path) -> None:
    script, cache, recording = tmp_path / "app.py", tmp_path / "cache", tmp_path / "app.klens"
    script.write_text(RUN)
    environment = {**os.environ, "POCL_CACHE_DIR": str(cache)}
    alone = run(RUN, POCL_CACHE_DIR=str(tmp_path / "other")).strip()
    # The code that PoCL itself compiles where an application asks for the binary.
    asking = [sys.executable, str(script), str(tmp_path / "binary")]
    subprocess.run(
        asking, check=True, capture_output=True, env={**environment, "POCL_CACHE_DIR": str(tmp_path / "asked")}
    )
    command = [sys.executable, "-m", "kernlens", "capture", "-o", str(recording), "--", sys.executable, str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert alone in done.stdout.split(), done.stderr
    (program,) = kernlens.load(recording)
    (kernel,) = program.kernels.values()
    (loaded,) = (each for each in (tmp_path / "asked").rglob("*.so") if each.parent.name == "0-0-0")
    section = read_elf(memoryview(loaded.read_bytes())).section(".text")
    assert section is not None
    assert hashlib.sha256(kernel.code).digest() == hashlib.sha256(section.data).digest()
    assert any(place for place in kernel.source_map.places) if kernel.source_map else False
    assert kernel.instructions.disassembler == next(llvm_for("x86")).title
