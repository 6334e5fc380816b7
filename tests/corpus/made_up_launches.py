"""An application that launches kernels of a source on PoCL once, on data that it makes up from the types of their parameters:

    python -m tests.corpus.made_up_launches SOURCE OPTIONS KERNEL...

Numbers are small and not negative, and buffers large, so that what is an index somewhere is one in
range. It prints the kernels that it cannot launch, with the reason.
"""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from typing import Any

#: Elements of a side of a launch, bytes of a buffer and of local memory.
SIDE, BUFFER, LOCAL = 32, 1 << 20, 16 << 10
_TYPE = re.compile(r"(u?char|u?short|u?int|u?long|half|float|double|size_t|bool)(2|3|4|8|16)?")
_SIZES = {"char": 1, "short": 2, "int": 4, "long": 8, "half": 2, "float": 4, "double": 8, "bool": 1, "size_t": 8}
_EXTENT = re.compile(r"w|h|n|.*(?:width|height|rows|cols|size|stride|pitch|count|num|len|dim)", re.IGNORECASE)
_FIRST = re.compile(r"x|y|z|.*(?:off|start|first|index|idx|min)", re.IGNORECASE)


def main() -> int:
    """Launch each kernel once."""
    import pyopencl as cl

    path, options, *names = sys.argv[1:]
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    platform = next(each for each in cl.get_platforms() if "Portable" in each.name)
    context = cl.Context(platform.get_devices()[:1])
    program = cl.Program(context, text).build(f"{options} -cl-kernel-arg-info".strip())
    for name in names:
        try:
            _launch(cl, context, cl.Kernel(program, name), text)
        except (cl.Error, ValueError) as error:
            print(f"{name}: {str(error).splitlines()[0]}")
    return 0


def _launch(cl: Any, context: Any, kernel: Any, text: str) -> None:
    queue, device, source = cl.CommandQueue(context), context.devices[0], random.Random(kernel.function_name)
    arguments = []
    for number in range(kernel.num_args):
        arguments.append(_argument(cl, context, kernel, number, source))
        kernel.set_arg(number, arguments[-1])
    required = kernel.get_work_group_info(cl.kernel_work_group_info.COMPILE_WORK_GROUP_SIZE, device)
    dimensions = 1 + max(
        (int(each) for each in re.findall(r"get_(?:global|group|local)_id\s*\(\s*([0-2])", text)), default=0
    )
    group = tuple(required) if any(required) else {1: (64,), 2: (8, 8), 3: (4, 4, 4)}[dimensions]
    items = {1: (SIDE * SIDE,), 2: (SIDE, SIDE), 3: (SIDE, SIDE, 4)}[len(group)]
    whole = tuple(max(each // size, 1) * size for each, size in zip(items, group, strict=True))
    cl.enqueue_nd_range_kernel(queue, kernel, whole, group)
    queue.finish()


def _argument(cl: Any, context: Any, kernel: Any, number: int, source: random.Random) -> Any:
    info = cl.kernel_arg_info
    space, stated = kernel.get_arg_info(number, info.ADDRESS_QUALIFIER), kernel.get_arg_info(number, info.TYPE_NAME)
    name = kernel.get_arg_info(number, info.NAME)
    if stated.startswith("image"):
        form = cl.ImageFormat(cl.channel_order.RGBA, cl.channel_type.FLOAT)
        shape = {"1": (2 * SIDE,), "2": (2 * SIDE,) * 2, "3": (2 * SIDE,) * 3}[stated[len("image")]]
        pixels = 4
        for each in shape:
            pixels *= each
        content = bytearray(_numbers("float", 4 * pixels, source))
        return cl.Image(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, form, shape, hostbuf=content)
    if stated == "sampler_t":
        return cl.Sampler(context, False, cl.addressing_mode.CLAMP_TO_EDGE, cl.filter_mode.NEAREST)
    if space == cl.kernel_arg_address_qualifier.LOCAL:
        return cl.LocalMemory(LOCAL)
    base = re.sub(
        r"\s*\*.*|\b(?:const|restrict|volatile)\b|unsigned ", lambda each: "u" if each[0] == "unsigned " else "", stated
    )
    match = _TYPE.fullmatch(base.strip())
    if "*" in stated:
        kind = match[1] if match else "int"
        return cl.Buffer(
            context,
            cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR,
            hostbuf=bytearray(_numbers(kind, BUFFER, source)),
        )
    if match is None:
        raise ValueError(f"a value of {stated} cannot be made up")
    lanes = {"": 1, "3": 4}.get(match[2] or "", int(match[2] or 1))
    return _value(match[1], name, source) * lanes


def _value(kind: str, name: str, source: random.Random) -> bytes:
    number = SIDE if _EXTENT.fullmatch(name) else 0 if _FIRST.fullmatch(name) else 4
    return _packed(kind, number if kind not in ("half", "float", "double") else source.uniform(0.25, 1))


def _packed(kind: str, number: float) -> bytes:
    import struct

    if kind in ("half", "float", "double"):
        return struct.pack({"half": "<e", "float": "<f", "double": "<d"}[kind], number)
    return int(number).to_bytes(_SIZES[kind.removeprefix("u")], "little")


def _numbers(kind: str, size: int, source: random.Random) -> bytes:
    """Return some numbers of a type, over and over."""
    is_real = kind in ("half", "float", "double")
    some = b"".join(_packed(kind, source.uniform(0.05, 1) if is_real else source.randrange(1, 16)) for _ in range(1021))
    return (some * (size // len(some) + 1))[:size]


if __name__ == "__main__":
    sys.exit(main())
