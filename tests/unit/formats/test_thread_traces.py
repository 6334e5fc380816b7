"""Thread traces of rocprofv3, by the printing rules of ``CodeFile::~CodeFile`` (ROCm/rocprofiler-sdk,
source/lib/att-tool/code.cpp, 2025). No file of an AMD GPU was at hand."""

from __future__ import annotations

import pytest

from kernlens.errors import FormatError
from kernlens.formats.samples.thread_trace import MEASURES, is_thread_trace, read_thread_trace

HEADING = "CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source\n"
TRACE = (
    '3,6396,"s_nop 0",1,4,0,0,""\n'
    '3,6400,"; blur",0,0,0,0,"void blur<float, 2>(float*)"\n'
    '3,6400,"s_load_dwordx2 s[0:1], s[4:5], 0x0",64,256,0,8,"/src/a.cl:3"\n'
    '3,6408,"s_waitcnt lgkmcnt(0)",64,9000,8744,0,"/src/a.cl:4 -> /src/"b.h":7"\n'
    '3,6656,"; scale.kd",0,0,0,0,""\n'
    '3,6660,"s_endpgm",8,32,0,0,""\n'
    '4,6664,"s_endpgm",8,32,0,0,""\n'
)


def test_counts_come_by_offset_from_each_kernels_beginning() -> None:
    content = (HEADING + TRACE).encode()
    assert is_thread_trace(content)
    samples = read_thread_trace(content)
    assert (samples.profiler, samples.reasons, samples.measures, samples.total) == ("rocprofv3", (), MEASURES, 0)
    assert [(each.name, each.address, dict(each.measured)) for each in samples.kernels] == [
        ("void blur<float, 2>(float*)", 6400, {0: (64, 256, 0, 8), 8: (64, 9000, 8744, 0)}),
        ("scale", 6656, {4: (8, 32, 0, 0)}),
    ], "rows of another code object, and before a kernel, are of none that is known"


def test_the_documented_heading_and_others() -> None:
    """AMD's page has another case of letters, and quotes around each title."""
    assert is_thread_trace(HEADING.replace("CodeObj", "Codeobj").replace("\n", "\r\n").encode())
    assert is_thread_trace((",".join(f'"{each}"' for each in HEADING.strip().split(",")) + "\n").encode())
    assert not is_thread_trace(HEADING.replace("Idle,", "").encode())
    assert not is_thread_trace(b"Kernel, IP[Address], Active[Events]\n")


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ('3,6400,"s_nop 0",1,2,3\n', "line 3 is no instruction with its counts"),
        (f'3,6400,"s_nop 0",{1 << 64},2,3,4,""\n', "line 3 is no instruction"),
        ('3,6400,"s_nop 0",-1,2,3,4,""\n', "line 3 is no instruction"),
        ('3,16,"s_nop 0",1,2,3,4,""\n', "line 3 has an address before its kernel's"),
    ],
)
def test_rows_that_are_none(row: str, words: str) -> None:
    with pytest.raises(FormatError, match=words):
        read_thread_trace((HEADING + '3,6400,"; blur",0,0,0,0,""\n' + row).encode())


def test_a_trace_without_a_kernel_is_refused() -> None:
    with pytest.raises(FormatError, match="no row is a kernel's beginning"):
        read_thread_trace(HEADING.encode())
