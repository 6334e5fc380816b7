"""Assembly of libraries that register device images with the SYCL runtime, as the offload wrapper makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

MISC, REQUIREMENTS = "SYCL/misc properties", "SYCL/device requirements"

#: A property's value: a number, or the bytes of an array, before which its size in bits is written.
Value = int | bytes


@dataclass(frozen=True)
class WrittenImage:
    """An image to write. ``content`` is what lies there, ``version`` that of its descriptor."""

    content: bytes
    kernels: Sequence[str] = ()
    target: str = "spir64"
    compile_options: str = ""
    link_options: str = ""
    properties: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    version: int = 3
    format: int = 0


def numbers(*values: int, size: int = 4) -> bytes:
    """The value of a property that is an array of numbers."""
    return b"".join(value.to_bytes(size, "little") for value in values)


def assembly(images: Sequence[WrittenImage], *, has_table: bool = True, has_bundles: bool = True) -> str:
    """A library for x86-64 as GNU assembly: a constructor registers the images. ``has_table``: with the section that lists
    them; ``has_bundles``: in sections named after their targets."""
    return "\n".join(_lines(images, has_table, has_bundles)) + "\n"


def _lines(images: Sequence[WrittenImage], has_table: bool, has_bundles: bool) -> Iterator[str]:
    yield '.section .data.rel.ro, "aw"'
    yield ".balign 16\ndescriptors:"
    for index, image in enumerate(images):
        yield f".short {image.version}\n.byte 4, {image.format}\n.zero 4"
        yield f".quad target{index}, compile{index}, link{index}"
        if image.version < 3:
            yield ".quad 0, 0"
        yield f".quad image{index}, image{index}_end, entries{index}, entries{index}_end, sets{index}, sets{index}_end"
    yield f"library:\n.short 1, {len(images)}\n.zero 4\n.quad descriptors, 0, 0"
    for index, image in enumerate(images):
        yield from _tables(index, image)
        section = f"__CLANG_OFFLOAD_BUNDLE__sycl-{image.target}" if has_bundles else ".rodata"
        yield f'.section {section}, "a"\n.balign 16\nimage{index}:'
        yield from _bytes(image.content)
        yield f"image{index}_end:"
        if has_table:
            yield f'.section .tgtimg, "aw"\n.quad image{index}, {len(image.content)}'
    yield from _constructor()


def _tables(index: int, image: WrittenImage) -> Iterator[str]:
    yield '.section .rodata, "a"'
    for name, text in (
        ("target", image.target),
        ("compile", image.compile_options),
        ("link", image.link_options),
        *((f"kernel{place}_", kernel) for place, kernel in enumerate(image.kernels)),
    ):
        yield f'{name}{index}: .asciz "{text}"'
    for place, (title, properties) in enumerate(image.properties.items()):
        yield f'set{place}_{index}: .asciz "{title}"'
        for number, (name, value) in enumerate(properties.items()):
            yield f'name{place}_{number}_{index}: .asciz "{name}"'
            if isinstance(value, bytes):
                yield f"value{place}_{number}_{index}: .quad {8 * len(value)}"
                yield from _bytes(value)
    yield f'.section .data.rel.ro, "aw"\n.balign 8\nentries{index}:'
    for place in range(len(image.kernels)):
        yield f".quad 0, kernel{place}_{index}, 0, 0"
    yield f"entries{index}_end:\nsets{index}:"
    for place in range(len(image.properties)):
        yield f".quad set{place}_{index}, properties{place}_{index}, properties{place}_{index}_end"
    yield f"sets{index}_end:"
    for place, properties in enumerate(image.properties.values()):
        yield f"properties{place}_{index}:"
        for number, value in enumerate(properties.values()):
            is_number = isinstance(value, int)
            address = "0" if is_number else f"value{place}_{number}_{index}"
            size = value if isinstance(value, int) else 8 + len(value)
            yield f".quad name{place}_{number}_{index}, {address}\n.long {1 if is_number else 2}, 0\n.quad {size}"
        yield f"properties{place}_{index}_end:"


def _bytes(content: bytes) -> Iterator[str]:
    for start in range(0, len(content), 64):
        yield f".byte {','.join(map(str, content[start : start + 64]))}"


def _constructor() -> Iterator[str]:
    yield '.section .init_array, "aw"\n.quad registered\n.text\nregistered:'
    yield "sub $8, %rsp\nlea library(%rip), %rdi\ncall __sycl_register_lib@PLT\nadd $8, %rsp\nret"
    yield '.weak __sycl_register_lib\n.section .note.GNU-stack, "", @progbits'
