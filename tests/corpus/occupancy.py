"""Occupancy, held against what the vendors publish: ``python -m tests.corpus.occupancy --help``.

* Intel: ``index.html`` of "GPU Occupancy Calculator" in Intel's oneAPI samples, whose own function ``node`` runs
* NVIDIA: ``cuda_occupancy.h`` of a CUDA toolkit, compiled with ``g++``
* AMD: a libLLVM with the target AMDGPU, which writes "Occupancy" into the assembly of kernels that are made here
"""

from __future__ import annotations

import argparse
import ctypes
import re
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import kernlens
from kernlens.formats.amdgpu.assembly_notes import stated_occupancies
from kernlens.isa.cores import core_of
from kernlens.isa.devices import device
from kernlens.isa.nvidia.multiprocessors import _ROWS
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.occupancy import Core, occupancy_of

#: Names of the calculator, ours, and the largest work-group.
_INTEL = {
    "xe2_hpg": ("bmg", 1024), "xe2_lpg": ("lnl", 1024), "xe_lpg": ("mtl", 1024), "xe_hpc_pvc": ("pvc", 1024),
    "xe_hp_ats": ("dg2", 1024), "xe_hpg_dg2_arc": ("dg2", 1024), "xe_dg1": ("dg1", 512), "gen12": ("tgllp", 512),
    "gen11": ("icllp", 256), "gen9": ("skl", 256),
}  # fmt: skip
#: Runs the calculator's own function for sizes of work-groups and of SLM; the rounding to its sizes is that of its form.
_SCRIPT = """
for (const target of targets) { gpu = target.device_info; const most = gpu.Max_Num_Of_Barrier_Registers;
 for (const width of gpu.Subgroup_Sizes) for (let group = width; group <= gpu.Max_Work_Group_Size; group += 24)
  for (let asked = 0; asked <= gpu.SLM_Size_Per_Work_Group; asked += 3) for (const large of gpu.Large_GRF_Mode ? [0, 1] : [0])
   for (const barriers of [0, most]) {
    const slm = gpu.TG_SLM_Sizes.find((size) => asked <= size);
    const answer = compute_ss_occupancy(group, width, slm, large, barriers, gpu.Max_Num_Of_Workgroups);
    console.log(target.code, width, group, asked * 1024, large, barriers ? 1 : 0, answer.num_wg); } }
"""
_CUDA = """
#include <cstdio>
#include <climits>
#include <initializer_list>
#include "cuda_occupancy.h"
int main() { int cc, warps, shared; while (scanf("%d %d %d", &cc, &warps, &shared) == 3) {
 cudaOccDeviceProp p{}; p.computeMajor = cc / 10; p.computeMinor = cc % 10; p.maxThreadsPerBlock = 1024; p.numSms = 1;
 p.maxThreadsPerMultiprocessor = warps * 32; p.regsPerBlock = p.regsPerMultiprocessor = 65536; p.warpSize = 32;
 p.sharedMemPerBlock = 49152; p.sharedMemPerMultiprocessor = shared * 1024; p.reservedSharedMemPerBlock = cc >= 80 ? 1024 : 0;
 p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor - p.reservedSharedMemPerBlock;
 for (int registers = 8; registers <= 255; registers += 13) for (int block : {32, 33, 64, 96, 128, 192, 256, 320, 736, 1024})
  for (int bytes : {0, 1, 1024, 4000, 16384, 33000, 48000, 65536, 101376}) for (int barriers : {0, 1, 2, 16}) {
   cudaOccFuncAttributes a; a.maxThreadsPerBlock = 1024; a.numRegs = registers; a.numBlockBarriers = barriers;
   a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN; a.maxDynamicSharedSizeBytes = bytes;
   cudaOccDeviceState s; cudaOccResult r;
   int failed = cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, block, bytes);
   printf("%d %d %d %d %d %d\\n", cc, registers, block, bytes, barriers, failed ? 0 : r.activeBlocksPerMultiprocessor); } } }
"""
_AMD = (
    *("gfx803", "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950"),
    *("gfx1010", "gfx1030", "gfx1100", "gfx1102", "gfx1201"),
)
_WIDE = "+wavefrontsize64,-wavefrontsize32"


def _groups(core: Core | str, work_group: int) -> int:
    assert not isinstance(core, str), core
    return occupancy_of(core, work_group).groups


def intel(page: Path) -> Iterator[tuple[str, int, int]]:
    """Yield each configuration with our work-groups and the calculator's."""
    text = page.read_text(encoding="utf-8")
    table = re.search(r"var targets = (\[.*?\n\];)", text, re.DOTALL)
    function = re.search(r"function compute_ss_occupancy.*?\n}", text, re.DOTALL)
    assert table is not None, "the calculator has another form by now"
    assert function is not None, "the calculator has another form by now"
    script = f"let gpu; const targets = {table[1]}\n{function[0]}\n{_SCRIPT}"
    answers = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, check=True).stdout
    for line in answers.splitlines():
        code, *numbers = line.split()
        width, group, slm, large, barriers, theirs = map(int, numbers)
        name, largest = _INTEL[code]
        files = {"GRF": 256 if large else 128}
        resources = KernelResources(simd=width, register_files=files, slm_bytes=slm, barriers=barriers)
        yield f"{code} {line}", _groups(core_of(device(name), resources, largest, None), group), theirs


def nvidia(header: Path) -> Iterator[tuple[str, int, int]]:
    """Yield each configuration with our blocks and those of NVIDIA's own code."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "o.cpp"), Path(folder, "o")
        source.write_text(_CUDA)
        subprocess.run(["g++", "-I", str(header.parent), str(source), "-o", str(program)], check=True)
        rows = "".join(f"{number} {row.warps} {row.shared}\n" for number, row in _ROWS.items())
        answers = subprocess.run([str(program)], input=rows, capture_output=True, text=True, check=True).stdout
    for line in answers.splitlines():
        number, registers, block, shared, barriers, theirs = map(int, line.split())
        files, stated = {"registers": registers}, {"shared_bytes": shared}
        resources = KernelResources(register_files=files, barriers=barriers, stated=stated)
        yield f"sm_{line}", _groups(core_of(device(f"sm_{number}"), resources, None, None), block), theirs


class Llvm:
    """A libLLVM that compiles for AMD's GPUs."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        for part in ("TargetInfo", "Target", "TargetMC", "AsmPrinter"):
            getattr(self._library, f"LLVMInitializeAMDGPU{part}")()
        for name in ("LLVMContextCreate", "LLVMCreateTargetMachine", "LLVMGetBufferStart"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.LLVMGetBufferSize.restype = ctypes.c_size_t

    def compile(self, source: Path, processor: str, features: str, kind: int) -> bytes:
        """Return the assembly (``kind`` 0) or the object (1) of a text of LLVM IR."""
        library, pointer, triple = self._library, ctypes.c_void_p, b"amdgcn-amd-amdhsa"
        message, buffer, module, target, output = ctypes.c_char_p(), pointer(), pointer(), pointer(), pointer()
        name = str(source).encode()
        failed = library.LLVMCreateMemoryBufferWithContentsOfFile(name, ctypes.byref(buffer), ctypes.byref(message))
        assert not failed, message.value
        context = pointer(library.LLVMContextCreate())
        assert not library.LLVMParseIRInContext(context, buffer, ctypes.byref(module), ctypes.byref(message)), (
            message.value
        )
        assert not library.LLVMGetTargetFromTriple(triple, ctypes.byref(target), ctypes.byref(message)), message.value
        machine = pointer(
            library.LLVMCreateTargetMachine(target, triple, processor.encode(), features.encode(), 2, 0, 0)
        )
        library.LLVMSetTargetMachineAsmVerbosity(machine, 1)
        failed = library.LLVMTargetMachineEmitToMemoryBuffer(
            machine, module, kind, ctypes.byref(message), ctypes.byref(output)
        )
        assert not failed, message.value
        return ctypes.string_at(pointer(library.LLVMGetBufferStart(output)), library.LLVMGetBufferSize(output))


def amd_kernel(name: str, registers: str, local: int, largest: int, required: int) -> str:
    """Return a kernel in LLVM IR that uses a register and so many bytes of local memory."""
    lines = [f"@l_{name} = internal addrspace(3) global [{local} x i8] poison, align 4"] if local else []
    sizes = f'"amdgpu-flat-work-group-size"="{required or 1},{required or largest}"'
    lines.append(
        f"define amdgpu_kernel void @{name}() {sizes} {f'!reqd_work_group_size !{required}' if required else ''} {{"
    )
    if local:
        lines.append(f"  store volatile i8 1, ptr addrspace(3) @l_{name}")
    if registers:
        lines.append(f'  call void asm sideeffect "", "~{{{registers}}}"()')
    return "\n".join([*lines, "  ret void", "}", ""])


def amd(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield each kernel with our wavefronts of a SIMD and those that LLVM states."""
    llvm = Llvm(path)
    asked = [(f"{file}{count}", 0, 1024, 0) for file in "vs" for count in range(3, 256 if file == "v" else 100, 4)]
    asked += [
        ("", local, largest, 0)
        for local, largest in product((0, 1, 4096, 6552, 8252, 16388, 65536), (64, 96, 256, 1024))
    ]
    asked += [("v59", local, 0, group) for local, group in product((0, 4096, 8252, 32768), (32, 64, 96, 128, 300, 768))]
    # Metadata is numbered from 0 on.
    numbers = {group: number for number, group in enumerate(sorted({each[3] for each in asked} - {0}))}
    text = 'target triple = "amdgcn-amd-amdhsa"\n' + "".join(amd_kernel(f"k{n}", *each) for n, each in enumerate(asked))
    for group, number in numbers.items():
        text = text.replace(f"!reqd_work_group_size !{group} ", f"!reqd_work_group_size !{number} ")
    metadata = "".join(f"!{number} = !{{i32 {group}, i32 1, i32 1}}\n" for group, number in numbers.items())
    with tempfile.TemporaryDirectory() as folder:
        source, file = Path(folder, "k.ll"), Path(folder, "k.o")
        source.write_text(text + metadata)
        for processor in _AMD:
            for features in ("", "+cumode", _WIDE) if processor.startswith("gfx1") else ("",):
                stated = stated_occupancies(llvm.compile(source, processor, features, 0).decode())
                file.write_bytes(llvm.compile(source, processor, features, 1))
                (program,) = kernlens.load(file)
                for number, each in enumerate(asked):
                    ours = program.kernels[f"k{number}"].resources.stated["occupancy"]
                    yield f"{processor} {features} {each}", ours, stated[f"k{number}"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare occupancies with what the vendors publish.")
    parser.add_argument("--calculator", type=Path, help="index.html of Intel's GPU Occupancy Calculator")
    parser.add_argument("--cuda-header", type=Path, help="cuda_occupancy.h")
    parser.add_argument("--llvm", type=Path, help="a libLLVM.so with AMD's target, of LLVM 20 or later")
    asked = parser.parse_args()
    sources = (("Intel", intel, asked.calculator), ("NVIDIA", nvidia, asked.cuda_header), ("AMD", amd, asked.llvm))
    differences = 0
    for title, compare, path in sources:
        if path is None:
            continue
        rows = list(compare(path))
        different = [row for row in rows if row[1] != row[2]]
        differences += len(different)
        print(f"{title}: {len(rows):,} configurations compared, {len(different):,} differences")
        for name, ours, theirs in different[:10]:
            print(f"  {name}: ours {ours}, theirs {theirs}")
    return 1 if differences else 0


if __name__ == "__main__":
    raise SystemExit(main())
