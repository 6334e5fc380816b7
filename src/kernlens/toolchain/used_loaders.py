"""The OpenCL loaders that an application would load: found in its files before it starts, and in its processes later."""

from __future__ import annotations

import mmap
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.toolchain.library_search import RPATH, LibrarySearch, Linked, file_content, read_linked
from kernlens.toolchain.opencl_loader import LOADER, LOADER_NAME, Loader, loaders_of_python, read_loader

#: The kinds of uses that LD_LIBRARY_PATH cannot lead elsewhere, beside DT_RPATH.
ABSOLUTE, BUNDLED = "an absolute path", "a Python package"
#: Bytes of a script that are read, words of it and of a command line that are looked at, and names of loaders in a program.
_SCRIPT, _MOST_WORDS, _MOST_NAMES = 1 << 16, 256, 64
#: A line of /proc/PID/maps with a file of code, and the most processes that are looked at.
_MAPPED = re.compile(rb"^\S+ r-x\S* .*?(/[^\n]*)$", re.MULTILINE)
_MOST_PROCESSES = 4096
#: What the code of every OpenCL loader says: where it looks for drivers; and what is in those that take layers.
_VENDORS, _LAYERS = b"/OpenCL/vendors", b"OPENCL_LAYERS"
#: The libraries of interfaces of which kernlens records nothing, or nothing of what goes past Intel's driver.
_INTERFACES = {
    "libcuda.so": "CUDA", "libamdhip64.so": "HIP", "libvulkan.so": "Vulkan", "libze_loader.so": "Level Zero"
}  # fmt: skip
#: What begins a path in a script that is mostly the script's own folder: "$HERE/", "${0%/*}/", "$(dirname "$0")/".
_OWN_FOLDER = re.compile(r"(?:\$\{?(?:\w+|0%/\*)\}?|\$\(.*\))(?=/)")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")


@dataclass(frozen=True, slots=True)
class LoaderUse:
    """A loader that an application would load: the program or library that asks for it ("" for any), and how it comes to
    this one: one of the kinds of ``library_search``, or ``ABSOLUTE`` or ``BUNDLED``. ``is_likely``: it is linked to it or
    brings it along; others would get it if they opened it."""

    loader: Loader
    requester: str
    kind: str
    is_likely: bool

    @property
    def is_pinned(self) -> bool:
        """True if a library of that name in LD_LIBRARY_PATH does not come before it."""
        return self.kind in (RPATH, ABSOLUTE, BUNDLED)


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs that a command line starts, as far as files tell: the program itself, a script's interpreter, and
    programs that arguments or the script name. ``python`` is an interpreter of Python among them, None if there is none."""

    linked: tuple[Linked, ...]
    python: str | None


def programs_of(words: Sequence[str], program: str, environment: Mapping[str, str]) -> Programs:
    """Return the programs that the command line ``words``, whose first is the file ``program``, starts."""
    names = [program, *_interpreters(program, environment)]
    for word in [*words[1:_MOST_WORDS], *_script_words(program)]:
        if (path := _program(word, environment)) is not None:
            names += [path, *_interpreters(path, environment)]
    different = list(dict.fromkeys(names))
    python = next((name for name in different if _PYTHON.fullmatch(os.path.basename(name))), None)
    return Programs(tuple(each for name in different if (each := read_linked(name)) is not None), python)


def _program(word: str, environment: Mapping[str, str]) -> str | None:
    path = shutil.which(word, path=environment.get("PATH")) if word else None
    return path if path is not None and os.path.isfile(path) else None


def _start(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_SCRIPT)
    except OSError:
        return b""


def _interpreters(program: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the interpreter in a script's first line; with ``/usr/bin/env NAME`` the program of that name, too."""
    line = _start(program).split(b"\n", 1)[0]
    if line[:2] == b"#!":
        words = os.fsdecode(line[2:]).split()
        yield from (path for word in words[:3] if (path := _program(word, environment)) is not None)


def _script_words(program: str) -> list[str]:
    """Return the words of a shell script that may name programs: those with a slash, or at the beginning of a line."""
    text = _start(program)
    if text[:2] != b"#!" or not re.match(rb"#!.*\b(?:ba|da|z|k)?sh\b", text):
        return []
    words = []
    folder = os.path.dirname(os.path.abspath(program))
    for line in os.fsdecode(text).splitlines()[1:]:
        try:
            parts = shlex.split(line, comments=True)
        except ValueError:
            continue
        own = [f"{folder}{_OWN_FOLDER.sub('', part)}" if _OWN_FOLDER.match(part) else part for part in parts]
        words += [part for number, part in enumerate(own) if "/" in part or number < 2]
        words += [os.path.join(folder, part) for part in own if "/" in part and not part.startswith("/")]
    return words[:_MOST_WORDS]


def used_loaders(programs: Programs, environment: Mapping[str, str]) -> list[LoaderUse]:
    """Return the loaders that the programs would load, and the one that any program gets by default."""
    search = LibrarySearch(environment)
    uses: list[tuple[str, str, str, bool]] = []
    for program in programs.linked:
        for name, requester, place in search.libraries(program):
            if LOADER_NAME.fullmatch(name) and place is not None:
                uses.append((place[0], requester.path, place[1], True))
        uses += [(path, program.path, ABSOLUTE, True) for path in _absolute(program.path)]
        # What it opens when it runs, with its own run paths.
        place = search.find(LOADER, program)
        if place is not None:
            uses.append((place[0], program.path, place[1], False))
    if programs.python is not None:
        uses += [(path, programs.python, BUNDLED, True) for path in loaders_of_python(programs.python, environment)]
    place = search.find(LOADER, None)
    if place is not None:
        uses.append((place[0], "", place[1], False))
    different: dict[tuple[str, str], LoaderUse] = {}
    for path, requester_path, kind, is_likely in uses:
        loader = read_loader(path)
        if loader is not None:
            use = LoaderUse(loader, requester_path, kind, is_likely)
            different.setdefault((os.path.realpath(path), kind), use)
    return list(different.values())


def _absolute(path: str) -> list[str]:
    """Return the absolute paths of loaders that are among a program's bytes and lead to files."""
    content = file_content(path)
    if content is None:
        return []
    whole = bytes(content[: 1 << 26])
    paths, start = [], 0
    for _ in range(_MOST_NAMES):
        place = whole.find(b"/libOpenCL", start)
        if place < 0:
            break
        begin, end = whole.rfind(b"\0", 0, place) + 1, whole.find(b"\0", place)
        start = place + 1
        name = os.fsdecode(whole[begin:end])
        if end - begin < 4096 and name.startswith("/") and os.path.isfile(name):
            paths.append(name)
    return list(dict.fromkeys(paths))


def holds_own_loader(path: str) -> bool:
    """Return whether a program or library has an OpenCL loader linked in that takes no layers."""
    content = file_content(path)
    if content is None or LOADER_NAME.fullmatch(os.path.basename(path)):
        return False
    mapped = content.obj
    return isinstance(mapped, mmap.mmap) and mapped.find(_VENDORS) >= 0 and mapped.find(_LAYERS) < 0


def interface_of(path: str) -> str | None:
    """Return the interface to GPUs that a library is the way to, beside OpenCL; None if it is none's."""
    name = os.path.basename(path)
    return next((title for start, title in _INTERFACES.items() if name.startswith(start)), None)


def mapped_code(process: int) -> list[set[str]]:
    """Return the files of code that a process and its descendants have mapped now: a set for each process."""
    waiting, mapped = [process], []
    for each in waiting:
        if len(waiting) > _MOST_PROCESSES:
            break
        folder = Path("/proc", str(each))
        try:
            for task in (folder / "task").iterdir():
                waiting += [int(word) for word in (task / "children").read_text().split()]
            maps = (folder / "maps").read_bytes()
        except (OSError, ValueError):
            continue  # It has ended, or is somebody else's.
        mapped.append({os.fsdecode(match[1]) for match in _MAPPED.finditer(maps)})
    return mapped
