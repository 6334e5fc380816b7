"""The two readers of IGC's dump folders choose the same snapshots: ``pipeline/igc_dump.py`` and the OpenCL layer's.

There are two because the layer runs in an application's process, which has no Python, while an offline compile must work
where there is no layer. What one of them learns of a new compiler the other must learn as well: this fails until it has.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest

from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.model.stage import Snapshot
from kernlens.model.stages import IGC_2, CompilerKind
from kernlens.pipeline.igc import compiler_of, dump_environment
from kernlens.pipeline.igc_dump import read_dump, stands_in
from kernlens.toolchain.clang import compile_library
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, toolchain
from tests.tree import ROOT

SCRIPT = ROOT / "tests" / "integration" / "drivers" / "live_scripts" / "read_dump.py"
PRODUCTS = {"skl": SYSTEM, "dg2": SYSTEM, "bmg": NEWEST}

#: Kernels that are alike but for a constant, and an exported function, which is in a pseudo kernel of its own.
FUNCTIONS = """\
float twice(float x) { return 2 * x; }
kernel void first(global float *out) { out[0] = twice(out[1]); }
kernel void seven(global int *out) { out[0] = 7; }
kernel void eight(global int *out) { out[0] = 8; }
"""

#: Stage, form, ending, kernel (empty: the whole program), the content's SHA-256.
Delivered = tuple[str, str, str, str, str]


@dataclass(frozen=True)
class Dump:
    """A real compile's dump folder, the binary, and its compiler."""

    folder: Path
    binary: bytes
    compiler: CompilerKind

    def read(self, binary: bytes) -> tuple[Snapshot, ...]:
        return read_dump(self.folder, self.compiler, binary)


@pytest.fixture(scope="module", params=[f"{name}-{device}" for name in ("diffuse", "functions") for device in PRODUCTS])
def dump(request: pytest.FixtureRequest, darktable_kernels: Path, tmp_path_factory: pytest.TempPathFactory) -> Dump:
    """diffuse.cl of darktable has three kernels, of which one spills and is compiled again."""
    name, device = request.param.split("-")
    if PRODUCTS[device] == NEWEST:
        request.getfixturevalue("newest_root")
    folder = tmp_path_factory.mktemp(name)
    source, options = darktable_kernels / "diffuse.cl", f"-cl-std=CL2.0 -I {darktable_kernels}"
    if name == "functions":
        source, options = folder.with_suffix(".spv"), "-library-compilation"
        folder.with_suffix(".cl").write_text(FUNCTIONS)
        source.write_bytes(compile_library(folder.with_suffix(".cl")).spirv)
    chosen = toolchain(PRODUCTS[device])
    options = f"-gline-tables-only {options}"
    result = compile_source(source, device, options, chosen, environment=dump_environment(folder))
    assert result.ok, result.log
    return Dump(folder, result.binary, compiler_of(chosen))


def of_layer(dump: Dump, stage: str, binaries: Sequence[bytes], folder: Path) -> list[list[Delivered]]:
    """What the layer delivers of each program, of one stage or of ``all``."""
    keep = folder / "keep"
    keep.mkdir()
    paths = [folder / f"{number}.bin" for number in range(len(binaries))]
    for path, binary in zip(paths, binaries, strict=True):
        path.write_bytes(binary)
    command: list[str | Path] = [sys.executable, SCRIPT, dump.folder, keep, stage, *paths]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [
        [(kernel[0], kernel[1], kernel[2], kernel[3], kernel[4]) for kernel in program]
        for program in json.loads(done.stdout)
    ]


def of_python(dump: Dump) -> Iterator[Delivered]:
    """The same of the Python reader: a stage of one form has that one, whatever form is asked for."""
    result = dump.read(dump.binary)
    for stage in dump.compiler.stages:
        forms = {"source": [], "program": [], "spirv": ["text"], "visa": ["text", "binary"]}
        if stage.name == "resources":
            forms[stage.name] = ["text", "binary"]
        for form in forms.get(stage.name, stage.forms):
            for item in result:
                if (item.stage, item.form) == (stage.name, stage.form(form)):
                    yield item.stage, form, item.ending, item.kernel or "", sha256(item.content).hexdigest()


def test_both_choose_the_same(dump: Dump, tmp_path: Path) -> None:
    (theirs,) = of_layer(dump, "all", [dump.binary], tmp_path)
    ours = list(of_python(dump))
    assert theirs == sorted(ours, key=lambda item: order(dump, item))
    assert len({entry[3] for entry in ours if entry[0] == "gen-assembly"} - {PSEUDO_KERNEL}) == 3


def order(dump: Dump, delivered: Delivered) -> tuple[int, bool]:
    return [stage.name for stage in dump.compiler.stages].index(delivered[0]), delivered[1] == "binary"


def test_both_have_one_rule_for_code_that_stands_in_a_binary(dump: Dump, tmp_path: Path) -> None:
    """Every byte counts, but for the 8 of the hash that IGC 2 appends: a cached program's may be another one."""
    kernel, code = next(
        (snapshot.kernel or "", snapshot.content) for snapshot in dump.read(dump.binary) if snapshot.ending == ".dat"
    )
    offsets = (-len(code), -65, -64, -53, -52, -49, -48, -37, -36, -33, -32, -20, -4, -1)
    binaries = []
    for offset in offsets:
        changed = bytearray(code)
        changed[offset] ^= 1
        binaries.append(dump.binary.replace(code, changed))
    hash_bytes = {*range(-52, -48), *range(-36, -32)} if dump.compiler == IGC_2 else set()
    assert [offset for offset, binary in zip(offsets, binaries, strict=True) if stands_in(code, binary)] == [
        offset for offset in offsets if offset in hash_bytes
    ]
    for offset, theirs in zip(offsets, of_layer(dump, "gen-assembly", binaries, tmp_path), strict=True):
        delivered = any(entry[2:4] == (".dat", kernel) for entry in theirs)
        assert delivered == (offset in hash_bytes), offset


def test_both_take_the_last_of_several_attempts_in_the_binary(dump: Dump, tmp_path: Path) -> None:
    binary = b"".join(path.read_bytes() for path in sorted(dump.folder.glob("*.dat")))
    ours = {
        snapshot.kernel: sha256(snapshot.content).hexdigest()
        for snapshot in dump.read(binary)
        if snapshot.ending == ".dat"
    }
    (theirs,) = of_layer(dump, "gen-assembly", [binary], tmp_path)
    assert {entry[3]: entry[4] for entry in theirs if entry[2] == ".dat"} == ours
