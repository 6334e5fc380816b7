"""Counts of rocprofv3's thread traces: ``stats_ui_output_agent_N_dispatch_M.csv``, which ``rocprofv3 --att`` leaves.

Layout: ``CodeFile::~CodeFile`` of ROCm/rocprofiler-sdk, source/lib/att-tool/code.cpp (2025), and AMD's page "Using thread
trace". ``CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source`` and a row for each instruction that was traced, by
code object and virtual address in it. Where a kernel begins, a row comes before that, with ``"; NAME"`` for an instruction
and the demangled name for a source. Quotes within cells are not escaped. What is counted are executions and cycles, not
samples.
"""

from __future__ import annotations

import re

from kernlens.dataclass import dataclass, field
from kernlens.errors import FormatError
from kernlens.model.allowance import KERNEL_WEIGHT, Allowance
from kernlens.model.samples import Counts, SampledKernel, Samples, summed

FORMAT = "rocprofv3's thread trace"
#: What is counted at each instruction, by the names of the columns.
MEASURES = ("Hitcount", "Latency", "Stall", "Idle")
_HEADING = ("codeobj", "vaddr", "instruction", "hitcount", "latency", "stall", "idle", "source")
_ROW = re.compile(r'(\d{1,20}),(\d{1,20}),"(.*)",(\d{1,20}),(\d{1,20}),(\d{1,20}),(\d{1,20}),"(.*)"')
_KERNEL, _SYMBOL, _BITS = "; ", ".kd", 64


def is_thread_trace(content: bytes) -> bool:
    """Return whether a file is such a one."""
    line = content[:256].removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0].decode("utf-8", "replace")
    return tuple(cell.strip(' "\r').lower() for cell in line.split(",")) == _HEADING


def read_thread_trace(content: bytes, allowance: Allowance | None = None) -> Samples:
    """Return the counts in a file, by the kernels whose beginnings it states: offsets count from there. Instructions before
    the first of a code object are left out, as no kernel is known that they are of. Raises FormatError, with the number of
    the line, for rows that are none; TooManyError for more rows or kernels than a file of that size has."""
    lines = bytes(content).decode("utf-8", "replace").splitlines()
    allowance = allowance or Allowance(len(content))
    allowance.count(len(lines), "lines", format=FORMAT)
    launches: list[_Traced] = []
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        row = _ROW.fullmatch(line)
        code, address, *counts = (int(row[place]) for place in (1, 2, 4, 5, 6, 7)) if row else (0, 0)
        if row is None or max(address, *counts) >> _BITS:
            raise FormatError(f"line {number:,} is no instruction with its counts", format=FORMAT)
        if row[3].startswith(_KERNEL):
            allowance.count(1, "kernels", format=FORMAT, weight=KERNEL_WEIGHT)
            name = row[8].strip() or row[3].removeprefix(_KERNEL)
            launches.append(_Traced(name.removesuffix(_SYMBOL), code, address))
        elif launches and launches[-1].code == code and any(counts):
            offset, former = address - launches[-1].address, launches[-1].measured
            if offset < 0:
                raise FormatError(f"line {number:,} has an address before its kernel's", format=FORMAT)
            former[offset] = summed(former[offset], tuple(counts)) if offset in former else tuple(counts)
    if not launches:
        raise FormatError("no row is a kernel's beginning", format=FORMAT)
    kernels = tuple(SampledKernel(each.name, None, {}, each.measured, {}, each.address) for each in launches)
    return Samples("rocprofv3", (), kernels, MEASURES)


@dataclass(slots=True)
class _Traced:
    """A kernel, as it is read: where it begins, and the counts by offset."""

    name: str
    code: int
    address: int
    measured: dict[int, Counts] = field(default_factory=dict)
