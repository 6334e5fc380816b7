"""Device binaries to Programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kernlens.formats.spirv.magic import is_spirv
from kernlens.isa.devices import stated_device
from kernlens.loading.context import Context
from kernlens.loading.kept_debug import KeptDebug, ProgramDebug, ZebinDebug
from kernlens.loading.kernel_parts import Code, DebugCode
from kernlens.loading.lane_codes import lane_codes
from kernlens.loading.program_kernels import ProgramKernels, launched_kernels
from kernlens.loading.zebin_code import ZebinCode
from kernlens.model.allowance import Allowance
from kernlens.model.binary import EMPTY, Relocation, Symbol
from kernlens.model.build import Source
from kernlens.model.device import Device, DeviceId
from kernlens.model.kernel import Kernel
from kernlens.model.kernel_resources import KernelResources
from kernlens.model.program import Kernels, Program

if TYPE_CHECKING:
    from kernlens.formats.llvm_bitcode import BitcodeSymbol
    from kernlens.loading.listed_code import ListedKernel
    from kernlens.model.instruction import Instructions
    from kernlens.model.spirv import SpirvModule
    from kernlens.model.stage_map import StageMap
    from kernlens.model.stage_text import StageTexts


#: Characters of a format's version that are kept.
_LONGEST_VERSION = 16


def patch_token_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of a patch-token binary; debug data, options and SPIR-V are those of its container, the context."""
    from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
    from kernlens.loading.patch_token_code import PatchTokenCode

    read = read_patch_tokens(content, context.allowance)
    device = stated_device(read.device, context.device)
    debug = ProgramDebug(context.build, context.allowance)
    codes = [PatchTokenCode(kernel, debug, device, read.device) for kernel in read.kernels]
    kernels = _together(codes, lambda: ((kernel.name, kernel.resources()) for kernel in read.kernels))
    return _program(
        name,
        "patch-tokens",
        kernels,
        context,
        device=device,
        device_id=read.device,
        binary=content,
        find_symbols=lambda: read.symbols,
        find_relocations=lambda: read.relocations,
        debug=debug,
    )


def zebin_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of a zebin, or of the debug ELF of a loaded module, whose sections hold the loaded code."""
    from kernlens.formats.zebin.zebin_file import read_zebin

    read = read_zebin(content, context.allowance)
    device_id = read.notes.device_id
    device = stated_device(device_id, context.device)
    context = context.holding(options=read.build_options, spirv=read.spirv)
    debug = ZebinDebug(read, context.build, context.allowance)
    sections = [*read.kernels, *([read.functions] if read.functions else [])]
    codes = [ZebinCode(read, section, debug, device, device_id) for section in sections]
    for code in codes:
        code.namesakes = partial(_namesakes, context)
    kernels = _together(
        codes,
        lambda: ((kernel.name, read.resources(kernel)) for kernel in read.kernels),
        lambda: (kernel.code[: kernel.described] for kernel in read.kernels),
        has_spirv=bool(read.spirv),
    )
    return _program(
        name,
        "zebin",
        kernels,
        context,
        device=device,
        device_id=device_id,
        format_version=(read.notes.zebin_version or "")[:_LONGEST_VERSION] or None,
        binary=content,
        find_symbols=lambda: read.symbols,
        find_relocations=lambda: read.relocations,
        find_code_order=lambda: tuple(kernels if read.ze_info is None else read.ze_info.kernels),
        debug=debug,
    )


def _namesakes(context: Context, name: str) -> Iterable[ZebinCode]:
    from kernlens.loading.namesakes import namesakes

    return namesakes(context, name)


def _together(
    codes: Sequence[DebugCode],
    resources: Callable[[], Iterable[tuple[str, KernelResources]]],
    described: Callable[[], Iterable[memoryview]] = tuple,
    *,
    has_spirv: bool = True,
) -> dict[str, Kernel]:
    """Return the kernels of a program; each can be asked for the resources and the ``described`` code of all."""
    program_kernels = ProgramKernels(resources, described, has_spirv=has_spirv)
    for code in codes:
        code.program_kernels = program_kernels
    return {code.name: Kernel(code.name, code) for code in codes}


def debug_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of debug data alone: each kernel's debug ELF holds its code as well."""
    from kernlens.formats.elf.elf_file import read_elf
    from kernlens.formats.patch_tokens.debug_data import read_debug_data

    read = read_debug_data(content, context.allowance)
    device = stated_device(read.device, context.device)
    context = context.holding(debug=content)
    debug = ProgramDebug(context.build, context.allowance)
    kernels = {}
    for kernel in read.kernels:
        text = read_elf(kernel.elf, format="kernel-debug-elf").section(".text") if kernel.elf else None
        if text is not None:
            kernels[kernel.name] = Kernel(kernel.name, DebugCode(text.data, debug, kernel.name, device, read.device))
    return _program(name, "debug-data", kernels, context, device=device, device_id=read.device, debug=debug)


def code_object_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of a code object of AMD's, linked or not."""
    from kernlens.formats.amdgpu.code_object import read_code_object
    from kernlens.isa.amd.gpu_devices import amd_device
    from kernlens.loading.code_object_parts import CodeObjectCode, CodeObjectDebug

    read = read_code_object(content, context.allowance)
    device = amd_device(read.target.processor) if read.target is not None else None
    debug = CodeObjectDebug(read, context.build, context.allowance)
    kernels = {kernel.name: Kernel(kernel.name, CodeObjectCode(read, kernel, debug, device)) for kernel in read.kernels}
    return _program(
        name,
        "amd-code-object",
        kernels,
        context,
        device=device,
        binary=content,
        find_symbols=lambda: read.symbols,
        find_relocations=lambda: read.relocations,
        debug=debug,
    )


def listed_program(
    name: str,
    format_name: str,
    kernels: Sequence[ListedKernel],
    device: Device | None,
    content: memoryview,
    context: Context,
    find_symbols: Callable[[], tuple[Symbol, ...]] = tuple,
) -> Program:
    """Return a Program of kernels whose decoder gives listings."""
    from kernlens.loading.listed_code import ListedCode, ListedDebug

    debug = ListedDebug(kernels, context.build, context.allowance)
    return _program(
        name,
        format_name,
        {kernel.name: Kernel(kernel.name, ListedCode(kernel, debug, device)) for kernel in kernels},
        context,
        device=device,
        binary=content,
        find_symbols=find_symbols,
        debug=debug,
    )


def poclbin_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of a program binary of PoCL, with the stages of its compile that the binary holds."""
    from kernlens.formats.poclbin import read_poclbin
    from kernlens.isa.x86.devices import X86_64
    from kernlens.loading.pocl_kernels import pocl_kernels, stage_snapshots

    read = read_poclbin(content, context.allowance)
    kernels = pocl_kernels(read, context.allowance)
    context = context.holding(find_snapshots=lambda: stage_snapshots(read))
    return listed_program(name, "poclbin", kernels, X86_64, content, context)


def raw_program(name: str, content: memoryview, device: Device, context: Context) -> Program:
    """Return a Program of one kernel's bare instructions."""
    from kernlens.isa.decoders import listing_decoder

    decode = listing_decoder(device)
    if decode is None:
        kernels = {name: Kernel(name, Code(content, device))}
        return _program(name, "raw", kernels, context, device=device, binary=content)
    from kernlens.loading.listed_code import ListedKernel
    from kernlens.toolchain.registered import register_llvm_roots

    def instructions() -> Instructions:
        register_llvm_roots()
        return decode(content)

    reason = Code.raw_reason()
    return listed_program(
        name, "raw", [ListedKernel(name, content, instructions, line_reason=reason)], device, content, context
    )


def spirv_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program that is not compiled for a device yet: its kernels are symbols without code."""
    return _program(name, "spirv", {}, context.holding(spirv=content), device=context.device)


def _kind_of(symbol: BitcodeSymbol) -> str:
    """Return the kind of a symbol of bitcode; a work-item built-in is named after SPIR-V's, and every driver provides it."""
    if symbol.is_defined:
        return "kernel" if symbol.is_kernel else "export"
    return "driver" if "spirv_BuiltIn" in symbol.name else "import"


def bitcode_program(name: str, content: memoryview, context: Context) -> Program:
    """Return a Program of LLVM bitcode that a driver links into others: its kernels are symbols without code."""
    from kernlens.formats.llvm_bitcode import read_bitcode

    read = read_bitcode(content, context.allowance)
    return _program(
        name,
        "llvm-bitcode",
        {},
        context,
        device=context.device,
        format_version=read.producer[:_LONGEST_VERSION] or None,
        binary=content,
        find_symbols=lambda: tuple(
            Symbol(
                name=symbol.name,
                value=0,
                size=0,
                binding="global",
                type="func" if symbol.is_function else "object",
                section=None,
                section_index=0,
                index=index,
                kind=_kind_of(symbol),
            )
            for index, symbol in enumerate(read.symbols)
            if not symbol.is_local and not symbol.name.startswith("llvm.")
        ),
    )


def stages_program(name: str, context: Context) -> Program:
    """Return a Program of nothing but its sources and the stages of its compile."""
    return _program(name, "stages", {}, context, device=context.device)


def _spirv_symbols(module: SpirvModule | None) -> tuple[Symbol, ...]:
    """Return the entry points, and what the linkage decorations export and import besides them and the built-in
    variables; a SPIR-V symbol has no place and no section."""
    if module is None:
        return ()
    kernels = [Symbol(entry.name, 0, 0, "global", "func", None, 0, entry.id, "kernel") for entry in module.entry_points]
    entries = {entry.name for entry in module.entry_points}
    linked = [
        Symbol(
            name=linkage.name,
            value=0,
            size=linkage.size or 0,
            binding="global",
            type="func" if linkage.is_function else "object",
            section=None,
            section_index=0,
            index=linkage.id,
            kind="import" if linkage.kind == "Import" else "export",
        )
        for linkage in module.linkages
        if linkage.name not in entries and not linkage.name.startswith("__spirv_BuiltIn")
    ]
    return (*kernels, *linked)


def _program(
    name: str,
    format_name: str,
    kernels: Mapping[str, Kernel],
    context: Context,
    *,
    device: Device | None,
    device_id: DeviceId | None = None,
    format_version: str | None = None,
    binary: memoryview = EMPTY,
    find_symbols: Callable[[], tuple[Symbol, ...]] | None = None,
    find_relocations: Callable[[], tuple[Relocation, ...]] = tuple,
    find_code_order: Callable[[], tuple[str, ...]] | None = None,
    debug: KeptDebug | None = None,
    is_counted: bool = False,
) -> Program:
    kernels = launched_kernels(kernels, context.build)
    if debug is not None:
        debug.make_program = lambda kernel, debug: _program(
            name,
            format_name,
            {kernel.name: kernel},
            context,
            device=device,
            device_id=device_id,
            format_version=format_version,
            binary=binary,
            debug=debug,
            is_counted=True,
        )
    if not is_counted:
        code = sum(len(kernel.code) for kernel in kernels.values())
        context.allowance.count_code(code, len(binary), format=format_name)
    is_all = format_name == "spirv"
    program = Program(
        name=name,
        format=format_name,
        kernels=Kernels(kernels, _spelt),
        build=context.build,
        device=device,
        device_id=device_id,
        format_version=format_version,
        image=context.image,
        binary=binary,
        find_symbols=find_symbols or (lambda: _spirv_symbols(program.spirv_module) if is_all else ()),
        find_relocations=find_relocations,
        find_code_order=find_code_order,
        find_spirv_module=lambda: _spirv_module(memoryview(context.build.spirv), context.allowance, is_all=is_all),
        find_lane_code=lane_codes(context),
        find_data=lambda: _data(format_name, binary),
        find_sources=lambda: _sources(kernels.values(), context),
        find_stage_maps=_stage_maps,
        find_stage_texts=lambda: _stage_texts(debug or KeptDebug(context.build, context.allowance)),
    )
    return program


def _spelt(name: str, known: Collection[str]) -> Sequence[str]:
    """Return the kernels that a name means which is none of the binary's own."""
    from kernlens.analysis.kernel_names import matching

    return matching(name, known, parts=False)


def _data(format_name: str, binary: memoryview) -> dict[str, bytes] | None:
    from kernlens.loading.program_data import program_data

    return program_data(format_name, binary)


def _stage_maps(program: Program) -> tuple[StageMap, ...]:
    from kernlens.loading.stage_maps import stage_maps

    return stage_maps(program.build.snapshots, [program])


def _stage_texts(debug: KeptDebug) -> StageTexts:
    from kernlens.model.stage_text import NoStages

    if debug.beside is None:
        return NoStages()
    from kernlens.loading.stage_texts import KeptStageTexts

    return KeptStageTexts(debug.beside, debug.snapshots)


def _spirv_module(content: memoryview, allowance: Allowance, *, is_all: bool) -> SpirvModule | None:
    """Return the program's SPIR-V module; ``is_all``: the program is nothing else, so that there must be one."""
    from kernlens.formats.spirv.spirv_module import read_spirv

    return read_spirv(content, allowance) if is_all or is_spirv(content) else None


def _sources(kernels: Collection[Kernel], context: Context) -> tuple[Source, ...]:
    if not kernels:  # There is no line table to name the files that count: all that came with the program do.
        return context.sources
    from kernlens.formats.spirv.spirv_module import read_spirv_sources
    from kernlens.loading.source_search import find_sources

    spirv = memoryview(context.build.spirv)
    return find_sources(kernels, read_spirv_sources(spirv) if is_spirv(spirv) else (), context)
