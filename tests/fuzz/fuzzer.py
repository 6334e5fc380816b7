"""The fuzzer proper, with what is under test instrumented. Each target is fuzzed in a child process, since libFuzzer ends
the process that it is done with; the package is imported and instrumented once, before the first child is made.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import atheris

if TYPE_CHECKING:
    from tests.fuzz.targets import Target

#: What is instrumented: the package under test, and no test.
_PACKAGE = "kernlens"
#: Modules that need a live driver, or that hold none of the readers.
_LEFT_OUT = ("kernlens.opencl", "kernlens.level_zero", "kernlens.runtime", "kernlens.native", "kernlens.cli.")
#: Under the fuzzer everything takes longer: seconds of processor time that one input may take.
SECONDS = 3.0
#: One change in so many is made by the mutations that know of lengths and headers, on inputs of binary formats.
_STRUCTURED = 3


def prepare(names: Sequence[str] = ()) -> None:
    """Import all readers instrumented, or these modules and what they need. Nothing may have imported them before."""
    with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=[_PACKAGE]):
        package = importlib.import_module(_PACKAGE)
        for name in names or (module.name for module in pkgutil.walk_packages(package.__path__, f"{_PACKAGE}.")):
            if not name.startswith(_LEFT_OUT):
                importlib.import_module(name)


def start(target: Target, options: Sequence[str], findings: Path) -> tuple[int, int]:
    """Start fuzzing in a child process. Returns its number, and where libFuzzer's words can be read.

    A fault is written to the folder ``findings``, the first of each name, and the fuzzer goes on; a crash ends it.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        os.dup2(writing, 2)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 0)
        os.dup2(nothing, 1)
        _fuzz(target, options, findings)
    finally:
        # Whatever happens, the child never goes on with what its parent was doing.
        os._exit(1)


def _fuzz(target: Target, options: Sequence[str], findings: Path) -> None:
    from tests.corpus.mutate import mutate
    from tests.fuzz.verdict import fault_of

    def take(data: bytes) -> None:
        fault = fault_of(target.run, data, SECONDS)
        if fault is not None:
            place = findings / f"{target.name}-{fault.name}"
            if not place.exists():
                place.with_name(place.name + ".txt").write_text(fault.story, "utf-8", "replace")
                place.write_bytes(data)

    def changed(data: bytes, size: int, seed: int) -> bytes:
        random_ = random.Random(seed)
        if data and random_.randrange(_STRUCTURED) == 0:
            return mutate([bytes(data)], random_)[:size]
        return bytes(atheris.Mutate(data, size))

    own = {"custom_mutator": changed} if target.is_binary else {}
    atheris.Setup(["fuzz", f"-max_len={target.size}", *options], take, **own)
    atheris.Fuzz()
