"""The compile of the corpus with ocloc, in parallel, into a cache: ``python -m tests.corpus.build --help``."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.compiler import DEBIAN, Compiler, newest
from tests.corpus.manifest import DEVICES, CorpusProgram, programs
from tests.corpus.packages import digest, fetch, packages_folder
from tests.environment import cache_folder

#: Line tables without variables: what a corpus of lines needs, and what users are told to pass.
DEBUG_OPTIONS = "-gline-tables-only"

#: Below the packages' folder: programs made of several sources, and headers that are empty.
JOINED = "joined"


@dataclass(frozen=True)
class Built:
    """One program compiled for one device. ``folder`` holds ocloc's files and IGC's own dumps."""

    program: CorpusProgram
    device: str
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.program.name}@{self.device}"

    @property
    def binary(self) -> Path:
        """The device binary: a NEO ELF (Debian 12's compiler) or a zebin (the newest)."""
        return self.folder / "program"

    @property
    def debug(self) -> Path:
        """CTNI debug data beside the binary; absent with the newest compiler."""
        return self.folder / "program.dbg"

    @property
    def spirv(self) -> Path:
        return self.folder / "program.spv"

    @property
    def assembly(self) -> tuple[Path, ...]:
        """IGC's ``.asm`` dumps, one per kernel and SIMD width it tried."""
        return tuple(sorted((self.folder / "dump").glob("*.asm")))


@dataclass(frozen=True)
class Failure:
    """A program that did not compile for a device, and the compiler's words."""

    program: CorpusProgram
    device: str
    log: str


def build(
    chosen: Iterable[CorpusProgram] | None = None,
    devices: Sequence[str] = DEVICES,
    *,
    compiler: Compiler = DEBIAN,
    out: Path | None = None,
    limit: int | None = None,
    jobs: int | None = None,
) -> tuple[list[Built], list[Failure]]:
    """Compile ``chosen`` (all of the manifest, or its first ``limit``) for each of ``devices``.

    What is in the cache (``out``, or ``binaries`` in the tests' cache folder) is not compiled again: its key covers the
    sources, the options, the device, the compiler's version and the place of the sources.
    Raises CorpusError if the packages or the compiler cannot be had.
    """
    selected = list(programs() if chosen is None else chosen)[:limit]
    version = compiler.version
    folder = out or cache_folder() / "binaries"
    folder.mkdir(parents=True, exist_ok=True)
    steps = []
    place = str(fetch(dict.fromkeys(name for program in selected for name in program.packages)))
    for program in selected:
        source = main_source(program)
        for device in devices:
            lines = "" if "-g" in compiler.options.split() else f"{DEBUG_OPTIONS} "  # The first of both counts.
            options = f"{lines}-I. -I{JOINED} {program.options} {compiler.options}".rstrip()
            key: list[object] = [
                digest(program),
                program.package.prelude,
                source,
                options,
                place,
                version,
                compiler.dumps,
            ]
            key += [compiler.settings] if compiler.settings else []
            stamp = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:16]
            home = folder / f"{program.name.replace('/', '-')}-{device}-{stamp}"
            steps.append((Built(program, device, home), compiler, source, options))
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda step: _build(*step), steps))
    failures = [item for item in results if isinstance(item, Failure)]
    return [item for item in results if isinstance(item, Built)], failures


def _build(target: Built, compiler: Compiler, source: str, options: str) -> Built | Failure:
    if target.folder.is_dir():
        return target
    with tempfile.TemporaryDirectory(dir=target.folder.parent) as scratch:
        folder = Path(scratch) / "made"
        log = compiler.compile(source, target.device, options, folder)
        if log is not None:
            return Failure(target.program, target.device, log)
        try:
            folder.rename(target.folder)
        except OSError:  # another process made the same at the same time
            if not target.folder.is_dir():
                raise
    return target


def main_source(program: CorpusProgram) -> str:
    """Return the file to compile, relative to the packages' folder: the only source, or one that includes all of them."""
    for header in program.package.empty_headers:
        _write(packages_folder() / JOINED / header, "")
    if len(program.sources) == 1 and not program.package.prelude:
        return program.sources[0]
    text = program.package.prelude + "".join(f'#include "{source}"\n' for source in program.sources)
    relative = f"{JOINED}/{program.name}.cl"
    _write(packages_folder() / relative, text)
    return relative


def _write(path: Path, text: str) -> None:
    """Write what is not there yet; whole, as other processes may do the same."""
    if path.exists() and path.read_text() == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).replace(path)


def main() -> int:
    """Compile what is asked for and print counts, the time, and what failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", action="append", help=f"default: {', '.join(DEVICES)}")
    parser.add_argument("--newest-root", type=Path, help="compile with the newest compiler, in this root folder")
    parser.add_argument("--program", action="append", help="a name or the start of one, e.g. darktable/ (default: all)")
    parser.add_argument("--jobs", type=int)
    arguments = parser.parse_args()
    prefixes = tuple(arguments.program or [""])
    chosen = [program for program in programs() if program.name.startswith(prefixes)]
    start = time.monotonic()
    compiler = newest(arguments.newest_root) if arguments.newest_root else DEBIAN
    built, failed = build(chosen, arguments.device or DEVICES, compiler=compiler, jobs=arguments.jobs)
    for failure in failed:
        print(f"failed: {failure.program.name} for {failure.device}: {failure.log.strip()[-2000:]}")
    changed = [program.name for program in chosen if digest(program) != program.sha256]
    for name in changed:
        print(f"not the manifest's sources: {name}")
    elapsed = time.monotonic() - start
    print(f"{len(chosen)} programs, {len(built)} binaries, {len(failed)} failed, {elapsed:.1f} s ({compiler})")
    return 1 if failed or changed else 0


if __name__ == "__main__":
    sys.exit(main())
