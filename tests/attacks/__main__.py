"""Try all attacks: ``python -m tests.attacks``.

Each is a command in a crafted folder, run in a process of its own, or a request to a server. It succeeds if a private file is
opened, or what is in it printed or written (``private_files.py``, ``confined_compilers.py``), if a terminal would obey what is
printed (``hostile_names.py``), if something is written outside of the output folder or a program runs
(``outside_writes.py``, ``repositories.py``), or if the server answers (``server_requests.py``). With ``--guards-out`` the
guards are taken out: then each attack has to succeed, or it would show nothing. ``--strace`` counts what the attacks on private
files open outside of the folders and of the system, by whatever code. ``--every N`` tries every Nth attack.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tests.attacks import (
    confined_compilers,
    hostile_names,
    outside_writes,
    private_files,
    repositories,
    server_requests,
)  # fmt: skip
from tests.attacks.attack import Attack
from tests.attacks.private_files import secrets
from tests.attacks.trying import tried
from tests.environment import leave_the_users
from tests.tree import ROOT

#: The modules whose attacks are tried.
KINDS = (private_files, hostile_names, outside_writes, repositories, server_requests, confined_compilers)
#: What may be opened beside the attacks' own folders: the system, this tree, and its interpreter.
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/sbin",
    "/etc",
    "/proc",
    "/sys",
    "/dev",
    "/opt",
    "/var/lib/dpkg",
    "/var/lib/dpkg",
    sys.base_prefix,
    sys.prefix,
)
_OPENED = re.compile(r"open(?:at2?|)\((?P<words>.*)\) = \d+<(?P<path>[^>]*)>")


def written(folder: Path, kinds: Sequence[ModuleType], every: int = 1) -> tuple[list[Attack], frozenset[str]]:
    """Write every Nth attack below a folder; return them with the paths of the private files."""
    private = secrets(folder / "private")
    chosen = [
        attack
        for kind in kinds
        for attack in kind.attacks(folder / "attacks" / kind.__name__.rpartition(".")[2], private)
    ]
    return chosen[::every], frozenset(map(os.path.realpath, private.values()))


def opened_outside(trace: Path, folders: tuple[str, ...]) -> tuple[int, list[str]]:
    """Return how many files were opened, by the lines of strace, and the paths of those outside of these folders, or hidden
    in them."""
    count, outside = 0, []
    with trace.open(errors="replace") as lines:
        for match in filter(None, map(_OPENED.search, lines)):
            count += 1
            path = match["path"].removesuffix(" (deleted)")
            is_inside = any(path == each or path.startswith(f"{each}/") for each in folders)
            if path.startswith("/") and (not is_inside or "/.hidden/" in path):
                outside.append(path)
    return count, outside


def _under_strace(chosen: list[Attack], private: frozenset[str], folder: Path, *, are_guards_out: bool) -> int:
    trace, own = folder / "trace", folder / "own"
    own.mkdir()
    (own / "listed").write_bytes(pickle.dumps((chosen, private)))
    command = ["strace", "-f", "-y", "-s", "0", "-e", "trace=open,openat,openat2", "-o", str(trace), sys.executable]
    command += ["-m", "tests.attacks", "--listed", str(own / "listed"), *(["--guards-out"] if are_guards_out else [])]
    done = subprocess.run(command, check=False, cwd=ROOT, env=os.environ | {"TMPDIR": str(own)})
    named = os.environ.get("KERNLENS_NEWEST_ROOT")  # A toolchain that the user names.
    folders = (str(folder / "attacks"), str(own), str(ROOT), os.environ["HOME"], *_SYSTEM, *([named] if named else []))
    count, outside = opened_outside(trace, folders)
    print(f"{count:,} files opened, {len(outside)} outside", *sorted(set(outside))[:20], sep="\n")
    return 1 if outside or done.returncode else 0


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--guards-out", action="store_true", help="take the guards out: each attack has to succeed")
    parser.add_argument("--strace", action="store_true", help="count what is opened outside, by strace")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="try every Nth attack")
    parser.add_argument("--listed", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    leave_the_users()
    if asked.listed:  # Under strace, which shows only what is read here.
        chosen, private = pickle.loads(asked.listed.read_bytes())
        return _report(chosen, private, are_guards_out=asked.guards_out)
    with tempfile.TemporaryDirectory(prefix="kernlens-attacks-") as name:
        folder = Path(name)
        chosen, private = written(folder, (private_files,) if asked.strace else KINDS, asked.every)
        if asked.strace:
            return _under_strace(chosen, private, folder, are_guards_out=asked.guards_out)
        return _report(chosen, private, are_guards_out=asked.guards_out)


def _report(chosen: list[Attack], private: frozenset[str], *, are_guards_out: bool) -> int:
    results = list(tried(chosen, private, are_guards_out=are_guards_out))
    wrong = [(attack, words) for attack, words in results if bool(words) != are_guards_out]
    leaks = sum(bool(words) for _, words in results)
    print(f"{len(results)} attacks, {leaks} leaked{', with the guards out' if are_guards_out else ''}")
    for attack, words in wrong:
        print(f"  {attack.name}: {words or 'nothing leaked'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
