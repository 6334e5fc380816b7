"""IGC 2 leaves a hash of what it compiled behind the end of a kernel's thread: no instructions, and the only ones that
iga64 prints and kernlens does not."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import kernlens
from kernlens.model.kernel import Kernel
from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.assemble import assemble
from tests.integration.toolchain.toolchain_fixtures import newest, system

__all__ = ["newest", "system"]

SOURCE = """
__attribute__((noinline)) float far(float x) { return x * x + native_sin(x); }
kernel void calling(global float* out) { out[get_global_id(0)] = far(out[get_global_id(0)]) + far(2.0f); }
kernel void plain(global float* out) { if (get_global_id(0) < 40) out[get_global_id(0)] *= 2.0f; }
"""
#: Of stack calls: functions stand behind the kernels.
CALLS = "-igc_opts 'FunctionControl=3'"
PLATFORMS = {"tgllp": "xe", "dg2": "xehpg", "pvc": "xehpc", "bmg": "xe2", "ptl": "xe3"}
HASH = re.compile(r"\(W\) +mov \(16\|M0\) +null<1>:ud +0x([0-9A-F]+):ud")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "calls.cl"
    path.write_text(SOURCE)
    return path


def printed(kernel: Kernel, device: str, newest: Toolchain, folder: Path) -> list[str]:
    """The code as iga64 prints it."""
    code = folder / "code"
    code.write_bytes(kernel.code)
    done = subprocess.run(
        newest.command("iga64", f"-p={PLATFORMS[device]}", "-d", str(code)), capture_output=True, check=True
    )
    return [
        text for line in done.stdout.decode().splitlines() if (text := line.split("//")[0].strip()) and text[-1] != ":"
    ]


@pytest.mark.parametrize("device", PLATFORMS)
@pytest.mark.parametrize("options", ["", CALLS])
def test_iga64_prints_the_instructions_and_the_hash(
    device: str, options: str, source: Path, newest: Toolchain, tmp_path: Path
) -> None:
    (program,) = kernlens.compile(source, device, toolchain="newest", options=options)
    for kernel in program.kernels.values():
        theirs = printed(kernel, device, newest, tmp_path)
        ours = [text.split("//")[0].strip() for text in kernel.instructions.texts]
        assert len(theirs) == len(ours) + 4 == kernel.instruction_count + 4
        row = next(row for row, text in enumerate(theirs) if HASH.fullmatch(text))
        assert theirs[:row] + theirs[row + 4 :] == ours
        trailer = kernel.trailer
        assert trailer is not None
        values = [int(match[1], 16) for text in theirs[row : row + 4] if (match := HASH.fullmatch(text))]
        assert values == [trailer.hash >> 32, trailer.hash & 0xFFFFFFFF, 0, trailer.number]
        assert kernel.code_size == len(kernel.code) - 64
        assert sum(kernel.instructions.sizes) == kernel.code_size
        assert kernel.costs["instructions"] == len(ours)
        assert kernel.code_change is None
        assert [function.offset >= trailer.end for function in kernel.functions] in ([], [False, True])
        if not options:
            assert bool(kernel.functions) == (kernel.name == "calling")


def test_the_older_compiler_leaves_none(source: Path, system: Toolchain) -> None:
    for device in ("skl", "tgllp", "dg2", "pvc"):
        (program,) = kernlens.compile(source, device, toolchain=system.name)
        for kernel in program.kernels.values():
            assert kernel.trailer is None
            assert kernel.code_size == len(kernel.code)


def test_the_text_to_edit_keeps_the_hash(source: Path, newest: Toolchain, tmp_path: Path) -> None:
    """What is put back unchanged is the code, byte by byte."""
    from kernlens.verbs.editable import editable_text

    (program,) = kernlens.compile(source, "bmg", toolchain=newest.name, options=CALLS)
    binary = tmp_path / "program.zebin"
    binary.write_bytes(program.binary)
    for kernel in program.kernels.values():
        text = "\n".join(editable_text(str(binary), program, kernel)) + "\n"
        assert sum(bool(HASH.match(line)) for line in text.splitlines()) == 4
        assert assemble(text, into=binary, kernel=kernel.name).code == bytes(kernel.code)
