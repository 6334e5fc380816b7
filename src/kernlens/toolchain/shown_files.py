"""The files that a confined child can open: the toolchain, its own folder, the files that the user has named, and
nothing else.

A compiler opens whatever a text includes, and clang knows more spellings of that than any scanner. For text that somebody else
wrote the kernel keeps it from files: ``kernlens_confine`` (``native/confine``) starts the compiler in namespaces, in which
nothing else has a name, or, where those are forbidden, under Landlock, which lets it open nothing else.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from kernlens import log
from kernlens.errors import UnsupportedError
from kernlens.toolchain.loaders.driver_files import driver_files
from kernlens.toolchain.sources.source_reading import is_wide

NAMESPACES = "namespaces"
LANDLOCK = "landlock"
#: How ``kernlens_confine`` ends if it has not run the program, and how its message begins.
FAILED = 125
COMPLAINT = "kernlens_confine: "
#: clang asks for files with these alone, which tells that they are there where they cannot be hidden.
_QUESTIONS = ("-D__has_include(x)=0", "-D__has_include_next(x)=0", "-D__has_embed(x)=0")

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
_HELPER = os.path.join(_PACKAGE, "native", "kernlens_confine")

#: A toolchain's parts below its root, ``/`` for the system's.
_TOOLCHAIN = (
    "lib", "lib32", "lib64", "usr/lib", "usr/lib32", "usr/lib64", "usr/libexec", "usr/local/lib", "usr/local/lib64",
    "etc/OpenCL", "etc/alternatives", "etc/ld.so.cache", "usr/share/pocl",
)  # fmt: skip
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_PROGRAMS = ("/bin", "/usr/bin", "/usr/local/bin")
#: Variables that name libraries, or folders of them.
_NAMING_LIBRARIES = ("LD_LIBRARY_PATH", "OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "ZE_ENABLE_ALT_DRIVERS")
#: The variables that a confined child inherits, beside those that simulate devices: what steers compilers, drivers and texts.
#: What else there is, such as a password, is not its business.
_INHERITED = re.compile(
    r"PATH|LANG|LANGUAGE|LC_\w+|TZ|LD_LIBRARY_PATH|PYTHONPATH|PYTHONHASHSEED"
    r"|KERNLENS_(?:WORKER_FILE_SIZE|TOOLCHAINS|IGA_PATH|IGC_VERSIONS|OBSERVE)|OCLGRIND_\w+"
    r"|(?:IGC|VISA|VC|NEO|OCL|CL|POCL|ZE|ZET|ZES|TBB|OMP|AMD|HSA|HIP|ROCR|GPU)_\w+|NEO[A-Z]\w*|SOURCE_DATE_EPOCH|MALLOC_\w+"
    r"|CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER)|NVIDIA_VISIBLE_DEVICES"
)
#: Variables with which the driver simulates a device (``simulation.py``).
SIMULATING = frozenset(
    {"NEOReadDebugKeys", "EnableTimestampWaitForQueues", "SetCommandStreamReceiver", "AUBDumpSubCaptureMode"}
    | {"AUBDumpCaptureFileName", "UseAubStream", "UseExternalAllocatorForSshAndDsh", "UseBindlessMode"}
    | {"ProductFamilyOverride", "HardwareInfoOverride", "OverrideRevision"}
)


@cache
def mechanism(*, of_driver: bool = False, of_cuda: bool = False) -> str:
    """Return how children are confined here, NAMESPACES or LANDLOCK; ``of_driver``: those that need a /proc, ``of_cuda``: those
    that a profiler of CUDA is in, whose threads keep a process out of namespaces. Raises UnsupportedError, which says why, if
    this machine does neither."""
    import subprocess

    if not os.path.isfile(_HELPER):
        reasons = [f"this installation has no {_HELPER}, which is built on Linux with a C compiler"]
    else:
        reasons = []
        for name in (LANDLOCK,) if of_cuda else (NAMESPACES, LANDLOCK):
            command = [_HELPER, name, *_words(of_driver=of_driver, of_cuda=of_cuda), "--show", _HELPER, "--"]
            try:
                tried = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd="/", check=False)
            except OSError as error:
                reasons.append(f"{_HELPER} cannot be run: {error.strerror}")
                break
            if tried.returncode == 0:
                log.debug("toolchain", "children are confined by %s", " not by ".join([name, *reasons]))
                return name
            reasons.append(f"{name} ({tried.stderr.strip().removeprefix(COMPLAINT) or tried.returncode})")
    raise UnsupportedError(
        "the compiler cannot be kept from your files on this machine, so text that may be somebody else's is not compiled:"
        f" {'; '.join(reasons)}. --unconfined (in Python: unconfined=True) compiles it all the same, and then it can include"
        " any file that you can read"
    )


@cache
def parts_of_root(root: str) -> tuple[str, ...]:
    """Return what a toolchain consists of, below its root: all else there is not shown."""
    # Of the system's programs only those that are needed are shown: which others are installed would be told too.
    parts = (*_TOOLCHAIN, *(() if root == "/" else ("usr/bin", "usr/local/bin")))
    return tuple(path for part in parts for path in _links(os.path.join(root, part)))


def is_offered() -> bool:
    """Return whether this machine can confine children."""
    try:
        mechanism()
    except UnsupportedError:
        return False
    return True


def confining(
    folder: str,
    shown: Iterable[str],
    program: str,
    variables: Mapping[str, str],
    *,
    of_driver: bool = False,
    of_cuda: bool = False,
) -> list[str]:
    """Return the words that start ``program``, a path, so that it can write into ``folder`` alone, and read there, in ``shown``
    and in the system's libraries, also those that these variables name. Raises UnsupportedError where the machine cannot do
    that.
    """
    how = mechanism(of_driver=of_driver, of_cuda=of_cuda)
    paths = {
        *parts_of_root("/"),
        *map(os.path.realpath, shown),
        *_DEVICES,
        *_beside(program),
        *_of_variables(variables),
    }
    if of_driver:
        paths |= {*driver_files(variables), *_of_python()}
    if of_driver or _is_script(program):  # Both start other programs: linkers, or an interpreter.
        paths.update(path for folder in _PROGRAMS for path in _links(folder))
    words = [_HELPER, how, *_words(of_driver=of_driver, of_cuda=of_cuda)]
    for path in sorted(path for path in paths if path.startswith("/")):  # what lies in a folder comes after it
        words += ["--show", path]
    if of_driver:
        words += ["--list", os.path.dirname(_PACKAGE)]
    return [*words, "--write", os.path.realpath(folder), "--"]


def _words(*, of_driver: bool, of_cuda: bool) -> list[str]:
    return [*(["--own-processes"] if of_driver else []), *(["--cuda"] if of_cuda else [])]


def questions_answered() -> tuple[str, ...]:
    """Return the options by which clang is not asked what files there are, where they cannot be hidden from it."""
    return _QUESTIONS if mechanism() == LANDLOCK else ()


def inherited(environment: Mapping[str, str], folder: str) -> dict[str, str]:
    """Return what a child that is confined to ``folder`` gets of these variables."""
    steering = {name: value for name, value in environment.items() if name in SIMULATING or _INHERITED.fullmatch(name)}
    # It can write into no other cache, and PoCL has no device without one; by default caches are below HOME.
    outside = [name for name, value in steering.items() if name.endswith("_CACHE_DIR") and not _is_below(value, folder)]
    passed_on = {name: value for name, value in steering.items() if name not in outside}
    return passed_on | {"HOME": folder, "TMPDIR": folder}


def _is_below(path: str, folder: str) -> bool:
    folder = os.path.realpath(folder)
    return os.path.commonpath([folder, os.path.realpath(path)]) == folder


def program_path(program: str) -> str:
    """Return where a program is, for a child that sees few links; as it is if it is not there."""
    path = shutil.which(program) or program
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)) if os.sep in path else path


def _links(path: str) -> Iterator[str]:
    """Yield the path, and all that it leads to: each is shown under its name. What is not there is left out."""
    for _ in range(40):
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if not os.path.lexists(path):
            return
        yield path
        if not os.path.islink(path):
            return
        path = os.path.join(os.path.dirname(path), os.readlink(path))


def _beside(program: str) -> Iterator[str]:
    """Yield the program, and where it is not one of the system's, what an installation has beside it."""
    if os.sep not in program:
        return
    yield from _links(program)
    folder = os.path.dirname(os.path.realpath(program))
    for path in (folder, *(os.path.join(os.path.dirname(folder), name) for name in ("lib", "lib64"))):
        if folder not in ("/usr/bin", "/usr/local/bin") and os.path.isdir(path) and not is_wide(path):
            yield os.path.realpath(path)


def _is_script(program: str) -> bool:
    try:
        with open(program, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False  # Starting it will say so.


def _of_variables(variables: Mapping[str, str]) -> Iterator[str]:
    for name in _NAMING_LIBRARIES:
        for path in variables.get(name, "").split(":"):
            folder = path if os.path.isdir(path) else os.path.dirname(path)
            if os.path.isabs(folder) and not is_wide(folder):
                yield os.path.realpath(folder)


def _of_python() -> Iterator[str]:
    """Yield what the interpreter needs, and the modules of the worker."""
    import sysconfig

    yield from _links(os.path.realpath(sys.executable))
    yield from (os.path.realpath(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
    library = os.path.join(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("LDLIBRARY") or "")
    yield from _links(library)
    yield _PACKAGE


def python_words(words: Sequence[str]) -> list[str]:
    """Return a command that starts this interpreter without its virtual environment, which a confined child does not see."""
    return [os.path.realpath(word) if word == sys.executable else word for word in words]
