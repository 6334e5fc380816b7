"""Prints the README's table of speed: ``python -m benchmarks.run``. Ratios are ours/theirs; medians of five runs in turn.

The corpus is that of the tests (``tests/corpus``): darktable's programs for five devices, by default.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

from benchmarks.measure import compare, running
from tests.corpus.build import Built, build
from tests.corpus.manifest import programs

WORK = Path(__file__).with_name("work.py")
#: Bytes of the archive whose kernels are listed.
ARCHIVE_SIZE = 50_000_000


def work(name: str, *files: Path) -> list[str]:
    return [sys.executable, str(WORK), name, *map(str, files)]


def answer(command: Sequence[str]) -> dict[str, float]:
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return found


def whole_corpus(built: Sequence[Built], scratch: Path) -> Iterator[str]:
    """Against ``ocloc disasm``, which opens ``libiga64.so``, a name that Debian does not install: it gets a link."""
    library = next(Path("/usr/lib/x86_64-linux-gnu").glob("libiga64.so.1"))
    (scratch / "lib").mkdir()
    (scratch / "lib/libiga64.so").symlink_to(library)
    environment = {"LD_LIBRARY_PATH": str(scratch / "lib")}
    (scratch / "dump").mkdir()
    peer = [
        ["ocloc", "disasm", "-file", str(one.binary), "-device", one.device, "-dump", str(scratch / "dump")]
        for one in built
    ]
    running(peer[:1], environment)()
    if not list((scratch / "dump").glob("*.asm")):
        raise SystemExit("ocloc disasm wrote no assembly: it did not find libiga64")
    files = [one.binary for one in built]
    for name, title in (("records", "records, lines, join"), ("texts", "the same with the text of every instruction")):
        found = compare(running([work(name, *files)]), running(peer, environment))
        yield row(
            f"{title}: {len(built)} binaries",
            "`ocloc disasm`, a process per file",
            found.ours,
            found.theirs,
            found.ratio,
        )


def row(what: str, peer: str, ours: float, theirs: float, ratio: float) -> str:
    return f"|{what}|{peer}|{ours:.2f} s|{theirs:.2f} s|**{ratio:.2f}**|"


def line_tables(built: Sequence[Built]) -> str:
    found = sorted(
        (answer(work("line-tables", *(one.debug for one in built))) for _ in range(3)),
        key=lambda one: one["ours"] / one["theirs"],
    )[1]
    ratio = found["ours"] / found["theirs"]
    return (
        f"|line tables: {int(found['rows']):,} rows|pyelftools|{found['ours']:.2f} s|{found['theirs']:.2f} s|"
        f"**{ratio:.3f}** (1/{1 / ratio:.0f})|"
    )


def start_up(binary: Path, scratch: Path) -> Iterator[str]:
    """Both sides keep bytecode, as installed packages do; the round that does not count writes it."""
    environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(scratch)}
    command = shutil.which("kernlens", path=str(Path(sys.executable).parent))
    if command is None:
        raise SystemExit("kernlens is not installed beside this Python")
    bare = running([[sys.executable, "-c", "pass"]], environment)
    for arguments in (["--version"], ["inspect", str(binary)]):
        found = compare(running([[command, *arguments]], environment), bare, rounds=15)
        title = f"`kernlens {arguments[0]}{' FILE' if len(arguments) > 1 else ''}`"
        yield (
            f"|{title}|bare `python -c pass`|{found.ours * 1e3:.0f} ms|{found.theirs * 1e3:.0f} ms|"
            f"{(found.ours - found.theirs) * 1e3:.0f} ms more|"
        )


def archive(built: Sequence[Built], scratch: Path) -> Iterator[str]:
    """An ``ar`` archive of about 50 MB that holds the corpus's programs again and again."""
    path = scratch / "fat.ar"
    members = 0
    with path.open("wb") as file:
        file.write(b"!<arch>\n")
        for one in cycle(built):
            content = one.binary.read_bytes()
            file.write(f"{f'm{members}/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode())
            file.write(content + b"\n" * (len(content) % 2))
            members += 1
            if file.tell() >= ARCHIVE_SIZE:
                break
    size = path.stat().st_size
    found = answer(work("listing", path))
    yield (
        f"|{size / 1e6:.0f} MB archive of {members} programs: {int(found['kernels']):,} kernels listed, in-process||"
        f"{found['best']:.0f} ms (first time {found['first']:.0f} ms)|||"
    )
    yield f"|peak memory of that, file included||{found['peak'] / 1e6:.0f} MB|||"
    largest = max((one.binary for one in built), key=lambda one: one.stat().st_size)
    used = answer(work("memory", largest))["peak"]
    yield f"|peak memory, everything of a {largest.stat().st_size / 1e6:.1f} MB program||{used / 1e6:.0f} MB|||"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--program", default="darktable/", help="which programs of the corpus: the start of their names"
    )
    chosen = parser.parse_args()
    built, failed = build([one for one in programs() if one.name.startswith(chosen.program)])
    if failed:
        raise SystemExit(f"{failed[0].program.name} does not compile: {failed[0].log}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print("|What|Peer|kernlens|peer|ratio|\n|-|-|-|-|-|")
    with tempfile.TemporaryDirectory(prefix="kernlens-bench-") as name:
        for line in whole_corpus(built, Path(name)):
            print(line, flush=True)
        print(line_tables(built), flush=True)
        for line in archive(built, Path(name)):
            print(line, flush=True)
        for line in start_up(built[0].binary, Path(name)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
