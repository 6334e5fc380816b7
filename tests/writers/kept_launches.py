"""Recordings with launches that were kept by hand: pyopencl runs a kernel on PoCL, and its memory is read before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.kept_launch import KeptArgument, KeptLaunch, KeptMemory
from kernlens.recording.writer import RecordingWriter

#: The numbers of flags.
READ_WRITE, WRITE_ONLY, READ_ONLY, USE_HOST_PTR = 1, 2, 4, 8


def content(value: bytes) -> Callable[[], bytes]:
    return lambda: value


class Keeper:
    """A program on PoCL, whose launches are kept."""

    def __init__(self, source: str, options: str = "", name: str = "program") -> None:
        import pyopencl as cl

        self.cl = cl
        platform = next(each for each in cl.get_platforms() if "Portable" in each.name)
        self.device = platform.get_devices()[0]
        self.context = cl.Context([self.device])
        self.queue = cl.CommandQueue(self.context)
        self.program = cl.Program(self.context, source).build(options)
        self.build = Build(
            name=name,
            device=self.device.name,
            options=options,
            parts=HeldParts(
                sources=(Source(f"{name}.cl", source, "recording"),),
                binary=self.program.get_info(cl.program_info.BINARIES)[0],
            ),
        )
        self._counts: dict[str, int] = {}

    def launch(
        self,
        kernel: str,
        arguments: Sequence[Any],
        size: Sequence[int],
        group: Sequence[int] | None = None,
        offset: Sequence[int] | None = None,
    ) -> KeptLaunch:
        """Run a kernel, and return the launch. An argument is bytes (a value), an int (bytes of local memory), a list of bytes
        and flags (a buffer), or of bytes, flags, offset and size (a part of it). Equal lists are one buffer."""
        cl = self.cl
        running = cl.Kernel(self.program, kernel)
        buffers: dict[int, tuple[int, Any, int]] = {}
        described, parts = [], []
        for number, each in enumerate(arguments):
            if isinstance(each, bytes):
                described.append(KeptArgument("value", each))
                running.set_arg(number, each)
            elif isinstance(each, int):
                described.append(KeptArgument("local", size=each))
                running.set_arg(number, cl.LocalMemory(each))
            elif each is None:
                described.append(KeptArgument("null"))
                running.set_arg(number, None)
            else:
                data, flags, *part = each
                if id(each) not in buffers:
                    made_of = cl.Buffer(self.context, flags & 7 | cl.mem_flags.COPY_HOST_PTR, hostbuf=bytearray(data))
                    buffers[id(each)] = len(buffers), made_of, flags
                index, buffer, _ = buffers[id(each)]
                if part:
                    buffer = buffer.get_sub_region(*part)
                    parts.append(buffer)
                described.append(
                    KeptArgument("memory", memory=index, offset=(part or [0])[0], size=(part or [0, 0])[1])
                )
                running.set_arg(number, buffer)
        befores = [self._read(buffer) for _, buffer, _ in buffers.values()]
        cl.enqueue_nd_range_kernel(self.queue, running, size, group, global_work_offset=offset)
        self.queue.finish()
        memory = tuple(
            KeptMemory(
                "buffer", len(before), flags, before=content(before),
                after=None if flags & READ_ONLY else content(self._read(buffer)),
            )
            for before, (_, buffer, flags) in zip(befores, buffers.values(), strict=True)
        )  # fmt: skip
        self._counts[kernel] = self._counts.get(kernel, 0) + 1
        return KeptLaunch(
            *(kernel, self._counts[kernel], 100, tuple(size), None if group is None else tuple(group)),
            *(tuple(offset or [0] * len(size)), tuple(described), memory),
        )

    def _read(self, buffer: Any) -> bytes:
        host = bytearray(buffer.size)
        self.cl.enqueue_copy(self.queue, host, buffer)
        return bytes(host)


def record_launches(path: Path, build: Build, *launches: KeptLaunch) -> Path:
    """Write a recording with one program and its launches."""
    with RecordingWriter(path) as writer:
        number = writer.add(build)
        for launch in launches:
            writer.add_launch(number, launch)
    return path
