"""Why a program has no line table: the reason that is the reason."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kernlens.errors import FormatError
from kernlens.formats.host_object import is_static
from kernlens.formats.spirv.line_information import has_line_information
from kernlens.loading.absent_lines import drivers_leave_out, without_debug
from kernlens.model.build import Build, HeldParts, Source
from tests.writers.programs import spirv
from tests.writers.spirv import SpirvWriter

WITHOUT = spirv()
SOURCE = (Source("", "kernel void a() {}", "program"),)
OPTION, OTHER = "-gline-tables-only", "-cl-mad-enable"


def with_lines(*, debug_info: bool = False) -> bytes:
    writer = SpirvWriter().add(17, 4).add(17, 6)
    if debug_info:
        writer.add(11, 1, "NonSemantic.Shader.DebugInfo.100")
    writer.add(14, 2, 2).add(7, 2, "a.cl")
    return bytes((writer if debug_info else writer.add(8, 2, 3, 1)).build())


def test_modules_with_lines() -> None:
    assert has_line_information(memoryview(with_lines()))
    assert has_line_information(memoryview(with_lines(debug_info=True)))
    assert not has_line_information(memoryview(WITHOUT))
    assert not has_line_information(memoryview(b"BC\xc0\xde"))
    with pytest.raises(FormatError):
        has_line_information(memoryview(WITHOUT[:-4] + bytes(4)))


SPIRV, DRIVER = "the SPIR-V that the program was made from holds no lines", "NEO 22.43's drivers leave it out of zebin"
APART, ADVICE = "its debug data is not here", "was built without debug data; build with -gline-tables-only"


@pytest.mark.parametrize(
    ("options", "module", "version", "sources", "created", "reason"),
    [
        (OPTION, WITHOUT, None, (), "", SPIRV),
        (OPTION, WITHOUT, "1.73", (), "", SPIRV),
        (OPTION, WITHOUT, "1.20", SOURCE, "now", SPIRV),
        (OPTION, with_lines(), "1.20", (), "", DRIVER),
        (OPTION, b"", "1.20", (), "", DRIVER),
        (OPTION, with_lines(), "1.73", (), "", APART),
        (OPTION, b"", None, (), "", APART),
        (OPTION, WITHOUT[:-2], None, (), "", APART),
        (OTHER, b"", None, SOURCE, "now", ADVICE),
        (OTHER, WITHOUT, "1.73", SOURCE, "now", ADVICE),
        (OTHER, WITHOUT, "1.20", (), "", ADVICE),
        # Captured from SPIR-V.
        (OTHER, WITHOUT, None, (), "now", SPIRV),
        (OTHER, with_lines(), "1.20", (), "now", DRIVER),
        (None, with_lines(), None, (), "now", ADVICE),
    ],
    ids=lambda value: "" if isinstance(value, (bytes, tuple)) else str(value)[:20],
)
def test_absent_lines_have_their_reason(
    options: str | None, module: bytes, version: str | None, sources: tuple[Source, ...], created: str, reason: str
) -> None:
    build = Build("a", options=options, created=created, parts=HeldParts(spirv=module, sources=sources))
    assert reason in without_debug(build, version)


def test_versions_of_zebin() -> None:
    assert [drivers_leave_out(version) for version in ("1.20", "1.3", "0.9")] == [True] * 3
    assert [drivers_leave_out(version) for version in (None, "", "1.21", "2.0", "1", "a.b", "1." + "9" * 99)] == [
        False
    ] * 7


def test_what_is_no_static_program() -> None:
    start = bytearray(Path("/bin/true").read_bytes()[:4096])
    assert not is_static(bytes(start))
    assert not is_static(b"#!/bin/sh\n")
    assert not is_static(bytes(start[:100]))
    struct.pack_into("<H", start, 54, 0)
    assert not is_static(bytes(start))
