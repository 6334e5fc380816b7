"""The tables of docs/performance.md: ``python -m benchmarks.run``. Ratios are ours/theirs; medians of five runs in turn.

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
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from pathlib import Path

from benchmarks.measure import ROUNDS, Comparison, compare, running
from tests.corpus.build import Built, build
from tests.corpus.manifest import programs

WORK = Path(__file__).with_name("work.py")
#: Bytes of the archive whose kernels are listed.
ARCHIVE_SIZE = 50_000_000
#: The device whose binaries whole commands are timed on.
DEVICE = "dg2"
#: What --part names.
PARTS = ("library", "commands", "line-tables", "archive", "start-up")
PEER = "`ocloc disasm`, a process per file"


def work(name: str, *files: Path) -> list[str]:
    return [sys.executable, str(WORK), name, *map(str, files)]


def answer(command: Sequence[str]) -> dict[str, float]:
    answer_: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return answer_


def library(built: Sequence[Built], scratch: Path, rounds: int) -> Iterator[str]:
    """Yield rows of the library on all binaries, against ``ocloc disasm``."""
    peer, environment = ocloc(built, scratch)
    files = [build.binary for build in built]
    for name, title in (("records", "records, lines, join"), ("texts", "the same with the text of every instruction")):
        comparison = compare(running([work(name, *files)]), running(peer, environment), rounds)
        yield row(f"in Python, {title}: {len(built)} binaries", PEER, comparison)


def commands(built: Sequence[Built], scratch: Path, rounds: int) -> Iterator[str]:
    """Yield rows of whole commands on a folder of one device's binaries, against ``ocloc disasm``."""
    chosen = [entry for entry in built if entry.device == DEVICE]
    folder = scratch / DEVICE
    folder.mkdir()
    for number, choice in enumerate(chosen):
        shutil.copy(choice.binary, folder / f"{number:03}-{choice.binary.name}")
    peer, environment = ocloc(chosen, scratch)
    for words in (["annotate"], ["annotate", "--json"], ["disasm"], ["inspect"], ["symbols"]):
        comparison = compare(running([[command(), *words, str(folder)]]), running(peer, environment), rounds)
        yield row(f"`kernlens {' '.join(words)} DIR`, {len(chosen)} binaries", PEER, comparison)


def ocloc(built: Sequence[Built], scratch: Path) -> tuple[list[list[str]], dict[str, str]]:
    """Return the commands that disassemble the binaries. ``ocloc disasm`` opens ``libiga64.so``, a name that Debian
    does not install: it gets a link."""
    library = next(Path("/usr/lib/x86_64-linux-gnu").glob("libiga64.so.1"))
    link, dump = scratch / "lib/libiga64.so", scratch / "dump"
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(library)
    environment = {"LD_LIBRARY_PATH": str(link.parent)}
    dump.mkdir(exist_ok=True)
    peer = [
        ["ocloc", "disasm", "-file", str(build.binary), "-device", build.device, "-dump", str(dump)] for build in built
    ]
    running(peer[:1], environment)()
    if not list(dump.glob("*.asm")):
        raise SystemExit("ocloc disasm wrote no assembly: it did not find libiga64")
    return peer, environment


def command() -> str:
    program = shutil.which("kernlens", path=str(Path(sys.executable).parent))
    if program is None:
        raise SystemExit("kernlens is not installed beside this Python")
    return program


def row(what: str, peer: str, comparison: Comparison) -> str:
    return (
        f"|{what}|{peer}|{comparison.ours:.2f} s|{comparison.theirs:.2f} s|**{comparison.ratio:.2f}**|"
        f"{comparison.our_work:.2f} s|{comparison.their_work:.2f} s|**{comparison.work_ratio:.2f}**|"
    )


def line_tables(built: Sequence[Built]) -> str:
    result = sorted(
        (answer(work("line-tables", *(build.debug for build in built))) for _ in range(3)),
        key=lambda entry: entry["ours"] / entry["theirs"],
    )[1]
    ratio = result["ours"] / result["theirs"]
    return (
        f"|line tables: {int(result['rows']):,} rows|pyelftools|{result['ours']:.2f} s|{result['theirs']:.2f} s|"
        f"**{ratio:.3f}** (1/{1 / ratio:.0f})|"
    )


def start_up(binary: Path, scratch: Path) -> Iterator[str]:
    """Yield rows of start-up. Both sides keep bytecode, as installed packages do; the round that does not count writes it."""
    environment = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(scratch)}
    bare = running([[sys.executable, "-c", "pass"]], environment)
    listed = subprocess.run([command(), "inspect", "--json", str(binary)], check=True, capture_output=True).stdout
    kernel: str = json.loads(listed)["programs"][0]["kernels"][0]["name"]
    for title, words in (
        ("--version", ["--version"]),
        ("inspect FILE", ["inspect", str(binary)]),
        ("annotate FILE --kernel K", ["annotate", str(binary), "--kernel", kernel]),
    ):
        comparison = compare(running([[command(), *words]], environment), bare, rounds=15)
        yield (
            f"|`kernlens {title}`|bare `python -c pass`|{comparison.ours * 1e3:.0f} ms|{comparison.theirs * 1e3:.0f} ms|"
            f"{(comparison.ours - comparison.theirs) * 1e3:.0f} ms more|"
            f"{comparison.our_work * 1e3:.0f} ms|{comparison.their_work * 1e3:.0f} ms|"
            f"{(comparison.our_work - comparison.their_work) * 1e3:.0f} ms more|"
        )


def archive(built: Sequence[Built], scratch: Path) -> Iterator[str]:
    """Yield the rows of an ``ar`` archive of about 50 MB that holds the corpus's programs again and again."""
    path = scratch / "fat.ar"
    members = 0
    with path.open("wb") as file:
        file.write(b"!<arch>\n")
        for each in cycle(built):
            content = each.binary.read_bytes()
            file.write(f"{f'm{members}/':<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode())
            file.write(content + b"\n" * (len(content) % 2))
            members += 1
            if file.tell() >= ARCHIVE_SIZE:
                break
    size = path.stat().st_size
    answer_ = answer(work("listing", path))
    yield (
        f"|{size / 1e6:.0f} MB archive of {members} programs: {int(answer_['kernels']):,} kernels listed, in-process||"
        f"{answer_['best']:.0f} ms (first time {answer_['first']:.0f} ms)|||"
    )
    yield f"|peak memory of that, file included||{answer_['peak'] / 1e6:.0f} MB|||"
    largest = max((build.binary for build in built), key=lambda entry: entry.stat().st_size)
    used = answer(work("memory", largest))["peak"]
    yield f"|peak memory, everything of a {largest.stat().st_size / 1e6:.1f} MB program||{used / 1e6:.0f} MB|||"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--program", default="darktable/", help="which programs of the corpus: the start of their names"
    )
    parser.add_argument("--part", choices=PARTS, action="append", help="one table alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"runs of each side (default: {ROUNDS})")
    chosen = parser.parse_args()
    parts = chosen.part or PARTS
    built, failed = build([program for program in programs() if program.name.startswith(chosen.program)])
    if failed:
        raise SystemExit(f"{failed[0].program.name} does not compile: {failed[0].log}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n")
    print("|What|Peer|kernlens|peer|ratio|kernlens, processor time|peer|ratio|\n|-|-|-|-|-|-|-|-|")
    with tempfile.TemporaryDirectory(prefix="kernlens-bench-") as name:
        scratch = Path(name)
        rows: dict[str, Callable[[], Iterable[str]]] = {
            "library": lambda: library(built, scratch, chosen.rounds),
            "commands": lambda: commands(built, scratch, chosen.rounds),
            "line-tables": lambda: [line_tables(built)],
            "archive": lambda: archive(built, scratch),
            "start-up": lambda: start_up(built[0].binary, scratch),
        }
        for part in parts:
            for line in rows[part]():
                print(line, flush=True)


if __name__ == "__main__":
    main()
