"""A worker's requests about CUDA: an OpenCL launch, in the form for CUDA, that runs once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char, c_void_p
from pathlib import Path
from typing import Any

from kernlens.model.kept_launch import BY_ADDRESS, MEMORY, POINTER, VALUE
from kernlens.runtime.cuda.cuda_library import Cuda
from kernlens.runtime.opencl.launch_memory import APART, check_size
from kernlens.runtime.opencl.pointer_moves import PointerMoves

_ADDRESS_BYTES, _MACHINE_CODE = 8, b"\x7fELF"
Described = Mapping[str, Any]


class CudaRequests:
    """The requests about CUDA."""

    def __init__(self, on_call: Callable[[str], None]) -> None:
        self._on_call = on_call

    def launch(
        self,
        device: str,
        program: bytes,
        kernel: str,
        sizes: Sequence[int],
        shared: int,
        arguments: Sequence[Described],
        parameters: Sequence[int],
        memory: Sequence[Described],
        constants: Sequence[tuple[int, str]],
        folder: str,
    ) -> Mapping[str, Any]:
        """Run a kernel of a program, which is PTX or machine code, once on the device of this name. ``sizes`` are the numbers
        of work-groups and the local sizes, three each; ``shared``, ``parameters`` and ``constants`` are those of a
        ``CudaForm``; arguments and memory are described as for a replay. Return the files of the results in ``folder``, by the
        memory's number, and the machine code."""
        check_size(memory)
        cuda = Cuda(device)
        cuda.on_call = self._on_call
        code = program if program.startswith(_MACHINE_CODE) else cuda.built(program)
        module, function = c_void_p(), c_void_p()
        cuda.call("cuModuleLoadData", byref(module), code)
        cuda.call("cuModuleGetFunction", byref(function), module, kernel.encode())
        laid = _Memory(cuda, memory)
        for number, name in constants:
            laid.copy_to(cuda.variable(module, name), arguments[number])
        values = [laid.value(each, size) for each, size in zip(arguments, parameters, strict=True)]
        pointers = (c_void_p * max(1, len(values)))(*map(ctypes.addressof, values))
        cuda.call("cuLaunchKernel", function, *sizes, shared, None, pointers, None)
        cuda.call("cuCtxSynchronize")
        return {"results": laid.results(folder), "code": code}


class _Memory:
    """The memory of the launch on the device."""

    def __init__(self, cuda: Cuda, described: Sequence[Described]) -> None:
        self._cuda, self._described = cuda, described
        self._addresses = [cuda.allocate(each["size"] + APART) for each in described]
        places = [
            (each["address"], each["size"], address)
            for each, address in zip(described, self._addresses, strict=True)
            if each["address"]
        ]
        self._moves = PointerMoves(places)
        for each, address in zip(described, self._addresses, strict=True):
            content = bytearray(each["size"] if each["before"] is None else Path(each["before"]).read_bytes())
            if each["kind"] in BY_ADDRESS:
                self._moves.apply(content)
            cuda.write(address, content)

    def value(self, argument: Described, size: int) -> ctypes.Array[c_char]:
        """Return the bytes of an argument, for a parameter of this size."""
        content = bytearray(size)
        if argument["kind"] == VALUE:
            content = bytearray(argument["content"])
            self._moves.apply(content)
            content = content.ljust(size, b"\0")
        elif argument["kind"] in (MEMORY, POINTER):
            content[:_ADDRESS_BYTES] = self._address(argument).to_bytes(_ADDRESS_BYTES, "little")
        return (c_char * len(content)).from_buffer(content)

    def copy_to(self, variable: tuple[int, int], argument: Described) -> None:
        """Copy the memory of an argument, from where the argument begins, into a variable."""
        if argument["kind"] in (MEMORY, POINTER):
            there = self._described[argument["memory"]]["size"] - argument["offset"]
            address, size = variable[0], min(variable[1], argument["size"] or there)
            self._cuda.call("cuMemcpyDtoD_v2", address, self._address(argument), size)

    def results(self, folder: str) -> list[tuple[int, str]]:
        """Write what memory contains into files, with the pointers that it would have had."""
        written = []
        for number, each in enumerate(self._described):
            if each["is_compared"]:
                content = self._cuda.read(self._addresses[number], each["size"])
                if each["kind"] in BY_ADDRESS:
                    self._moves.back().apply(content)
                path = Path(folder, f"cuda.{number}")
                path.write_bytes(content)
                written.append((number, str(path)))
        return written

    def _address(self, argument: Described) -> int:
        return self._addresses[argument["memory"]] + int(argument["offset"])
