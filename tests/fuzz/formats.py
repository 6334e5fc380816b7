"""Targets for the readers of binary formats, each given the bytes themselves."""

from __future__ import annotations

from contextlib import suppress

from kernlens.analysis.sycl_choice import choose
from kernlens.errors import KernlensError
from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.formats.amdgpu.kernel_lines import CodeObjectLines
from kernlens.formats.ar import read_ar
from kernlens.formats.clang_bundle import read_bundles
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.formats.llvm_bitcode import read_bitcode
from kernlens.formats.messagepack import unpack
from kernlens.formats.neo_elf import is_neo_elf, read_neo_elf
from kernlens.formats.offload_binary import read_offload_binaries
from kernlens.formats.offload_bundle import read_offload_images
from kernlens.formats.patch_tokens.debug_data import read_debug_data
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.formats.poclbin import read_poclbin
from kernlens.formats.rusticl import rusticl_spirv
from kernlens.formats.spirv.embedded_text import embedded_texts, without_embedded_texts
from kernlens.formats.spirv.inline_assembly import kernels_with_assembly
from kernlens.formats.spirv.line_information import has_line_information
from kernlens.formats.spirv.magic import is_spirv
from kernlens.formats.spirv.specialization import read_spec_constants, specialized
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.formats.spirv.uses import read_spirv_uses
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.formats.zstd_frame import claimed_size, frame_size, is_zstd, unpack_frame
from kernlens.isa.intel.sycl_support import sycl_device_named
from kernlens.loading.identify import identify
from kernlens.model.allowance import Allowance
from kernlens.report.sycl_words import image_document, image_lines
from tests.fuzz.texts import everything_of

#: The most that a zstd frame of the fuzzer may unpack to.
_ROOM = 1 << 20


def elf(data: bytes) -> None:
    """Read ELF: sections, symbols, relocations."""
    read = read_elf(memoryview(data))
    for section in read.sections:
        assert len(section.data) <= len(data)
        read.contents(section)
    read.symbols()
    read.relocations()


def zebin(data: bytes) -> None:
    """Read a zebin, with its ze_info and notes."""
    assert len(without_intermediate_code(data)) == len(data)
    read = read_zebin(memoryview(data))
    _ = read.symbols, read.relocations, read.notes, read.build_options, read.spirv
    for kernel in read.kernels:
        read.resources(kernel)
    if read.ze_info is not None:
        everything_of(read.ze_info)


def llvm_bitcode(data: bytes) -> None:
    """Read what a module of LLVM bitcode defines and declares."""
    module = read_bitcode(memoryview(data), Allowance(len(data)))
    assert len(module.producer) <= 8 * len(data)
    assert sum(len(symbol.name) for symbol in module.symbols) <= 64 * len(data) * max(1, len(module.symbols))


def rusticl(data: bytes) -> None:
    """Find the SPIR-V in a program binary of Rusticl."""
    module = rusticl_spirv(memoryview(data))
    assert module is None or is_spirv(module)


def poclbin(data: bytes) -> None:
    """Read a program binary of PoCL."""
    binary = read_poclbin(memoryview(data))
    for file in (*binary.files, *(file for kernel in binary.kernels for file in kernel.files)):
        assert len(file.data) <= len(data)
        _ = file.name, file.folder, file.work_group_size
    assert all(len(repr(kernel.arguments)) < 64 * len(data) for kernel in binary.kernels)


def patch_tokens(data: bytes) -> None:
    """Read a patch-token program, or its debug data."""
    view = memoryview(data)
    if identify(view) == "debug-data":
        for entry in read_debug_data(view).kernels:
            assert len(entry.elf) <= len(data)
        return
    program = read_patch_tokens(view)
    _ = program.symbols, program.relocations
    for kernel in program.kernels:
        assert len(kernel.code) <= len(kernel.heap) <= len(data)
        _ = kernel.resources(), kernel.arguments(), kernel.payload_load_bytes()


def ar(data: bytes) -> None:
    """Read an ar archive."""
    with suppress(KernlensError):
        assert len(without_intermediate_code(data)) == len(data)
    for member in read_ar(memoryview(data)):
        assert len(member.data) <= len(data)
        _ = member.ip, member.device_name, member.is_padding


def offload_bundle(data: bytes) -> None:
    """Read a host library with device images, plain and packed."""
    for image in read_offload_images(memoryview(data)):
        assert len(image.stored) <= len(data)
        if image.described is not None:
            _ = list(image_lines(image.described)), image_document(image.described)
            for device in filter(None, map(sycl_device_named, ("dg2", "pvc", "cri"))):
                choose([image.described], device)
        try:
            assert len(image.read()) <= Allowance(len(data)).limit
        except KernlensError:
            continue  # The next image may be whole.


def offload_binary(data: bytes) -> None:
    """Read offload binaries of clang's linker wrapper."""
    for entry in read_offload_binaries(memoryview(data), Allowance(len(data))):
        assert len(entry.data) <= len(data)
        _ = entry.name, entry.described


def zstd(data: bytes) -> None:
    """Read a zstd frame."""
    view = memoryview(data)
    if is_zstd(view):
        frame = view[: frame_size(view)]
        claimed_size(frame)
        assert len(unpack_frame(frame, _ROOM)) <= _ROOM


def spirv(data: bytes) -> None:
    """Read a SPIR-V module: names, types, linkage, lines, uses; the texts in it, and values of its constants."""
    view = memoryview(data)
    left = without_embedded_texts(data, b"*")
    assert len(left) == len(data)
    assert len(list(embedded_texts(left))) == len(list(embedded_texts(data)))
    with suppress(KernlensError):
        values = dict.fromkeys(read_spec_constants(view), 1)
        assert len(specialized(view, values)) == len(data)
    module = read_spirv(view)
    assert has_line_information(view) or not module.lines
    kernels_with_assembly([view])
    _ = module.linkages, module.entry_points, module.sources, module.lines
    uses = read_spirv_uses(view)
    assert uses == read_spirv_uses(view, module.use_words)
    uses.variables_of(uses.reached(uses.entry_points))


def neo_elf(data: bytes) -> None:
    """Read a NEO ELF, and what it holds."""
    view = memoryview(data)
    if not is_neo_elf(view):
        return
    read = read_neo_elf(view)
    assert len(without_intermediate_code(data)) == len(data)
    _ = read.build_options, read.source, read.spirv
    for part, inside in ((read.device_binary, patch_tokens), (read.device_debug, patch_tokens), (read.spirv, spirv)):
        if part is not None:
            try:
                inside(bytes(part.data))
            except KernlensError:
                continue  # The next part may be whole.


def messagepack(data: bytes) -> None:
    """Read MessagePack, the form of a code object's metadata."""
    assert len(repr(unpack(memoryview(data)))) <= 64 * len(data) + 64


def clang_bundle(data: bytes) -> None:
    """Read offload bundles, plain and packed."""
    for bundle in read_bundles(memoryview(data)):
        assert len(bundle.stored) <= len(data)
        assert len(bundle.unpacked or b"") <= Allowance(len(data)).limit
        for image in bundle.images:
            assert image.kind is not None
            assert image.target is not None


def code_object(data: bytes) -> None:
    """Read a code object of AMD's: kernels, metadata, symbols, line tables."""
    read = read_code_object(memoryview(data))
    _ = read.symbols, read.relocations, str(read.target)
    lines = CodeObjectLines(read)
    for kernel in read.kernels:
        assert len(kernel.code) <= len(data)
        assert kernel.metadata is None or kernel.metadata.arguments is not None
        table = lines.of_kernel(kernel)
        if table is not None:
            _ = table.rows, table.inlined, table.functions
            assert all(offset <= len(kernel.code) for offset in table.offsets)
