"""The installed copies of libLLVM, and the one that disassembles for a target.

Of those that know the target, that of the code's own compiler comes first, then the newer ones (KERNLENS_LLVM_PATH's, then the
newest), then the older ones. The first that decodes all words is taken (``disassemble``).
"""

from __future__ import annotations

import os
import re
from _thread import allocate_lock
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from glob import escape, glob

from kernlens import log
from kernlens.dataclass import dataclass
from kernlens.errors import ToolError, UnsupportedError
from kernlens.isa.llvm.llvm_process import Columns, CrashError, LlvmProcess, Question, is_possible

#: Files or folders, separated as in PATH, to look in before the system's.
PATH_VARIABLE = "KERNLENS_LLVM_PATH"

_FOLDERS_OF_A_ROOT = ("", "lib", "lib64", "usr/lib/x86_64-linux-gnu", "usr/lib64", "usr/lib", "usr/lib/llvm-*/lib")
_SYSTEM_FOLDERS = (
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/usr/lib/llvm-*/lib",
)
_FILE_NAME = re.compile(r"libLLVM(?:-(\d+)(?:\.[\d.]+)?\.so(?:\.\d+)?|\.so\.(\d+)(?:\.[\d.]+)?)$")
#: The oldest that is used: what comes before it was never tried.
OLDEST = 14
#: The LLVMs of which a release of Debian has a package that can be added: the first, the newest, and the newest that LLVM
#: itself has released.
_FIRST_PACKAGED, NEWEST_PACKAGED, NEWEST_STABLE = 15, 24, 23
#: The bits of the targets that the process tells.
_TARGET_BITS = {"x86": 1, "amdgcn": 2}
#: How often the process of a library may end before its time within one run of this one.
_MOST_ENDS = 64
#: How often LLVM may crash on one code.
_MOST_CRASHES = 8

_more_paths: list[Callable[[], Mapping[str, str]]] = []
#: Folders with the times of their last change.
_Searched = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class LlvmLibrary:
    """One libLLVM. ``path`` is its file, ``major`` the number in its name."""

    path: str
    major: int
    _processes: list[LlvmProcess] = field(default_factory=list)
    _ends: list[str] = field(default_factory=list)
    #: The targets that it has refused: asking for one ends the process.
    _refused: set[tuple[str, str, str]] = field(default_factory=set)

    @cached_property
    def facts(self) -> tuple[tuple[int, ...], int]:
        """The version and the bits of the targets, as the library tells them."""
        process = self._process()
        version = process.version if process.version[0] else self._stated_version
        return version, process.targets

    @cached_property
    def _stated_version(self) -> tuple[int, ...]:
        """The version in the file's real name: an old library has no function that tells it."""
        name = os.path.basename(os.path.realpath(self.path))
        return tuple(map(int, re.findall(r"\d+", name.replace(".so.1", "")))) or (self.major,)

    @property
    def title(self) -> str:
        """Its name and version: ``LLVM 19.1.7``."""
        return f"LLVM {'.'.join(map(str, self.facts[0]))}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that it disassembles, of those that kernlens asks for."""
        return tuple(name for name, bit in _TARGET_BITS.items() if self.facts[1] & bit)

    def disassemble(self, question: Question) -> Columns | None:
        """Return the instructions; None if the library does not know the target or the processor. Bytes on which LLVM
        crashes are no instruction. Raises ToolError if it crashes too often, or takes too long."""
        code = memoryview(question.code)
        target = question.triple, question.cpu, question.features
        if target in self._refused:
            return None
        whole: Columns | None = None
        start = crashes = 0
        while whole is None or start < len(code):
            rest = question._replace(code=code[start:], address=question.address + start)
            try:
                part = self._ask(rest)
            except CrashError as error:
                crashes += 1
                if crashes > _MOST_CRASHES or error.offset >= len(code) - start:
                    raise
                part = self._ask(rest._replace(code=code[start : start + error.offset]))
                size = min(question.skip, len(code) - start - error.offset)
                log.debug("isa", "%s; %d bytes are passed over", error, size)
                part = part and part.with_illegal(error.offset, size)
            if part is None:
                self._refused.add(target)
                return None
            whole = part if whole is None else whole.joined(part, start)
            start += part.size
        return whole

    def _ask(self, question: Question) -> Columns | None:
        with _lock:
            if len(self._ends) >= _MOST_ENDS:
                raise ToolError(f"the disassembler of {self.path} has ended {_MOST_ENDS} times; no more is tried")
            process = self._process()
            # It is taken out as long as it is asked: an interrupted question must not leave its answer to the next.
            self._processes.clear()
            try:
                columns = process.ask(question)
            except BaseException as error:
                self._ends.append(str(error))
                process.end()
                raise
            if columns is None:
                process.end()
            else:
                self._processes.append(process)
        return columns

    def _process(self) -> LlvmProcess:
        if not self._processes:
            try:
                self._processes.append(LlvmProcess(self.path))
            except OSError as error:
                raise ToolError(f"the disassembler cannot be started: {error}") from error
        return self._processes[0]

    def forget(self) -> None:
        """Leave the process to the original of this forked copy."""
        for process in self._processes:
            process.leave()
        self._processes.clear()

    def __str__(self) -> str:
        return f"libLLVM {self.major} ({self.path})"


_lock = allocate_lock()
_known: dict[str, LlvmLibrary] = {}
#: The libraries that were listed last, and of which folders.
_listed: tuple[_Searched, tuple[LlvmLibrary, ...]] | None = None


def _forget() -> None:
    global _lock
    _lock = allocate_lock()
    for library in _known.values():
        library.forget()


os.register_at_fork(after_in_child=_forget)


def search_llvm_also(find_paths: Callable[[], Mapping[str, str]]) -> None:
    """Search for libLLVM in more paths too: of each toolchain, by its name, a library, its folder, or the toolchain's
    root folder."""
    _more_paths.append(find_paths)


def installed_llvm() -> tuple[LlvmLibrary, ...]:
    """Return every libLLVM that there is, in the order of preference, each file once. None is opened for it, and folders are
    listed again only when they have changed: each kernel asks."""
    global _listed
    if not is_possible():
        return ()
    searched = _searched()
    if _listed is None or _listed[0] != searched:
        _listed = searched, _found_libraries()
    return _listed[1]


def _found_libraries() -> tuple[LlvmLibrary, ...]:
    libraries: dict[str, LlvmLibrary] = {}
    for paths in (_chosen_paths(), _other_paths()):
        for path, major in sorted(paths, key=lambda candidate: -candidate[1]):
            real = os.path.realpath(path)
            if major >= OLDEST and real not in libraries:
                libraries[real] = _known.setdefault(real, LlvmLibrary(path, major))
    return tuple(libraries.values())


def llvm_for(target: str, made_by: int = 0) -> Iterator[LlvmLibrary]:
    """Yield the libraries that disassemble ``target`` (``x86``, ``amdgcn``), the best first; ``made_by`` is the major version
    of the LLVM that made the code. Raises UnsupportedError, which says what to install, if there is none."""
    failures: list[str] = []
    is_there = False
    # That of the compiler comes first: LLVM 21 refuses some encodings of v_cmpx on gfx10 that LLVM 15 writes and reads.
    for library in sorted(installed_llvm(), key=lambda each: (each.major != made_by, each.major < made_by)):
        try:
            if target in library.targets:
                is_there = True
                yield library
                continue
            failures.append(f"{library} was built without it")
        except ToolError as error:
            failures.append(str(error))
        log.debug("isa", "%s is passed over for %s: %s", library, target, failures[-1])
    if is_there:
        return
    if not is_possible():
        raise UnsupportedError(f"code for {target} cannot be disassembled: kernlens was built without its disassembler")
    tried = f" ({'; '.join(failures)})" if failures else ""
    raise UnsupportedError(
        f"code for {target} is disassembled by libLLVM, which is not installed{tried}; {remedy(made_by)}, or let"
        f" {PATH_VARIABLE} name the file"
    )


def remedy(major: int = 0) -> str:
    """Return the command that installs the disassembler of an LLVM; that of the newest if Debian has no such one."""
    return f"kernlens toolchain add llvm-{major if _FIRST_PACKAGED <= major <= NEWEST_PACKAGED else NEWEST_STABLE}"


def libraries_of(root: str | os.PathLike[str]) -> tuple[LlvmLibrary, ...]:
    """Return the copies of libLLVM in a toolchain's root folder, newest first."""
    paths = {os.path.realpath(path): (path, major) for path, major in _candidates(os.fspath(root), _FOLDERS_OF_A_ROOT)}
    return tuple(LlvmLibrary(path, major) for path, major in sorted(paths.values(), key=lambda each: -each[1]))


def _searched() -> _Searched:
    """Return what is searched, each with the time of its last change: libraries come and go with packages and roots, which
    change the folders, or those above."""
    paths = [*filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)), *_SYSTEM_FOLDERS]
    for find_paths in _more_paths:
        for root in find_paths().values():
            paths += (os.path.join(root, folder) for folder in _FOLDERS_OF_A_ROOT)
    return tuple((path, _changed(path.partition("*")[0])) for path in paths)


def _changed(path: str) -> int:
    try:
        return os.stat(path if os.path.lexists(path) else os.path.dirname(path)).st_mtime_ns
    except OSError:
        return 0


def _chosen_paths() -> Iterator[tuple[str, int]]:
    for path in filter(None, os.environ.get(PATH_VARIABLE, "").split(os.pathsep)):
        yield from _candidates(path, ("",))


def _other_paths() -> Iterator[tuple[str, int]]:
    for folder in _SYSTEM_FOLDERS:
        yield from _candidates(folder, ("",))
    for find_paths in _more_paths:
        for path in find_paths().values():
            yield from _candidates(path, _FOLDERS_OF_A_ROOT)


def _candidates(path: str, folders: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    """Yield the libraries at a path, a file or a folder, with the numbers in their names."""
    if os.path.isfile(path):
        match = _FILE_NAME.search(os.path.basename(path))
        yield path, int(match[1] or match[2]) if match else OLDEST
        return
    for folder in folders:
        for name in sorted(glob(os.path.join(path if "*" in path else escape(path), folder, "libLLVM*.so*"))):
            match = _FILE_NAME.fullmatch(os.path.basename(name))
            if match:
                yield name, int(match[1] or match[2])
