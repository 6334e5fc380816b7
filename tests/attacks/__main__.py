"""Try all attacks on private files: ``python -m tests.attacks``.

Each is a command in a crafted folder (``private_files.py``), run in a process of its own. It succeeds if a private file is
opened or what is in it is printed or written. With ``--guards-out`` the guards are taken out: then each attack has to
succeed, or it would show nothing. ``--strace`` counts what is opened outside of the folders and of the system, by whatever
code. ``--every N`` tries every Nth attack.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from unittest import mock

from tests.attacks.private_files import BESIDE, KERNEL, MARK, SOURCE, Attack, attacks, secrets
from tests.environment import leave_the_users
from tests.tree import PACKAGE, ROOT, package_files

DOOR = "kernlens.toolchain.source_reading"
#: What takes a guard out.
_OUT: dict[str, dict[str, Callable[..., object]]] = {
    BESIDE: {f"{DOOR}._is_below": lambda path, folder: True, f"{DOOR}._is_hidden": lambda path: False},
    SOURCE: {f"{DOOR}.SourceFolders._refusal": lambda self, real: None},
}
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


def leak(attack: Attack, private: frozenset[str], *, are_guards_out: bool) -> str:
    """Run an attack in a child process; return what leaked, "" if nothing did."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.close(reading)
            _run(attack, private, writing, are_guards_out=are_guards_out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        opened = pipe.read().decode()
    os.waitpid(child, 0)
    if opened:
        return f"opened {opened.splitlines()[0]}"
    written = (path for path in attack.folder.rglob("*") if path.suffix in (".said", ".html") or "out" in path.parts)
    marks = (MARK.encode(), KERNEL.encode())
    told = (path.name for path in written if path.is_file() and any(mark in path.read_bytes() for mark in marks))
    return next((f"written to {name}" for name in told), "")


def _run(attack: Attack, private: frozenset[str], writing: int, *, are_guards_out: bool) -> None:
    from kernlens.cli.main import main
    from tests.writers.programs import decoded

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        # Hidden copies lie in the attack's own folder.
        if event in ("open", "sqlite3.connect") and isinstance(arguments[0], str | bytes | os.PathLike):
            real = os.path.realpath(os.fsdecode(arguments[0]))
            if real in private or "/.hidden/" in real:
                os.write(writing, f"{real}\n".encode())

    output = os.open(attack.folder / "command.said", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.chdir(attack.folder)
    sys.argv = ["kernlens", *attack.words]
    sys.addaudithook(watch)
    with ExitStack() as patches:
        patches.enter_context(mock.patch("kernlens.isa.intel.decode.decode_many", decoded))
        for name, replacement in _OUT[attack.guard].items() if are_guards_out else ():
            patches.enter_context(mock.patch(name, replacement))
        try:
            main()
        except SystemExit:
            pass
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        sys.stdout.flush()


def written(folder: Path, every: int = 1) -> tuple[list[Attack], frozenset[str]]:
    """Write every Nth attack below a folder; return them with the paths of the private files."""
    private = secrets(folder / "private")
    return list(attacks(folder / "attacks", private))[::every], frozenset(map(os.path.realpath, private.values()))


def tried(chosen: list[Attack], private: frozenset[str], *, are_guards_out: bool) -> Iterator[tuple[Attack, str]]:
    """Yield each attack with what leaked."""
    for path in package_files():  # Once, and not in each child.
        with suppress(ImportError):
            if path.parent.name not in ("explorer", "agents") and path.stem not in ("__main__", "worker", "__init__"):
                import_module(".".join(("kernlens", *path.relative_to(PACKAGE).with_suffix("").parts)))
    for attack in chosen:
        yield attack, leak(attack, private, are_guards_out=are_guards_out)


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
    count, outside = opened_outside(trace, (str(folder / "attacks"), str(own), str(ROOT), os.environ["HOME"], *_SYSTEM))
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
        chosen, private = written(folder, asked.every)
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
