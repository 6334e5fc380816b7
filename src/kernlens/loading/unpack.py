"""Containers within containers: all are unpacked, and each device binary becomes a Program."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from kernlens import log
from kernlens.dataclass import replace
from kernlens.errors import FormatError, TooManyError
from kernlens.loading.binary_programs import (
    bitcode_program,
    code_object_program,
    debug_program,
    patch_token_program,
    poclbin_program,
    spirv_program,
    stages_program,
    zebin_program,
)
from kernlens.loading.context import Context
from kernlens.loading.identify import PTX, identify
from kernlens.model.allowance import KERNEL_WEIGHT, PROGRAM_WEIGHT, Allowance
from kernlens.model.binary import EMPTY, Container, Section
from kernlens.model.containers import CONTAINERS
from kernlens.model.program import Program

if TYPE_CHECKING:
    from kernlens.formats.fatbin import FatEntry
    from kernlens.formats.offload_bundle import OffloadImage


def _cubin_program(name: str, content: memoryview, context: Context) -> Program:
    from kernlens.loading.cuda_programs import cubin_program

    return cubin_program(name, content, context)


def _ptx_program(name: str, content: memoryview, context: Context) -> Program:
    from kernlens.loading.cuda_programs import ptx_program

    return ptx_program(name, content, context)


#: The kinds that are programs, and what makes a Program of each.
_PROGRAMS = {
    "zebin": zebin_program, "zebin-debug": zebin_program, "patch-tokens": patch_token_program,
    "debug-data": debug_program, "spirv": spirv_program, "amd-code-object": code_object_program,
    "cubin": _cubin_program, PTX: _ptx_program, "poclbin": poclbin_program,
}  # fmt: skip
#: ``e_machine`` of GPU binaries.
_GPU_MACHINES = frozenset(machine for name in _PROGRAMS if name in CONTAINERS for machine in CONTAINERS[name].machines)
#: Containers nest four deep in real files (host library, ar, NEO ELF, debug data).
_DEPTH_LIMIT = 8


class Unpacker:
    """The unpacker of one file. ``programs`` grows as device binaries are found; their names are made unique."""

    def __init__(self) -> None:
        self.programs: list[Program] = []
        self._counts: dict[str, int] = {}
        #: Bytes that the containers within the outermost ones may still have.
        self._room = 0

    def unpack(self, content: memoryview, name: str, offset: int, context: Context, depth: int = 0) -> Container:
        """Return the container that ``content`` is, with all that is in it; kind ``unknown`` if its first bytes are of
        no known kind. ``offset`` is where ``content`` begins in the whole file. Raises FormatError for damaged
        content."""
        kind = identify(content)
        if depth > _DEPTH_LIMIT:
            raise FormatError(f"containers are nested more than {_DEPTH_LIMIT} deep", format=kind or "file")
        # Each level of honest containers holds no more bytes than the file: they do not overlap.
        self._room += -len(content) if depth else _DEPTH_LIMIT * len(content)
        if self._room < 0:
            raise FormatError(
                "containers overlap: together they are many times larger than the file", format=kind or "file"
            )
        container = Container(kind or "unknown", name, offset, content)
        before = len(self.programs)
        if kind in _PROGRAMS:
            context.allowance.count(1, "program", format=kind, weight=PROGRAM_WEIGHT)
            self.programs.append(_PROGRAMS[kind](self._unique(name), content, context))
        elif kind in _PARTS:
            container.children = _PARTS[kind](self, content, name, offset, context, depth)
        if kind in _LISTED:
            container.find_children = partial(_LISTED[kind], content, offset, context.allowance)
        elif kind in CONTAINERS and CONTAINERS[kind].is_elf:
            container.find_sections = partial(_elf_sections, content, kind)
        container.devices = frozenset(
            program.device.name if program.device else None for program in self.programs[before:]
        )
        return container

    def unpack_build(self, name: str, context: Context) -> tuple[Container, ...]:
        """Return the containers of the context's build. Other vendors' binaries are not read, but for the symbols of bitcode:
        of such a build its SPIR-V is, and without that the stages of its compile."""
        build = context.build
        before = len(self.programs)
        containers = []
        if build.binary:
            binary = memoryview(build.binary)
            kind = identify(binary)
            if kind == PTX:
                binary, context = self._with_cached_code(binary, context)
            if kind is not None and CONTAINERS[kind].is_gpu:
                containers.append(self.unpack(binary, name, 0, context))
            else:
                containers.append(Container(kind or "unknown", name, 0, binary))
            if kind == "llvm-bitcode":
                self.programs.append(bitcode_program(self._unique(name), binary, context))
        if len(self.programs) == before:
            from kernlens.formats.rusticl import rusticl_spirv

            spirv = memoryview(build.spirv) if build.spirv else rusticl_spirv(memoryview(build.binary))
            if spirv is not None:
                containers.append(self.unpack(spirv, name, 0, context))
        if len(self.programs) == before and build.snapshots:
            self.programs.append(stages_program(self._unique(name), context))
        return tuple(containers)

    def _unique(self, name: str) -> str:
        count = self._counts[name] = self._counts.get(name, 0) + 1
        return name if count == 1 else f"{name}#{count}"

    def _members(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        from kernlens.formats.ar import read_ar

        members = [member for member in read_ar(content) if len(member.data) and not member.is_padding]
        context.allowance.count(len(members), "members", format="ar", weight=KERNEL_WEIGHT)
        debug = _debug_of_units(context)
        return tuple(
            self._part(member.data.toreadonly, member.name, offset + member.offset, member.data, inside, depth)
            for member in members
            for inside in (context.holding(debug=debug.get(member.name, EMPTY)),)
        )

    def _images(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        from kernlens.formats.offload_bundle import read_offload_images

        images = tuple(
            self._part(partial(self._image, image), image.name, offset + image.offset, image.stored, inside, depth)
            for image in read_offload_images(content, context.allowance)
            for inside in (replace(context, image=image.described),)
        )
        return (
            *images,
            *self._whole_sections(content, offset, context, depth),
            *self._embedded_fat_images(content, offset, context, depth),
        ) or self._bare_images(content, offset, context, depth)

    def _bare_images(self, content: memoryview, offset: int, context: Context, depth: int) -> tuple[Container, ...]:
        """Return the GPU binaries in the data of a host file that has no section for any: it is searched for them."""
        from kernlens.formats.elf.elf_file import read_elf
        from kernlens.formats.elf.embedded import embedded_binaries

        elf = read_elf(content, format="host-elf", allowance=context.allowance)
        return tuple(
            self._part(
                image.toreadonly, f"{section.name}.{number}", offset + section.offset + at, image, context, depth
            )
            for number, (section, at, image) in enumerate(embedded_binaries(elf, _GPU_MACHINES, context.allowance))
        )

    def _whole_sections(self, content: memoryview, offset: int, context: Context, depth: int) -> tuple[Container, ...]:
        """Return the sections of a host file that are containers themselves, HIP's bundles and the offload binaries of clang's
        linker wrapper; one that cannot be read is listed with the reason."""
        from kernlens.formats.clang_bundle import HIP_SECTION
        from kernlens.formats.elf.elf_file import read_elf
        from kernlens.formats.offload_binary import SECTION

        elf = read_elf(content, format="host-elf", allowance=context.allowance)
        sections = [section for section in map(elf.section, (HIP_SECTION, SECTION)) if section and len(section.data)]
        return tuple(
            self._part(section.data.toreadonly, section.name, offset + section.offset, section.data, context, depth)
            for section in sections
        )

    def _offload_entries(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        from kernlens.formats.offload_binary import read_offload_binaries

        return tuple(
            self._part(entry.data.toreadonly, entry.name, offset + entry.offset, entry.data, inside, depth)
            for entry in read_offload_binaries(content, context.allowance)
            for inside in (replace(context, image=entry.described),)
        )

    def _bundled(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        """Return the images for GPUs in clang's offload bundles; those for the host hold nothing to read."""
        from kernlens.formats.clang_bundle import read_bundles

        children = []
        for bundle in read_bundles(content, context.allowance):
            self._room += 0 if bundle.unpacked is None else (_DEPTH_LIMIT + 1) * len(bundle.unpacked)
            for image in bundle.images:
                if image.kind != "host":
                    at = offset + image.offset
                    children.append(self._part(image.data.toreadonly, image.target, at, image.data, context, depth))
        return tuple(children)

    def _embedded_fat_images(
        self, content: memoryview, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        """Return the images of the fat binaries in a host's executable or library that was made with CUDA."""
        from kernlens.formats.elf.elf_file import read_elf
        from kernlens.formats.fatbin import SECTIONS

        elf = read_elf(content, format="host-elf")
        sections = [section for section in map(elf.section, SECTIONS) if section is not None and len(section.data)]
        return tuple(
            image
            for section in sections
            for image in self._fat_images(section.data, section.name, offset + section.offset, context, depth)
        )

    def _fat_images(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        from kernlens.formats.fatbin import read_fatbin

        return tuple(
            self._part(partial(self._image, image), image.name, offset + image.offset, image.stored, context, depth)
            for image in read_fatbin(content, context.allowance)
        )

    def _with_cached_code(self, ptx: memoryview, context: Context) -> tuple[memoryview, Context]:
        """Return the machine code that the driver made of a build's PTX, where the recording has it, with the PTX as a stage;
        else the PTX itself."""
        from kernlens.loading.cuda_programs import recorded_code, with_ptx

        code = recorded_code(context.build)
        return (memoryview(code), with_ptx(ptx, context)) if code else (ptx, context)

    def _cached_result(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        """Return what an entry of the compute cache holds: a cubin, whose PTX is a stage, or PTX."""
        from kernlens.formats.compute_cache import read_cache_entry
        from kernlens.loading.cuda_programs import with_ptx

        entry = read_cache_entry(content)
        inside = with_ptx(memoryview(entry.ptx), context) if entry.holds_code else context
        return (self.unpack(entry.result, name, offset + entry.result_offset, inside, depth + 1),)

    def _image(self, image: OffloadImage | FatEntry) -> memoryview:
        """Return the image's bytes; what is unpacked may hold containers of its own."""
        content = image.read()
        self._room += 0 if image.unpacked is None else (_DEPTH_LIMIT + 1) * image.unpacked
        return content

    def _part(
        self, read: Callable[[], memoryview], name: str, offset: int, stored: memoryview, context: Context, depth: int
    ) -> Container:
        """Unpack one of several device images. If it cannot be read, the container says why: the others still can."""
        before = len(self.programs)
        try:
            return self.unpack(read(), name, offset, context, depth + 1)
        except TooManyError:
            raise  # All are at fault, and to leave out the rest would hide it.
        except FormatError as error:
            del self.programs[before:]
            container = Container("unknown", name, offset, stored)
            container.unreadable = str(error)
            log.debug("loading", "%s is passed over: %s", name, error)
            return container

    def _neo_parts(
        self, content: memoryview, name: str, offset: int, context: Context, depth: int
    ) -> tuple[Container, ...]:
        from kernlens.formats.neo_elf import read_neo_elf

        read = read_neo_elf(content)
        spirv, bitcode, debug = read.spirv, read.bitcode, read.device_debug
        inside = context.holding(
            options=read.build_options,
            spirv=spirv.data if spirv else EMPTY,
            debug=debug.data if debug else EMPTY,
            source=bytes(read.source.data).rstrip(b"\0").decode("utf-8", "replace") if read.source else None,
        )
        children = []
        if read.device_binary is not None:
            part = read.device_binary
            children.append(self.unpack(part.data, name, offset + part.offset, inside, depth + 1))
        elif spirv is not None:
            self.programs.append(spirv_program(self._unique(name), spirv.data, inside))
        elif bitcode is not None:
            self.programs.append(bitcode_program(self._unique(name), bitcode.data, inside))
        if debug is not None:
            at = offset + debug.offset
            beside = Container(identify(debug.data) or "unknown", "", at, debug.data)
            if beside.kind == "debug-data":
                beside.find_children = partial(_kernel_elfs, debug.data, at, context.allowance)
            children.append(beside)
        for kind, middle in (("spirv", spirv), ("llvm-bitcode", bitcode)):
            if middle is not None:
                children.append(Container(kind, "", offset + middle.offset, middle.data))
        return tuple(children)


def _debug_of_units(context: Context) -> dict[str, memoryview]:
    """Return the debug data of each unit of a package of modules, by the unit's name: the driver gives out a package of these
    too. Empty where the build's debug data is none, or cannot be read: then each unit says so."""
    from kernlens.formats.ar import read_ar

    try:
        debug = memoryview(context.build.debug)
        return {member.name: member.data for member in read_ar(debug)} if identify(debug) == "ar" else {}
    except FormatError as error:
        log.debug("loading", "the debug data of a package is passed over: %s", error)
        return {}


def _elf_sections(content: memoryview, kind: str) -> tuple[Section, ...]:
    from kernlens.formats.elf.elf_file import read_elf

    return read_elf(content, format=kind).sections


def _kernel_elfs(content: memoryview, offset: int, allowance: Allowance) -> tuple[Container, ...]:
    from kernlens.formats.patch_tokens.debug_data import read_debug_data

    return tuple(
        Container("kernel-debug-elf", kernel.name, offset + kernel.elf_offset, kernel.elf)
        for kernel in read_debug_data(content, allowance).kernels
        if kernel.elf
    )


def _pocl_files(content: memoryview, offset: int, allowance: Allowance) -> tuple[Container, ...]:
    from kernlens.formats.poclbin import read_poclbin

    read = read_poclbin(content, allowance)
    return tuple(
        Container(identify(file.data) or "unknown", file.path.lstrip("/"), offset + file.offset, file.data)
        for file in (*read.files, *(file for kernel in read.kernels for file in kernel.files))
    )


#: The kinds that hold other containers, and what unpacks each.
_PARTS: dict[str, Callable[[Unpacker, memoryview, str, int, Context, int], tuple[Container, ...]]] = {
    "ar": Unpacker._members, "host-elf": Unpacker._images, "clang-bundle": Unpacker._bundled,
    "offload-binary": Unpacker._offload_entries, "fatbin": Unpacker._fat_images,
    "compute-cache": Unpacker._cached_result, "neo-elf": Unpacker._neo_parts,
}  # fmt: skip
#: The kinds of programs whose own parts are listed.
_LISTED = {"debug-data": _kernel_elfs, "poclbin": _pocl_files}
