"""Applications whose launches are kept: ``own SOURCE``, ``transpose SOURCE``, ``arrays``, and ``launches JSON FOLDER``, which
runs kernels of the sources in a folder. They print a digest of all that their kernels wrote. The device is the first of the
platform that PLATFORM names (NVIDIA)."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

cl = import_module("pyopencl")
TYPES: Mapping[str, Any] = {
    "float": np.float32,
    "double": np.float64,
    "uchar": np.uint8,
    "int": np.int32,
    "uint": np.uint32,
}
CONTEXT = cl.Context(
    next(each for each in cl.get_platforms() if os.environ.get("PLATFORM", "NVIDIA") in each.name).get_devices()[:1]
)
QUEUE = cl.CommandQueue(CONTEXT)
RANDOM = np.random.default_rng(5)


def buffer(content: Any) -> Any:
    """Return a buffer with this content."""
    return cl.Buffer(CONTEXT, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=content)


def content_of(memory: Any) -> bytes:
    """Return what a buffer contains."""
    content = np.empty(memory.size, np.uint8)
    cl.enqueue_copy(QUEUE, content, memory)
    return content.tobytes()


def built(source: str, options: str = "") -> Any:
    """Return the program of a file."""
    return cl.Program(CONTEXT, Path(source).read_text()).build(options.split(), cache_dir=False)


def launched(kernel: Any, size: Any, group: Any, *arguments: Any, offset: Any = None) -> None:
    """Launch a kernel."""
    kernel.set_args(*arguments)
    cl.enqueue_nd_range_kernel(QUEUE, kernel, size, group, global_work_offset=offset)


def transpose(source: str) -> Iterator[bytes]:
    """A large transpose."""
    n = 4096
    out = buffer(np.zeros(n * n, np.float32))
    launched(
        built(source).transpose, (n, n), (16, 16), buffer(RANDOM.random(n * n, dtype=np.float32)), out, np.int32(n)
    )
    yield content_of(out)


def own(source: str) -> Iterator[bytes]:
    """Kernels with each kind of argument, and with all that asks for sizes."""
    program, n = built(source), 1 << 16
    floats = RANDOM.random(n, dtype=np.float32)
    constants, numbers = buffer(floats[:16].copy()), buffer(np.arange(8, dtype=np.int32))
    out = buffer(np.zeros(n, np.float32))
    launched(program.with_const, (n,), (128,), constants, out, numbers)
    yield content_of(out)
    local = [cl.LocalMemory(size) for size in (256, 512, 256)]
    launched(program.with_local, (n,), (64,), buffer(floats), out, *local)
    yield content_of(out)
    where = program.where
    for size, group, offset in (
        ((64, 12, 6), (16, 3, 2), (100, 20, 3)),
        ((64, 12), (8, 4), (7, 9)),
        ((4096,), None, None),
    ):
        places = buffer(np.zeros(int(np.prod(size)), np.int32))
        launched(where, size, group, places, offset=offset)
        yield content_of(places)
    image = cl.image_from_array(CONTEXT, RANDOM.random((32, 32, 4), dtype=np.float32), 4)
    sampler = cl.Sampler(CONTEXT, False, cl.addressing_mode.CLAMP, cl.filter_mode.NEAREST)
    launched(program.image, (32, 32), (8, 8), image, sampler, out)
    yield content_of(out)
    pair = np.zeros(1, np.dtype([("a", "i2"), ("padding", "V6"), ("b", "f8")]))
    pair["a"], pair["b"] = 7, 2.25
    doubles = buffer(np.zeros(1024, np.float64))
    launched(program.structs, (1024,), (256,), pair[0], np.array([1, 2, 3, 0], np.float32), np.int8(5), doubles)
    yield content_of(doubles)
    launched(program.set, (4096,), (256,), numbers := buffer(np.zeros(4096, np.int32)), np.int32(7))
    yield content_of(numbers)
    n = 1 << 20
    mixed = buffer(np.zeros(n, np.float32))
    indexes = buffer(RANDOM.permutation(n).astype(np.int32))
    launched(program.mixed, (n,), (256,), buffer(RANDOM.random(n, dtype=np.float32)), indexes, mixed, np.int32(n))
    yield content_of(mixed)


def arrays() -> Iterator[bytes]:
    """What pyopencl makes of arrays, reductions and scans, which needs mako."""
    array, reduction, scan = (import_module(f"pyopencl.{name}") for name in ("array", "reduction", "scan"))

    x, y = (array.to_device(QUEUE, RANDOM.random(1 << 18, dtype=np.float32)) for _ in range(2))
    numbers = array.to_device(QUEUE, RANDOM.integers(0, 9, 1 << 16).astype(np.int32))
    squares = reduction.ReductionKernel(
        CONTEXT, np.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*x[i]", arguments="__global float *x"
    )
    prefix = scan.GenericScanKernel(
        CONTEXT, np.int32, arguments="__global int *ary", input_expr="ary[i]", scan_expr="a+b", neutral="0",
        output_statement="ary[i] = item;",
    )  # fmt: skip
    for result in (2 * x + y, array.sum(x), array.dot(x, y), array.max(x), squares(x)):
        yield result.get().tobytes()
    prefix(numbers, queue=QUEUE)
    yield numbers.get().tobytes()


def launches(described: str, folder: str) -> Iterator[bytes]:
    """Launches of kernels in the sources of a folder, as ``tests/data/behaviour`` describes them."""
    for launch in json.loads(Path(described).read_text()):
        kernel = getattr(
            built(f"{folder}/{launch['file']}", f"{launch.get('options', '')} -I{folder}"), launch["kernel"]
        )
        buffers: list[Any] = []
        for number, word in enumerate(launch["arguments"]):
            set_argument(kernel, number, word, buffers)
        cl.enqueue_nd_range_kernel(QUEUE, kernel, launch["size"], launch["group"])
        yield from map(content_of, buffers)


def set_argument(kernel: Any, number: int, word: str, buffers: list[Any]) -> None:
    """Set an argument as a word says it: ``random:float4:256``, ``local:64``, ``0.5``."""
    kind, _, rest = word.partition(":")
    if kind == "local":
        kernel.set_arg(number, cl.LocalMemory(int(rest)))
    elif kind in ("random", "zeros"):
        name, _, count = rest.partition(":")
        element, size = TYPES[name.rstrip("24")], int(count) * int(name[len(name.rstrip("24")) :] or 1)
        content = np.zeros(size) if kind == "zeros" else RANDOM.random(size)
        content = content if np.issubdtype(element, np.floating) else np.floor(200 * content)
        buffers.append(buffer(content.astype(element)))
        kernel.set_arg(number, buffers[-1])
    elif "," in word:
        kernel.set_arg(number, np.array(word.split(","), np.int32))
    elif "." in word:
        kernel.set_arg(number, np.float32(word))
    else:
        set_number(kernel, number, int(word))


def set_number(kernel: Any, number: int, value: int) -> None:
    """Set a whole number, of the first type that the kernel takes."""
    for element in (np.int32 if value < 1 << 31 else np.uint32, np.int8, np.uint64):
        try:
            kernel.set_arg(number, element(value))
            return
        except cl.LogicError:
            continue
    raise SystemExit(f"argument {number} takes no number")


def main() -> None:
    """Run the application that the command line names."""
    applications: Mapping[str, Callable[..., Iterator[bytes]]] = {
        "own": own,
        "transpose": transpose,
        "arrays": arrays,
        "launches": launches,
    }
    total = hashlib.sha256()
    for content in applications[sys.argv[1]](*sys.argv[2:]):
        total.update(content)
    print(total.hexdigest())


if __name__ == "__main__":
    main()
