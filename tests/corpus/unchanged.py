"""Binaries as compilers leave them, of which no code may be called changed: ``python -m tests.corpus.unchanged --help``.

The programs are all OpenCL sources of piglit, and small ones made by chance. Each is compiled to SPIR-V, and that for many
devices with several options, by processes that stay (``compile_many``). The binaries are kept in a folder: a run that was ended
goes on there, and each run asks all of them, and what the corpus's cache holds. Binaries with the same code and line tables
count once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import kernlens
from kernlens.isa.intel.iga_library import search_also
from tests.corpus.build import DEBUG_OPTIONS
from tests.corpus.changed_code import alarms
from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.packages import fetch, packages_folder
from tests.corpus.small_kernels import small_program
from tests.environment import cache_folder

DEVICES_OF = {
    "Debian 12's": ("skl", "icllp", "tgllp", "dg2", "pvc", "kbl", "ehl", "adl-p"),
    "the newest": ("tgllp", "dg2", "bmg", "lnl", "ptl", "mtl", "pvc", "arl-h"),
}
#: What the front end gets, and the back end besides: one of either each time.
FRONT_OPTIONS = (
    "",
    "-cl-fast-relaxed-math",
    "-cl-opt-disable",
    "-cl-std=CL3.0",
    "-g",
    "-cl-mad-enable -cl-no-signed-zeros",
    "-g -cl-opt-disable",
    "-cl-unsafe-math-optimizations -cl-std=CL2.0",
)
BACK_OPTIONS = (
    "-cl-intel-256-GRF-per-thread",
    "-cl-intel-greater-than-4GB-buffer-required",
    "-cl-intel-no-prera-scheduling",
    "-cl-intel-reqd-eu-thread-count=4",
    "-cl-fp32-correctly-rounded-divide-sqrt",
)
#: IGC's settings, which hold for a whole process: as users have them, with calls, and Debian's compiler with zebin.
SETTINGS: dict[str, tuple[dict[str, str], ...]] = {
    "Debian 12's": ({}, {}, {}, {"IGC_FunctionControl": "3"}, {"IGC_EnableZEBinary": "1"}),
    "the newest": ({}, {}, {}, {"IGC_FunctionControl": "3"}),
}
#: Programs made by chance, for each round through the others.
_RANDOM = 600
_TIME_LIMIT_SECONDS = 60


@dataclass(frozen=True)
class Unit:
    """A source, a compiler's name, IGC's settings and the options of the front end, and one more of the back end."""

    compiler: str
    settings: tuple[tuple[str, str], ...]
    source: str
    options: str
    more: str

    @property
    def key(self) -> str:
        return json.dumps([self.compiler, self.settings, self.source, self.options, self.more])


@dataclass
class Asked:
    """The distinct binaries that were asked, by compiler; their kernels that have a line table; the false alarms."""

    binaries: Counter[str] = field(default_factory=Counter)
    kernels: Counter[str] = field(default_factory=Counter)
    alarms: list[str] = field(default_factory=list)
    seen: set[bytes] = field(default_factory=set, repr=False)

    def __str__(self) -> str:
        parts = (f"{name}: {count:,} binaries, {self.kernels[name]:,} kernels" for name, count in self.binaries.items())
        return f"{self.binaries.total():,} binaries ({'; '.join(parts)}), {len(self.alarms)} false alarms"

    def ask(self, compiler: str, binary: Path) -> bool:
        """Ask the binary whether its code was changed; return whether it is another than all before."""
        digest = hashlib.sha256()
        for program in kernlens.load(binary):
            for name, kernel in program.kernels.items():
                digest.update(f"{name} {kernel.code_size} ".encode() + bytes(kernel.code))
                if (table := kernel.table_as_held) is not None:
                    digest.update(bytes(table.offsets) + bytes(table.lines))
        if digest.digest() in self.seen:
            return False
        self.seen.add(digest.digest())
        kernels, false = alarms([binary])
        self.binaries[compiler] += 1
        self.kernels[compiler] += kernels
        self.alarms += [f"{compiler}, {binary}: {words}" for words in false]
        return True


class Process:
    """A compiler's process (``compile_many``), started when it is needed, and again if a compile ends it."""

    def __init__(self, compiler: Compiler, settings: dict[str, str]) -> None:
        self._compiler, self._settings = compiler, settings
        self._running: subprocess.Popen[str] | None = None

    def compile(self, source: str, device: str, options: str, folder: Path) -> str | None:
        """Compile into ``folder``; return what went wrong."""
        running = self._running or self._start()
        assert running.stdin is not None
        assert running.stdout is not None
        words = ["compile", "-q", "-file", source, "-device", device, "-options", options]
        words += ["-spirv_input"] if source.endswith(".spv") else []
        words += ["-output", "program", "-output_no_suffix"]
        try:
            print(json.dumps([str(folder), *words]), file=running.stdin, flush=True)
            answer = ""
            if select.select([running.stdout], [], [], _TIME_LIMIT_SECONDS)[0]:
                answer = running.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.end()
            return "the compiler ended, or took too long"
        fault: str | None = json.loads(answer)
        return fault

    def end(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.communicate()
            self._running = None

    def _start(self) -> subprocess.Popen[str]:
        loader: list[str] = []
        if self._compiler.root is not None:
            libraries = str(self._compiler.root / "usr/lib/x86_64-linux-gnu")
            loader = [f"{libraries}/ld-linux-x86-64.so.2", "--library-path", libraries]
        script = Path(__file__).with_name("compile_many.py")
        self._running = subprocess.Popen(
            [*loader, os.path.realpath(sys.executable), "-I", str(script), "libocloc.so"],
            cwd=packages_folder(),
            env=os.environ | self._settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        return self._running


def units(compilers: Sequence[str], sources: Path, seed: int) -> Iterator[Unit]:
    """Yield what is compiled, without end, in rounds: in each, every program once by every compiler, with options that change
    from round to round."""
    folder = packages_folder()
    real = [(str(path.relative_to(folder)), "-cl-std=CL1.2") for path in sorted((folder / "piglit").rglob("*.cl"))]
    for number in count():
        generator = random.Random(f"{seed} {number}")
        chosen = [*real, *((str(_random_source(sources, f"{seed}-{number}-{each}")), "") for each in range(_RANDOM))]
        some = [(program, compiler) for program in chosen for compiler in compilers]
        generator.shuffle(some)
        for (source, own), compiler in some:
            added = FRONT_OPTIONS[(number + generator.randrange(2) * 4) % len(FRONT_OPTIONS)]
            if "-cl-std" in added:
                own = own.replace("-cl-std=CL1.2", "")
            lines = "" if "-g" in added.split() else DEBUG_OPTIONS
            options = " ".join(f"{lines} -I. {own} {added}".split())
            settings = generator.choice(SETTINGS[compiler])
            yield Unit(compiler, tuple(settings.items()), source, options, generator.choice(BACK_OPTIONS))


def _random_source(folder: Path, name: str) -> Path:
    path = folder / f"small-{name}.cl"
    if not path.is_file():
        path.write_text(small_program(random.Random(name)))
    return path


def run(chosen: argparse.Namespace, compilers: dict[str, Compiler], asked: Asked) -> None:
    """Ask what the folder holds, then compile and ask until there are as many binaries as are wanted, or the time is over."""
    folder: Path = chosen.folder
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    index = folder / "compiled.jsonl"
    known = dict(json.loads(line) for line in index.read_text().splitlines()) if index.is_file() else {}
    for key, names in known.items():
        for name in names:
            asked.ask(json.loads(key)[0], folder / name / "program")
    print(f"in the folder: {asked}", flush=True)
    processes: dict[tuple[str, tuple[tuple[str, str], ...]], Process] = {}
    end, failed, printed = time.monotonic() + chosen.seconds, 0, 0
    with index.open("a") as record:
        for unit in units(list(compilers), folder / "sources", chosen.seed):
            if asked.binaries.total() >= chosen.count or time.monotonic() > end:
                break
            if unit.key in known:
                continue
            at = unit.compiler, unit.settings
            process = processes.setdefault(at, Process(compilers[unit.compiler], dict(unit.settings)))
            names, faults = _compiled(process, unit, folder, asked)
            failed += faults
            print(json.dumps([unit.key, names]), file=record, flush=True)
            if asked.binaries.total() >= printed + 500:
                printed = asked.binaries.total()
                print(f"{asked}; {failed} compiles failed", flush=True)
    for process in processes.values():
        process.end()


def _compiled(process: Process, unit: Unit, folder: Path, asked: Asked) -> tuple[list[str], int]:
    """Compile and ask; return the names of the folders with binaries that are other than all before, and the number of
    compiles that failed."""
    names, failed = [], 0
    devices = DEVICES_OF[unit.compiler]
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        first = Path(scratch) / "first"
        first.mkdir()
        if process.compile(unit.source, devices[0], unit.options, first) is not None:
            return [], 1
        back = " ".join(word for word in unit.options.split() if word.startswith(("-g", "-cl")))
        for device in devices:
            for options in (back, f"{back} {unit.more}"):
                name = hashlib.sha256(f"{unit.key} {device} {options}".encode()).hexdigest()[:16]
                results = Path(scratch) / name
                results.mkdir()
                if process.compile(str(first / "program.spv"), device, options, results) is not None:
                    failed += 1
                elif asked.ask(unit.compiler, results / "program"):
                    if not (folder / name).is_dir():  # A run that was ended within this unit may have left it.
                        results.replace(folder / name)
                    names.append(name)
    return names, failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the counts; exit status 1 for a false alarm, or where fewer binaries than wanted were asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--newest-root", type=Path, help="the newest compiler, in this root folder, too")
    parser.add_argument("--count", type=int, default=10_000, help="distinct binaries (default: 10000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="compile no longer than this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, default=cache_folder() / "unchanged", help="where binaries are kept")
    chosen = parser.parse_args(arguments)
    compilers = {"Debian 12's": DEBIAN}
    if chosen.newest_root:
        search_also(lambda: {"newest": str(chosen.newest_root)})
        compilers["the newest"] = newest(chosen.newest_root)
    fetch(["piglit"])
    asked = Asked()
    for path in sorted((cache_folder() / "binaries").glob("*/program")):
        asked.ask("the corpus", path)
    run(chosen, compilers, asked)
    print(asked)
    for words in asked.alarms[:20]:
        print(f"    {words}")
    return 1 if asked.alarms or asked.binaries.total() < chosen.count else 0


if __name__ == "__main__":
    sys.exit(main())
