"""Toolchains: the compilers and drivers of this machine, side by side.

``system`` is what the machine's packages installed. Every other toolchain is a *root*: a folder that holds a whole
small Linux system with its own C library, compiler and driver (see ``roots.py``). A program of a root is started
through the root's dynamic loader, so it sees this machine's files under their usual names: include paths, working
folders and the names in line tables mean the same inside and outside, and no privilege is needed.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from kernlens import log
from kernlens.dataclass import dataclass, replace
from kernlens.errors import NotFoundError, ToolError, nearest
from kernlens.model.build import BuildToolchain
from kernlens.toolchain.process import run, temporary_folder
from kernlens.toolchain.registered import NAME as NAME
from kernlens.toolchain.registered import NEWEST as NEWEST
from kernlens.toolchain.registered import roots as roots
from kernlens.toolchain.registered import toolchains_folder as toolchains_folder
from kernlens.toolchain.sources.source_reading import read_beside

#: The name of the toolchain that the machine's packages installed.
SYSTEM = "system"
#: In place of a name: the default toolchain.
DEFAULT = ""
#: Seconds that ocloc may take to answer a question.
QUESTION_TIMEOUT = 30.0
#: The variable of ``igc_versions``: NAME=VERSION,...
_VERSIONS = "KERNLENS_IGC_VERSIONS"

SYSTEM_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
IGC_PACKAGE = re.compile(
    r"^Package: (?:libigc\d+|intel-igc-core(?:-\d+)?)\n(?:(?!Package:)(?:\S| ).*\n)*?Version: (?:\d+:)?([^-\s]+)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Toolchain:
    """One installed set of compiler, disassembler and driver.

    ``root`` is the folder that holds it, None for the system's. ``ocloc`` is the offline compiler as this machine sees
    it, None if there is none. ``neo_version`` is the driver's (``26.27.39122``) and ``igc_version`` the compiler's
    (``2.40.14``), None if unknown. ``iga_libraries`` are its libiga64 files.
    """

    name: str
    root: Path | None
    ocloc: Path | None
    neo_version: str | None
    igc_version: str | None
    iga_libraries: tuple[Path, ...] = ()

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """The versions as users see them: ``NEO 22.43.24595 / IGC 1.0.12504``."""
        return f"NEO {self.neo_version or 'unknown'} / IGC {self.igc_version or 'unknown'}"

    @property
    def of_build(self) -> BuildToolchain:
        """The toolchain as a Build holds it."""
        return BuildToolchain(self.name, self.neo_version or "", self.igc_version or "")

    @property
    def release(self) -> tuple[int, int] | None:
        """The driver's year and week, ``(26, 27)``; None if the version is unknown."""
        match = re.match(r"(\d+)\.(\d+)", self.neo_version or "")
        return (int(match[1]), int(match[2])) if match else None

    def command(self, program: str | Path, *arguments: str, called: str | None = None) -> list[str]:
        """Return the command that runs ``program`` with this toolchain's libraries before the machine's.

        ``program`` is one of the toolchain's by name (``"clinfo"``) or any by path; the machine's programs work too, as
        a C library serves programs that were built for an older one. Whatever the program starts in turn runs with the
        machine's libraries again. ``called`` is what a root's program gets as its argument 0 (None: its path); the
        root needs glibc 2.33 or newer, whose loader has the option.

        Raises NotFoundError if the root has no such program, ToolError if the root is not complete.
        """
        if self.root is None:
            return [str(program), *arguments]
        start = loader(self.root)
        if start is None:
            raise ToolError(f"the toolchain {self.name} ({self.root}) has no dynamic loader (ld-linux); add it again")
        path = str(program if isinstance(program, Path) else self._program(self.root, program))
        if os.sep not in path:
            path = os.path.join(os.curdir, path)  # The loader looks for a bare name among the libraries.
        folders = [str(folder) for folder in library_folders(self.root)]
        folders += [folder for folder in SYSTEM_LIBRARY_FOLDERS if os.path.isdir(folder)]
        name = [] if called is None else ["--argv0", called]
        return [str(start), "--library-path", ":".join(folders), *name, path, *arguments]

    def _program(self, root: Path, name: str) -> Path:
        if os.sep in name:
            return Path(name)
        candidates = programs(root, name)
        if not candidates:
            raise NotFoundError(f"the toolchain {self.name} ({root}) has no program {name}")
        return candidates[0]

    def environment(self) -> dict[str, str]:
        """Return variables that lead a process started by ``command`` to this toolchain's drivers; none for the system's."""
        if self.root is None:
            return {}
        for folder in library_folders(self.root):
            driver = folder / "intel-opencl" / "libigdrcl.so"
            if driver.is_file():
                log.debug("toolchain", "%s: the OpenCL driver is %s", self.name, driver)
                return {"OCL_ICD_VENDORS": str(driver), "OCL_ICD_FILENAMES": str(driver)}
            log.debug("toolchain", "%s: there is no OpenCL driver %s", self.name, driver)
        return {}


def find_toolchains() -> tuple[Toolchain, ...]:
    """Return the system's toolchain, whose ``ocloc`` is None if no compiler is installed, then the roots by name."""
    registered = roots()
    return (_system(), *(of_root(name, registered[name]) for name in sorted(registered)))


def default_toolchain() -> str:
    """Return the name of the default toolchain: ``KERNLENS_TOOLCHAIN``, else ``toolchain`` in the ``kernlens.toml`` of the
    working folder or in ``KERNLENS_PROJECT``, else ``system``; if that has no compiler, ``newest`` or the first of the others.

    Raises FormatError or NotFoundError for a ``kernlens.toml`` that cannot be read.
    """
    chosen = os.environ.get("KERNLENS_TOOLCHAIN") or _of_project_file()
    if chosen or _system_compiler() is not None:
        return chosen or SYSTEM
    folders = roots()
    names = sorted(
        (name for name in folders if not _is_of_llvm(folders[name])), key=lambda name: (name != NEWEST, name)
    )
    log.debug("toolchain", "%s has no compiler; there are: %s", SYSTEM, names)
    return names[0] if names else SYSTEM


def _is_of_llvm(root: Path) -> bool:
    """Return whether a root has LLVM, with or without clang for AMD's GPUs, and no ocloc: it is never the default."""
    has_llvm = any(any(root.glob(f"usr/lib/{pattern}")) for pattern in ("llvm-*/bin/clang", "*/libLLVM*.so*"))
    return has_llvm and not programs(root, "ocloc")


def _of_project_file() -> str | None:
    if not os.path.lexists("kernlens.toml") and not os.environ.get("KERNLENS_PROJECT"):
        return None
    from kernlens.toolchain.sources.project_file import own_project_file, read_project

    path = own_project_file()
    return read_project(path).toolchain if path else None


def toolchain(name: str = DEFAULT) -> Toolchain:
    """Return the toolchain of that name. Raises NotFoundError, with the names that exist, if there is none."""
    origin = "" if name else ", the default (KERNLENS_TOOLCHAIN, or toolchain in kernlens.toml)"
    name = name or default_toolchain()
    if name == SYSTEM:
        return _system()
    registered = roots()
    if name in registered:
        return of_root(name, registered[name])
    names = ", ".join([SYSTEM, *sorted(registered)])
    advice = f"; 'kernlens toolchain add {NEWEST}' builds {NEWEST}" if nearest(name, [NEWEST]) else ""
    raise NotFoundError(f"there is no toolchain {name!r}{origin}; there are: {names}{advice}")


def library_folders(root: Path) -> list[Path]:
    """Return a root's folders of shared libraries, the multi-arch one first."""
    plain = [folder for folder in (root / "usr/lib64", root / "usr/lib") if folder.is_dir()]
    return [*sorted(root.glob("usr/lib/*-linux-gnu")), *plain]


def programs(root: Path, name: str) -> list[Path]:
    """Return a root's programs of that name, with or without a version after it, newest first.

    A link that leads out of the root, as those through ``/etc/alternatives`` do, is left out.
    """
    inside = root.resolve()
    targets = []
    for folder in (root / "usr/bin", root / "usr/local/bin"):
        for path in [folder / name, *folder.glob(f"{name}-[0-9]*")]:
            target = path.resolve()
            if target.is_relative_to(inside) and target.is_file():
                targets.append(target)
            elif path.is_symlink():
                log.debug("toolchain", "%s is passed over: it leads to %s", path, target)
    return sorted(dict.fromkeys(targets), key=lambda path: _version_key(path.name), reverse=True)


def _version_key(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def loader(root: Path) -> Path | None:
    """Return a root's dynamic loader; None if it has none, and then none of its programs can run."""
    for folder in (*library_folders(root), root / "lib64"):
        for path in folder.glob("ld-linux-*.so.*"):
            return path
    log.debug("toolchain", "%s has no dynamic loader", root)
    return None


def _system_compiler() -> Path | None:
    compiler = shutil.which("ocloc")
    if compiler is None:
        compiler = next(iter(_versioned_compilers()), None)
        log.debug("toolchain", "%s: PATH holds no ocloc; with a version in its name: %s", SYSTEM, compiler)
    return None if compiler is None else Path(compiler)


def _system() -> Toolchain:
    ocloc = _system_compiler()
    folders = [Path(folder) for folder in SYSTEM_LIBRARY_FOLDERS]
    bare = Toolchain(SYSTEM, None, ocloc, None, None)
    return _reported(bare, _igc_version(SYSTEM, Path("/"), folders), _iga_libraries(folders))


def _versioned_compilers() -> list[str]:
    """Return the compilers in PATH with a version in their names, newest first.

    Debian's newer packages install ``ocloc-26.27.1`` and a link to it, which an administrator may have removed.
    """
    compilers: list[Path] = []
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        compilers += [path for path in Path(folder or ".").glob("ocloc-[0-9]*") if os.access(path, os.X_OK)]
    return [str(path) for path in sorted(compilers, key=lambda path: _version_key(path.name), reverse=True)]


def of_root(name: str, root: Path) -> Toolchain:
    """Return the toolchain in the folder ``root``, as ``name``."""
    compilers = programs(root, "ocloc")
    folders = library_folders(root)
    ocloc = compilers[0] if compilers else None
    bare = Toolchain(name, root, ocloc, None, None)
    return _reported(bare, _igc_version(name, root, folders), _iga_libraries(folders))


def _reported(bare: Toolchain, igc_version: str | None, libraries: tuple[Path, ...]) -> Toolchain:
    """Return ``bare`` with its versions and libraries."""
    whole = replace(bare, neo_version=_neo_version(bare), igc_version=igc_version, iga_libraries=libraries)
    log.debug("toolchain", "%s: %s, ocloc %s, %d of libiga64", whole.name, whole.title, whole.ocloc, len(libraries))
    return whole


def _iga_libraries(folders: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path for folder in folders for path in sorted(folder.glob("libiga64.so.[0-9]"))))


def _neo_version(bare: Toolchain) -> str | None:
    """Ask ocloc for its driver's version; returns None if there is no ocloc or it does not answer."""
    if bare.ocloc is None or (bare.root is not None and loader(bare.root) is None):
        return None
    return _ask_version(tuple(bare.command(bare.ocloc, "query", "OCL_DRIVER_VERSION")), bare.ocloc.stat().st_mtime_ns)


@lru_cache(maxsize=32)
def _ask_version(command: tuple[str, ...], modified: int) -> str | None:
    # ``modified`` is part of the cache's key, so a replaced compiler is asked again.
    with temporary_folder() as folder:
        # ocloc writes the answer into a file in its working folder, named after the question; newer ones print it too.
        try:
            run(command, timeout=QUESTION_TIMEOUT, cwd=folder)
            answer = read_beside(os.path.join(folder, command[-1]), folder).decode("utf-8", "replace")
        except (ToolError, NotFoundError) as error:
            log.debug("toolchain", "%s did not tell its version: %s", command[0], error)
            return None
    match = re.search(r"\d+(?:\.\d+)+", answer)
    return ".".join(str(int(part)) for part in match[0].split(".")) if match else None


def igc_versions() -> dict[str, str]:
    """Return the variable that states the compilers' versions to a command that is confined: it cannot read dpkg's status
    file, which lists all that is installed."""
    versions = {SYSTEM: _igc_version(SYSTEM, Path("/"), [Path(folder) for folder in SYSTEM_LIBRARY_FOLDERS])}
    versions |= {name: _igc_version(name, root, library_folders(root)) for name, root in roots().items()}
    return {_VERSIONS: ",".join(f"{name}={version}" for name, version in versions.items() if version)}


def _igc_version(name: str, root: Path, folders: Sequence[Path]) -> str | None:
    """Read the compiler's version from the variable, from dpkg's status file, else from the file name that ``libigc.so.N``
    links to."""
    stated = dict(each.partition("=")[::2] for each in os.environ.get(_VERSIONS, "").split(","))
    if stated.get(name):
        return stated[name]
    status = root / "var/lib/dpkg/status"
    if status.is_file():
        version = _packaged_igc(status, status.stat().st_mtime_ns)
        if version is not None:
            return version
    for folder in folders:
        for link in sorted(folder.glob("libigc.so.[0-9]"), reverse=True):
            match = re.search(r"\.so\.(\d+\.\d+\.\d+)", os.path.basename(os.path.realpath(link)))
            if match:
                return match[1]
    return None


@lru_cache(maxsize=8)
def _packaged_igc(status: Path, modified: int) -> str | None:
    match = IGC_PACKAGE.search(status.read_text("utf-8", "replace"))
    return match[1] if match else None
