"""The files that are changed: valid ones of each format, from a few entries to as many as a limit lets through."""

from __future__ import annotations

import lzma
import random
import struct
import tarfile
import zlib
from collections.abc import Callable
from functools import cache

import zstandard

from tests.fuzz.generated.changes import room
from tests.fuzz.inputs import SEPARATOR
from tests.nvidia_files import FOLDER, LINES_ENTRY, inlined, opencl, triton, triton_softmax
from tests.unit.formats.test_cuda_containers import LZ4, ZSTD, fat_entry, fatbin
from tests.unit.formats.test_offload_binary import OPTIONS
from tests.unit.formats.test_offload_binary import binary as offload_binary
from tests.writers import code_objects, dense_files, patch_tokens, poclbin, programs, slow_debug_data, slow_files
from tests.writers.ar import archive, member
from tests.writers.elf import ElfWriter
from tests.writers.messagepack import packed

Shape = Callable[[random.Random], bytes]


def count(chance: random.Random, most: int) -> int:
    """Return how many entries a file has: as likely between 1 and 10 as between 1,000 and 10,000."""
    return int(most ** chance.random())


def _dense(maker: Callable[[int], bytes], entry_size: int) -> Shape:
    return lambda chance: maker(63 + count(chance, max(2, room(chance) // entry_size)))


def zebin(chance: random.Random) -> bytes:
    """Return a zebin of kernels whose sections, entries and symbols may share names and bytes."""
    writer = ElfWriter()
    kernels = [f"k{number}" for number in range(count(chance, 200))]
    shared = chance.random() < 0.3
    for name in kernels:
        writer.add(f".text.{kernels[0] if shared else name}", bytes(16 * count(chance, 64)), flags=6)
    entries = "".join(f"  - name: {name}\n    execution_env:\n      simd_size: 16\n" for name in kernels)
    extra = chance.choice(("", "functions:\n" + entries, "global_host_access_table:\n" + entries, "x: &a [*a, *a]\n"))
    writer.add(".ze_info", f"version: '1.20'\nkernels:\n{entries}{extra}".encode(), type=slow_files.SHT_ZEBIN_ZEINFO)
    if chance.random() < 0.5:
        writer.add_symbols([(name, 16 * number, 16, 1, 2, 1) for number, name in enumerate(kernels)])
    return bytes(writer.build())


def code_object(chance: random.Random) -> bytes:
    """Return a code object of kernels that may all reach over one code."""
    names = [f"k{number}" for number in range(count(chance, 300))]
    sizes = dict.fromkeys(names, 40 * count(chance, 3000)) if chance.random() < 0.4 else None
    arguments = [{".offset": 0, ".size": 8, ".value_kind": "global_buffer"}] * count(chance, 40)
    stated = code_objects.metadata([code_objects.kernel(name, vgpr_count=1, args=arguments) for name in names])
    code = dict.fromkeys(names, code_objects.NOP * count(chance, 30) + code_objects.END)
    return code_objects.code_object(code, stated, sizes=sizes)


def bundle(chance: random.Random) -> bytes:
    """Return HIP's bundles, plain or packed, one or many in a row."""
    image = chance.choice((code_object(chance), b"", programs.spirv()))
    images = {f"hipv4-amdgcn-amd-amdhsa--gfx{number:x}": image for number in range(0x906, 0x906 + count(chance, 8))}
    plain = code_objects.bundle({"host-x86_64-unknown-linux": b"", **images}, align=chance.choice((1, 4096)))
    form = chance.randrange(4)
    if form == 0:
        return plain
    stored = zstandard.compress(plain) if form == 3 else zlib.compress(plain)
    single = code_objects.packed_bundle(plain, stored, version=chance.choice((1, 2, 3)), method=1 if form == 3 else 0)
    return single * min(count(chance, 2000), max(1, room(chance) // len(single)))


def fat_binary(chance: random.Random) -> bytes:
    """Return a fat binary whose images may be packed to next to nothing."""
    text = triton(".ptx") + chance.choice((b"", b"ret;\n", b".loc 1 1 1\n", b"{", b"\n")) * count(chance, 300_000)
    kinds = []
    for _ in range(count(chance, 20)):
        image, kind = chance.choice(((triton(".cubin"), 2), (text, 1), (inlined(".cubin"), 2), (inlined(".ptx"), 1)))
        form = chance.choice((0, 0, ZSTD))
        stored = zstandard.compress(image) if form else image
        kinds.append(fat_entry(stored, kind=kind, flags=form, unpacked=len(image), packed=len(stored) if form else 0))
    if chance.random() < 0.2:
        zeros = b"\x1f\0\x01\0" + b"\xff" * count(chance, 4000) + b"\x00"
        kinds.append(fat_entry(zeros, kind=2, flags=LZ4, unpacked=255 * len(zeros), packed=len(zeros)))
    return fatbin(*kinds)


def cubin(chance: random.Random) -> bytes:
    """Return a cubin of kernels with attributes of the shortest form."""
    writer = ElfWriter(machine=190, flags=chance.choice((90, 0x5A055A, 100 << 8)))
    for number in range(count(chance, 100)):
        writer.add(f".text.k{number}", bytes(16 * count(chance, 60)), flags=6)
        writer.add(f".nv.info.k{number}", struct.pack("<BBH", 3, 0x4C, 1) * count(chance, max(2, room(chance) // 40)))
    return bytes(writer.build())


def ptx(chance: random.Random) -> bytes:
    """Return PTX that is, behind its head, one statement many times."""
    head = ".version 8.0\n.target sm_90\n.address_size 64\n"
    body = '.file 1 "a.cu"\n.visible .entry k() {\n'
    unit = chance.choice((
        "ret;\n", ";", ".loc 1 1 1\n", "call f;\n", "$a:", ".reg .b32 %r<9>;\n", '"', "/**/", "//\n", "{", "}\n.func f(){",
        ".loc 1 2 1, function_name $f, inlined_at 1 1 1\nret;\n", ".pragma \"x\";\n", ".section .debug_str {.b8 1}\n",
        "@%p bra $a;\n", ".global .u8 x[9] = {1,2};\n", ".loc 1 1 1\nadd.s32 %r1, %r1, %r1;\n",
    ))  # fmt: skip
    times = count(chance, max(2, room(chance) // len(unit)))
    return (head + chance.choice(("", body)) + unit * times + chance.choice(("", "}\n"))).encode()


def host(chance: random.Random) -> bytes:
    """Return a host library with a section of a bundle, a fat binary or offload binaries."""
    writer = ElfWriter(machine=62, type=3)
    inside, name = chance.choice((
        (bundle, ".hip_fatbin"), (fat_binary, ".nv_fatbin"), (offload, ".llvm.offloading"),
        (archived, "__CLANG_OFFLOAD_BUNDLE__sycl-spir64"),
    ))  # fmt: skip
    for _ in range(chance.choice((1, 1, 2, 5))):
        writer.add(name, inside(chance), flags=2, address=0x100000)
    return bytes(writer.build())


def offload(chance: random.Random) -> bytes:
    """Return offload binaries one after the other."""
    image = chance.choice((programs.spirv(exports="f"), b"", code_object(chance)))
    single = offload_binary(
        image, OPTIONS | {f"k{number}": "v" for number in range(count(chance, 50))}, chance.choice((1, 2))
    )
    return single * min(count(chance, 500), max(1, room(chance) // len(single)))


def archived(chance: random.Random) -> bytes:
    """Return an ar archive, or a package of modules, of other files."""
    is_package = chance.random() < 0.5
    inside = [chance.choice(_INNER)(chance) for _ in range(count(chance, 12))]
    members = [member(f"pkg.unit.{number}" if is_package else "x", content) for number, content in enumerate(inside)]
    if is_package:
        members.insert(0, member("modules.pkg.yml", b"units:\n" + b"  - pkg.unit.0\n" * len(inside)))
    return bytes(archive(members))


def neo_elf(chance: random.Random) -> bytes:
    """Return a NEO ELF that holds other files, each several times."""
    kinds = (0xFF000005, 0xFF000006, 0xFF000008, 0xFF000009, 0xFF000003, 0xFF000010)
    parts = [(chance.choice(kinds), chance.choice(_INNER)(chance)) for _ in range(count(chance, 6))]
    return patch_tokens.neo_elf(parts)


def nested(chance: random.Random) -> bytes:
    """Return containers within containers, deeper than is read."""
    content = chance.choice(_INNER)(chance)
    for _ in range(count(chance, 14)):
        content = chance.choice((
            lambda inner: bytes(archive([member("x", inner)] * chance.choice((1, 1, 2)))),
            lambda inner: fatbin(fat_entry(inner)),
            lambda inner: code_objects.bundle({"hip-amdgcn--gfx906": inner}, align=1),
            lambda inner: patch_tokens.neo_elf([(0xFF000005, inner)]),
            lambda inner: offload_binary(inner, OPTIONS),
        ))(content)  # fmt: skip
        if len(content) > room(chance) + 20_000:
            break
    return content


def metadata(chance: random.Random) -> bytes:
    """Return MessagePack of values in one another, or many beside one another."""
    value: object = chance.choice((None, 1, "x", b"y", 1.5))
    for _ in range(count(chance, 40)):
        value = chance.choice(([value] * count(chance, 9), {f"{number}": value for number in range(count(chance, 4))}))
        if len(packed(value)) > 4000:
            break
    return packed(value)


def pocl(chance: random.Random) -> bytes:
    """Return a program binary of PoCL."""
    arguments = [(1, 1, 0, 8, "a", "int*")] * count(chance, 200)
    files = {
        f"/{number}/k.so": chance.choice((b"", b"BC\xc0\xde", zebin(chance))) for number in range(count(chance, 30))
    }
    kernels = [poclbin.WrittenKernel(f"k{number}", arguments, files=files) for number in range(count(chance, 20))]
    return poclbin.write_poclbin(kernels, files, version=chance.choice((8, 9, 10, 11)))


def project_file(chance: random.Random) -> bytes:
    """Return a kernlens.toml with many tables, patterns and values."""
    unit = chance.choice(("[a-", "*?", "[!", "**/", "x", "[]", "\\"))
    tables = []
    for number in range(count(chance, 400)):
        pattern = unit * count(chance, 1200)
        tables.append(
            f'[{chance.choice(("kernel", "source"))}."{number}{pattern}"]\nmax_instructions = {number}\noptions = "-w"\n'
        )
    return "".join(tables).encode()


@cache
def _archives() -> tuple[bytes, ...]:
    """The files of real compilers that the tests keep."""
    contents = [triton(".cubin"), triton(".ptx"), triton(".ttir"), inlined(".cubin"), opencl(LINES_ENTRY)]
    contents += [triton_softmax("100.cubin"), triton_softmax("gfx1100.hsaco")]
    with tarfile.open(FOLDER.parent / "intel_triton" / "triton_cache.tar.xz") as held:
        contents += [file.read() for file in map(held.extractfile, held) if file is not None]
    return tuple(content for content in contents if len(content) < 60_000)


def real(chance: random.Random) -> bytes:
    """Return a file of a real compiler."""
    return chance.choice(_archives())


def bitcode(chance: random.Random) -> bytes:
    """Return LLVM bitcode, or what begins like it."""
    return chance.choice((b"BC\xc0\xde", b"\xde\xc0\x17\x0b")) + chance.randbytes(count(chance, 4000))


def parts_of_a_source(chance: random.Random) -> bytes:
    """Return a source, a header, options and a name: macros, includes, directives."""
    unit = chance.choice((
        '#include "k.h"\n', "#define A A A\n", "#define A(x) x x\nA(A(A(1)))\n", "#if 1\n", "#line 4294967295 \"a\"\n", "/*",
        '"',
        "\\\n", "#include <k.h>\n", "??/\n", "#define F(...) __VA_ARGS__\n", "#include MACRO\n", "kernel void k(){", "x" * 50,
    ))  # fmt: skip
    text = (unit * count(chance, 3000)).encode()
    options = chance.choice((b"", b"-I . -D A=1", b"-I" * 300, b'-D"x y" ' * 200, b"-include k.h", b"-D \\" * 99))
    return SEPARATOR.join((text, chance.choice((text, b"", b"#pragma once\n")), options, b"k.cl"))


def xz(chance: random.Random) -> bytes:
    """Return what is packed by other programs, which is refused."""
    return lzma.compress(programs.binary()) if chance.random() < 0.5 else zlib.compress(programs.binary())


_INNER: tuple[Shape, ...] = (
    zebin, code_object, cubin, ptx, metadata, pocl, real,
    lambda chance: programs.binary(kernel="k" * count(chance, 3000)),
    lambda chance: programs.spirv(exports="f" * count(chance, 900), imports="g"),
)  # fmt: skip
#: The shapes of whole files, by their names.
WHOLE: dict[str, Shape] = {
    **{
        shape.__name__: shape
        for shape in (
            zebin, code_object, bundle, fat_binary, cubin, ptx, host, offload, archived, neo_elf, nested, pocl, real, bitcode,
            xz,
        )
    },
    "patch_tokens": lambda chance: programs.binary(kernel="k" * count(chance, 3000), options="-g" * count(chance, 99)),
    "spirv": lambda chance: programs.spirv(exports="f" * count(chance, 900), imports="g"),
    "inlined_calls": _dense(dense_files.dense_inlined_calls, 45),
    "debug_entries": _dense(dense_files.dense_entries, 1),
    "line_rows": _dense(dense_files.dense_rows, 1),
    "range_lists": lambda chance: slow_debug_data.shared_range_list(
        count(chance, 600), count(chance, 600), chance.choice((0, 1))
    ),
    "many_kernels": _dense(slow_debug_data.many_kernels, 1200),
    "deep_inlining": lambda chance: slow_debug_data.deep_inlining(count(chance, 300), max(4, count(chance, 2000))),
    **{
        maker.__name__: _dense(maker, size)
        for maker, size in (
            (dense_files.million_symbols, 32), (dense_files.dense_relocations, 16), (dense_files.dense_sections, 64),
            (dense_files.dense_kernels, 150), (dense_files.dense_spirv, 45), (dense_files.dense_names, 17),
            (dense_files.dense_members, 80), (dense_files.dense_patch_token_kernels, 50),
            (dense_files.dense_patch_tokens, 8), (dense_files.dense_program_tokens, 8), (dense_files.dense_debug_kernels, 16),
            (dense_files.dense_arguments, 55), (dense_files.dense_patch_token_symbols, 1030), (dense_files.dense_images, 16),
            (dense_files.dense_unreadable_images, 16), (dense_files.dense_frames, 40), (dense_files.dense_packed_images, 70),
            (slow_files.same_named_sections, 65), (slow_files.many_symbols, 33),
        )
    },
}  # fmt: skip
#: The shapes that only one target reads, by its name.
OF_TARGETS: dict[str, Shape] = {
    "budgets": project_file,
    "messagepack": metadata,
    "sources": parts_of_a_source,
    "ptx": ptx,
}
