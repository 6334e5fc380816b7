"""Generate files, read each, and count what a reader may not do: ``python -m tests.fuzz.generated --count 1000000``.

Each file is a valid one of some format, changed (``changes.py``), and is read by its format's readers, or opened, analysed and
printed in every form. Nothing but a KernlensError with a message of bounded length may come out, in a second of processor time
and one more for each 10 MB, and 300 MB of memory. A whole file is printed in ten forms, as ten commands do, and has three times
as long, and a second for each 100 KB, all of which may be instructions, which are a line each. A listing is read by twelve
readers, and has three times as long. A file that seems to take more is tried again with twice the time: on a busy machine the
same work takes longer.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from kernlens.errors import KernlensError
from tests.environment import leave_the_users
from tests.fuzz.generated.changes import changed
from tests.fuzz.generated.shapes import OF_TARGETS, WHOLE
from tests.fuzz.targets import TARGETS
from tests.fuzz.verdict import SECONDS, fault_of
from tests.fuzz.whole_files import files
from tests.writers.programs import decoded

#: Bytes that are read in a second more.
BYTES_PER_SECOND = 10_000_000
#: Bytes of code that are printed in all forms in a second.
CODE_PER_SECOND = 100_000
#: The most characters of a message.
LONGEST_MESSAGE = 7000
#: The targets whose inputs are texts; those that need another process are left to the fuzzer.
_TEXTS = frozenset({
    "budgets", "stall_samples", "ze_info", "listings", "stages", "sources", "logs", "edited_text", "ptx",
    "sass_listing", "triton_text",
})  # fmt: skip
_LEFT_OUT = frozenset({"confined_includes", "edited_text"})
#: How many files in a hundred are whole ones, opened as the command line does.
_WHOLE_SHARE = 25


@dataclass
class Tally:
    """The outcome: counts by kind, faults by name, and what was slowest."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: dict[str, str] = field(default_factory=dict)
    slowest: list[tuple[float, str, int]] = field(default_factory=list)
    refused: int = 0

    def add(self, other: Tally) -> None:
        """Add what another process counted."""
        self.counts += other.counts
        self.faults = other.faults | self.faults
        self.slowest = sorted([*self.slowest, *other.slowest], reverse=True)[:8]
        self.refused += other.refused


def generated(seed: str) -> tuple[str, Callable[[bytes], None], bytes]:
    """Return the kind of the file of this seed, what reads it, and the file."""
    chance = random.Random(seed)
    if chance.randrange(100) < _WHOLE_SHARE:
        name = chance.choice(list(WHOLE))
        data = WHOLE[name](chance)
        if chance.random() < 0.8:
            data = changed(data, chance, is_text=name == "ptx")
        return f"file {name}", files, data
    target = TARGETS[chance.choice([name for name in TARGETS if name not in _LEFT_OUT])]
    shape = OF_TARGETS.get(target.name) or WHOLE.get(_SHAPE_OF.get(target.name, target.name))
    data = shape(chance) if shape and chance.random() < 0.5 else chance.choice(_inputs_of(target.name))
    return target.name, target.run, changed(data, chance, is_text=target.name in _TEXTS)


#: The shape of a target that is called otherwise.
_SHAPE_OF = {"clang_bundle": "bundle", "fatbin": "fat_binary", "poclbin": "pocl", "offload_binary": "offload",
             "offload_bundle": "dense_images", "ar": "archived", "elf": "million_symbols", "edited_binary": "patch_tokens",
             "dwarf": "inlined_calls", "files": "nested"}  # fmt: skip
_inputs: dict[str, list[bytes]] = {}


def _inputs_of(name: str) -> list[bytes]:
    if name not in _inputs:
        _inputs[name] = [path.read_bytes() for path in TARGETS[name].kept_inputs()]
    return _inputs[name]


def _nothing_decoded(triple: str, code: bytes | memoryview, **_: object) -> object:
    """Stand in for libLLVM, which has its own process and its own bound."""
    from array import array

    from kernlens.isa.llvm.disassemble import Disassembly

    rows = range(0, len(code), 4)
    texts = ["s_nop 0"] * len(rows)
    return Disassembly(array("I", rows), b"\4" * len(rows), bytes(len(rows)), texts, {}, {}, "LLVM 15")


class _Reader:
    """A reader that notes whether the file was refused, and by which words."""

    def __init__(self, run: Callable[[bytes], None]) -> None:
        self._run = run
        self.is_refused = False

    def __call__(self, data: bytes) -> None:
        try:
            self._run(data)
        except KernlensError as error:
            self.is_refused = True
            if len(str(error)) > LONGEST_MESSAGE:
                raise AssertionError(f"a message of {len(str(error)):,} characters") from error
            raise


def read(seeds: list[str], findings: Path) -> Tally:
    """Read the files of these seeds in this process."""
    tally = Tally()
    with ExitStack() as patches:
        patches.enter_context(mock.patch("kernlens.isa.intel.decode.decode_many", decoded))
        for place in ("amd.gcn_decode", "x86.decode_x86"):
            patches.enter_context(mock.patch(f"kernlens.isa.{place}.disassemble", _nothing_decoded))
        for seed in seeds:
            kind, run, data = generated(seed)
            (findings / f"last-{os.getpid()}").write_text(seed)
            bound = SECONDS + len(data) / BYTES_PER_SECOND
            if run in (files, TARGETS["composed_files"].run):
                bound = 3 * bound + len(data) / CODE_PER_SECOND
            elif run is TARGETS["listings"].run:
                bound *= 3
            reader = _Reader(run)
            started = time.process_time()
            fault = fault_of(reader, data, bound)
            took = time.process_time() - started
            if fault is not None and fault.is_of_time:
                fault = fault_of(reader, data, 2 * bound)
            tally.counts[kind] += 1
            tally.refused += reader.is_refused
            tally.slowest = sorted(
                [*tally.slowest, (took / bound, f"{kind} {seed} {took:.2f} s", len(data))], reverse=True
            )[:8]
            if fault is not None and (name := f"{kind}-{fault.name}".replace(" ", "-")) not in tally.faults:
                tally.faults[name] = seed
                (findings / name).write_bytes(data)
                (findings / f"{name}.txt").write_text(f"{seed}\n{fault.story}", "utf-8", "replace")
    return tally


def _child(seeds: list[str], findings: Path, sender: multiprocessing.connection.Connection) -> None:
    sender.send(read(seeds, findings))


def campaign(count: int, seed: int, jobs: int, findings: Path, batch: int = 1000, start: int = 0) -> Tally:
    """Read ``count`` files in child processes; a child that dies is a fault that names its last seed."""
    total = Tally()
    waiting = list(range(start, start + count, batch))
    context = multiprocessing.get_context("fork")
    running: list[tuple[multiprocessing.process.BaseProcess, multiprocessing.connection.Connection]] = []
    told = time.monotonic()
    while waiting or running:
        while waiting and len(running) < jobs:
            first = waiting.pop(0)
            seeds = [f"{seed}/{number}" for number in range(first, min(first + batch, start + count))]
            receiver, sender = context.Pipe(False)
            worker = context.Process(target=_child, args=(seeds, findings, sender))
            worker.start()
            sender.close()
            running.append((worker, receiver))
        ready = multiprocessing.connection.wait([receiver for _, receiver in running])
        for child, receiver in [pair for pair in running if pair[1] in ready]:
            running.remove((child, receiver))
            try:
                total.add(receiver.recv())
            except EOFError:
                child.join()
                last = findings / f"last-{child.pid}"
                total.faults[f"crash-{child.pid}"] = last.read_text() if last.exists() else "?"
            child.join()
            (findings / f"last-{child.pid}").unlink(missing_ok=True)
        if time.monotonic() - told > 30:
            told = time.monotonic()
            print(f"{total.counts.total():,} files, {len(total.faults)} faults", flush=True)
    return total


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.generated", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--start", type=int, default=0, help="the first file's number")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--findings", type=Path, help="the folder for files with a fault; a new one if not given")
    parser.add_argument("--replay", metavar="SEED", help="read one file again: SEED/NUMBER")
    asked = parser.parse_args()
    leave_the_users()
    findings = (asked.findings or Path(tempfile.mkdtemp(prefix="kernlens-generated-"))).absolute()
    findings.mkdir(parents=True, exist_ok=True)
    if asked.replay:
        total = read([asked.replay], findings)
    else:
        total = campaign(asked.count, asked.seed, asked.jobs, findings, start=asked.start)
    print(
        f"{total.counts.total():,} files of {len(total.counts)} kinds, {total.refused:,} refused, {len(total.faults)} faults"
    )
    for _, words, size in total.slowest:
        print(f"  slow: {words}, {size:,} bytes")
    for name, seed in total.faults.items():
        print(f"  {name}: --replay {seed} ({findings})")
    return 1 if total.faults else 0


if __name__ == "__main__":
    sys.exit(main())
