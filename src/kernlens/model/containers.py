"""THE list of containers: what kernlens knows of each kind of file that GPU compilers, drivers and linkers write.

An entry says how a kind is called and known, what it holds and what becomes of it. ``identify``, ``unpack``, ``overview``,
``extract`` and the table in the docs are made from it; so a new kind is an entry here and a reader in ``loading/unpack.py``.
"""

from __future__ import annotations

from enum import Enum, auto

from kernlens.dataclass import dataclass


class Holds(Enum):
    """The contents of a container, which say what is made of it."""

    PROGRAM = auto()
    """Kernels, or functions, of one device, or code that one can be compiled from: each becomes a Program."""
    PARTS = auto()
    """Other containers, which are unpacked."""
    DEBUG = auto()
    """Debug data of one kernel, which its program has been read with."""
    RECORDING = auto()
    """Builds of kernlens; one within another container is not opened."""
    NOTHING = auto()
    """Nothing that kernlens reads; it is listed."""


@dataclass(frozen=True, slots=True)
class ContainerKind:
    """One kind of container, by the ``name`` that JSON has.

    ``title`` is what people call it, ``suffix`` the ending of a file of it that ``extract`` writes. ``magic`` are the first
    bytes by which it is known, any of them; ``machines`` those ELF machines (``e_machine``) that are its own, and
    ``elf_type`` the only ELF type of it, if the machine alone does not tell. A kind with neither is known by a test in
    ``loading/identify.py``. ``is_elf``: it has ELF sections to list. ``is_gpu``: only GPU compilers make it.
    ``stated_by`` is what states figures in it besides code. ``sentence`` says in the docs who makes it.
    """

    name: str
    title: str
    suffix: str
    holds: Holds
    sentence: str
    magic: tuple[bytes, ...] = ()
    machines: tuple[int, ...] = ()
    elf_type: int | None = None
    is_elf: bool = False
    is_gpu: bool = False
    stated_by: str | None = None


CONTAINERS = {
    kind.name: kind
    for kind in (
        ContainerKind(
            "zebin", "zebin", ".zebin", Holds.PROGRAM,
            "Intel's newer compilers: code, ze_info, debug data", machines=(205,), is_elf=True, is_gpu=True,
            stated_by="ze_info",
        ),
        ContainerKind(
            "zebin-debug", "zebin debug data", ".elf", Holds.PROGRAM,
            "debug data that Intel's drivers give out beside a zebin", machines=(205,), elf_type=2, is_elf=True,
        ),
        ContainerKind(
            "patch-tokens", "patch-token program", ".ptbin", Holds.PROGRAM,
            "Intel's older compilers, such as Debian 12's for most devices", is_gpu=True, stated_by="patch tokens",
        ),
        ContainerKind(
            "debug-data", "debug data", ".dbg", Holds.PROGRAM,
            "Intel's drivers beside a patch-token program: a debug ELF for each kernel",
        ),
        ContainerKind(
            "kernel-debug-elf", "kernel debug ELF", ".elf", Holds.DEBUG, "one kernel's debug data", machines=(182,),
            is_elf=True,
        ),
        ContainerKind(
            "neo-elf", "NEO ELF", ".bin", Holds.PARTS,
            "ocloc and clGetProgramInfo: device binary, SPIR-V, options, debug data", machines=(0,), is_elf=True,
            is_gpu=True,
        ),
        ContainerKind(
            "ar", "ar archive", ".ar", Holds.PARTS, "ocloc for several devices, and Level Zero's packages of modules",
            magic=(b"!<arch>\n",), is_gpu=True,
        ),
        ContainerKind(
            "host-elf", "host executable or library", ".elf", Holds.PARTS,
            "programs and libraries with device images of SYCL, HIP, OpenMP or CUDA, or GPU binaries in their data",
        ),
        ContainerKind(
            "clang-bundle", "offload bundle", ".hipfb", Holds.PARTS, "clang and hipcc: a code object for each target",
            magic=(b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"), is_gpu=True,
        ),
        ContainerKind(
            "offload-binary", "offload binary", ".offload", Holds.PARTS, "clang's new offload driver",
            magic=(b"\x10\xff\x10\xad",), is_gpu=True,
        ),
        ContainerKind(
            "amd-code-object", "AMD code object", ".hsaco", Holds.PROGRAM, "clang, hipcc and Triton for AMD's GPUs",
            machines=(224,), is_elf=True, is_gpu=True,
        ),
        ContainerKind(
            "cubin", "cubin", ".cubin", Holds.PROGRAM, "ptxas and NVIDIA's drivers", machines=(190,), is_elf=True,
            is_gpu=True,
        ),
        ContainerKind(
            "ptx", "PTX", ".ptx", Holds.PROGRAM, "nvcc, Triton, and NVIDIA's OpenCL driver as a program's binary",
            is_gpu=True,
        ),
        ContainerKind(
            "fatbin", "CUDA fat binary", ".fatbin", Holds.PARTS, "nvcc: cubins and PTX for several GPUs",
            magic=(b"\x50\xed\x55\xba",),
        ),
        ContainerKind(
            "compute-cache", "compute cache entry", ".cache", Holds.PARTS, "NVIDIA's drivers in ~/.nv/ComputeCache",
        ),
        ContainerKind(
            "poclbin", "PoCL program binary", ".poclbin", Holds.PROGRAM, "PoCL: LLVM IR, and libraries of kernels",
            magic=(b"poclbin\0",), is_gpu=True, stated_by="the program binary",
        ),
        ContainerKind(
            "spirv", "SPIR-V", ".spv", Holds.PROGRAM, "the modules that drivers and ocloc compile to machine code",
            magic=(b"\x03\x02\x23\x07", b"\x07\x23\x02\x03"),
        ),
        ContainerKind(
            "llvm-bitcode", "LLVM bitcode", ".bc", Holds.NOTHING,
            "a stage within other containers, or a library of OpenCL's: its symbols",
            magic=(b"BC\xc0\xde", b"\xde\xc0\x17\x0b"),
        ),
        ContainerKind(
            "recording", "recording", ".klens", Holds.RECORDING, "kernlens compile and kernlens capture",
            magic=(b"SQLite format 3",),
        ),
        ContainerKind(
            "raw", "raw instructions", ".gen", Holds.PROGRAM, "machine code alone, with --device",
        ),
        ContainerKind("unknown", "unknown content", ".bin", Holds.NOTHING, "a part that is of no known kind, or damaged"),
    )
}  # fmt: skip
