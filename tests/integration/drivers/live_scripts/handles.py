"""Wrong buffers and handles, each with the error that it makes: ``handles.py SPIRV KERNEL``. Prints JSON."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable

from kernlens.errors import KernlensError
from kernlens.level_zero import Context, LiveKernel, LiveModule, build_spirv, first_device

answers: dict[str, str] = {}


def attempt(what: str, call: Callable[[], object]) -> None:
    try:
        answers[what] = f"answer: {call()}"
    except KernlensError as error:
        answers[what] = f"{type(error).__name__}: {error}"


def main() -> None:
    device = first_device()
    context = Context(device.driver)
    with open(sys.argv[1], "rb") as file:
        module = build_spirv(context, device, file.read(), "", "module")
    name = sys.argv[2]
    kernel = LiveKernel.create(module, name)
    expected = kernel.binary()
    large = bytearray(b"\xaa" * (len(expected) + 32))
    small = bytearray(b"\xaa" * (len(expected) - 1))
    attempt("larger buffer", lambda: kernel.binary_into(large) == len(expected))
    answers["larger buffer's bytes"] = str(large == expected + b"\xaa" * 32)
    attempt("smaller buffer", lambda: kernel.binary_into(small))
    answers["smaller buffer untouched"] = str(set(small) == {0xAA})
    attempt("null buffer", lambda: kernel.binary_into(None))  # type: ignore[arg-type]
    attempt("read-only buffer", lambda: kernel.binary_into(memoryview(expected)))
    attempt("own handle", lambda: LiveKernel.from_handle(module, name, kernel.handle).binary() == expected)
    attempt("own module handle", lambda: LiveModule.from_handle(context, device, module.handle).kernel_names)
    attempt("null handle", lambda: LiveKernel.from_handle(module, name, 0))
    attempt("module as kernel", lambda: LiveKernel.from_handle(module, name, module.handle))
    attempt("kernel as module", lambda: LiveModule.from_handle(context, device, kernel.handle))
    attempt("device as kernel", lambda: LiveKernel.from_handle(module, name, device.handle))
    attempt("unmapped handle", lambda: LiveKernel.from_handle(module, name, 8))
    memory = ctypes.create_string_buffer(256)
    attempt("other memory", lambda: LiveKernel.from_handle(module, name, ctypes.addressof(memory) + 64 & ~7))
    clear = LiveKernel.create(module, "clear")
    attempt("another kernel's name", lambda: LiveKernel.from_handle(module, name, clear.handle))
    stale = clear.handle
    clear.close()
    attempt("destroyed kernel", lambda: LiveKernel.from_handle(module, "clear", stale).binary())
    foreign = Context(device.driver)
    other = build_spirv(foreign, device, module.spirv or b"", "", "other")
    other_kernel = LiveKernel.create(other, name)
    foreign.close()
    attempt("kernel of a closed context", other_kernel.binary)
    module.close()
    attempt("kernel of a closed module", kernel.binary)
    attempt("code of a closed module", lambda: kernel.code)
    attempt("kernel names of a closed module", lambda: module.native_binary and LiveKernel.create(module, "x"))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
