"""Toolchain roots: build one, register one, remove one.

A root is Debian's newest Intel stack, or Debian's compiler for AMD's GPUs, unpacked into a folder of the user's. apt finds,
downloads and verifies the packages (see ``apt.py``). They are only unpacked, not installed, and none of their scripts runs, so
no privilege is needed: no chroot, no mount, no user namespace. The root is built under a hidden name and renamed when it
works, so an interrupted ``add`` leaves no half-built toolchain; the next ``add`` removes what it does leave.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from kernlens.errors import KernlensError, NotFoundError, OutputError, ToolError, UnsupportedError
from kernlens.isa.llvm.llvm_libraries import libraries_of
from kernlens.runtime.temporary import remove_folder
from kernlens.toolchain.amd_clang import amd_devices_of
from kernlens.toolchain.amd_compiler import amd_compiler
from kernlens.toolchain.apt import Progress, debian_keyring, debian_mirror, download
from kernlens.toolchain.process import run
from kernlens.toolchain.toolchains import (
    NAME,
    NEWEST,
    SYSTEM,
    Toolchain,
    loader,
    of_root,
    programs,
    toolchain,
    toolchains_folder,
)

#: The Debian release that carries the newest stack, and the packages that make it up.
SUITE = "forky"
PACKAGES = (
    "intel-opencl-icd",
    "intel-ocloc",
    "libze-intel-gpu1",
    "libze1",
    "libigc2-tools",
    "libigdfcl2",
    "ocl-icd-libopencl1",
    "clinfo",
    "python3",
)
#: Bytes: 94 MB of packages, 21 MB of lists and 430 MB unpacked were measured.
SPACE_NEEDED = 650 << 20
#: What else a name stands for: the release and packages of the compiler for AMD's GPUs, and of llvm-mca; the interpreter of
#: ``observe``. ``{}`` is the newest LLVM of which the release has the first package.
_OF_NAMES = {
    "amd": ("bookworm", ("rocm-device-libs", "clang-15", "lld-15", "llvm-15")),
    "amd-newest": ("forky", ("rocm-device-libs-{}", "clang-{}", "lld-{}", "llvm-{}")),
    "oclgrind": ("bookworm", ("oclgrind", "llvm-14", "llvm-spirv-14")),
}
#: The names of decoders, and the releases that are asked for one.
_DECODER = re.compile(r"llvm-([1-9]\d)")
_OF_DECODERS = ("forky", "sid", "trixie", "bookworm", "experimental")
#: What a command that lacks something offers to fetch, by its name, and what that takes.
OFFERED = {
    NEWEST: "Intel's newest compiler: 94 MB to fetch, 430 MB on the disk",
    "amd-newest": "the newest compiler for AMD's GPUs: 545 MB on the disk",
    "oclgrind": "the interpreter that runs kernels, with LLVM 14: 355 MB on the disk",
}
UNPACK_TIMEOUT = 300.0
#: Seconds to wait for another ``add`` or ``remove``, or for a process that an interrupted one left running.
LOCK_TIMEOUT = 120.0
PARTIAL = ".partial-"
#: Attempts to delete a folder that a process which was just killed may still be changing.
DELETE_ATTEMPTS = 100
#: Every Debian root has these links since all programs and libraries moved below /usr.
MERGED = ("bin", "lib", "lib64", "sbin")


def _silent(line: str) -> None:
    """Ignore the progress."""


def add(
    name: str = NEWEST,
    mirror: str | None = None,
    root: str | Path | None = None,
    on_progress: Progress = _silent,
    keyring: str | Path | None = None,
) -> Toolchain:
    """Build the newest toolchain and register it as ``name``; with ``root`` register that existing folder instead. The names
    ``amd`` and ``amd-newest`` stand for the compilers for AMD's GPUs of Debian 12 and of Debian's newest release, ``llvm-N``
    for the disassembler of LLVM N, of the first of Debian's releases that has it, ``oclgrind`` for Debian 12's interpreter.

    ``mirror`` is a Debian mirror's address (None: the one that apt uses), ``keyring`` the file of keys that its lists are
    signed with (None: Debian's). ``on_progress`` gets one line per step, from any thread. Raises KernlensError if the name
    is taken or not allowed, OutputError if the folder cannot be written, ToolError if a package cannot be downloaded or
    the result does not work.
    """
    _check_name(name)
    folder = toolchains_folder()
    with _output_errors(folder), _locked(folder, on_progress) as lock:
        # What interrupted commands left; this one holds the lock, so no other is at work.
        for path in folder.glob(f"{PARTIAL}*"):
            _delete(path)
        if os.path.lexists(folder / name):
            raise KernlensError(
                f"there is a toolchain {name} already; choose another name, or remove it first with"
                f" 'kernlens toolchain remove {name}'"
            )
        if root is not None:
            _link(folder / name, Path(root))
        else:
            _build(folder, name, mirror, keyring, lock, on_progress)
    return toolchain(name)


def remove(name: str) -> None:
    """Remove a registered toolchain: the link to a folder, or the folder that ``add`` built.

    Raises NotFoundError if it is not registered, KernlensError if something is mounted inside.
    """
    _check_name(name)
    folder = toolchains_folder()
    path = folder / name
    if not os.path.lexists(path):
        toolchain(name)  # Raises NotFoundError, unless the variable names the toolchain.
        raise NotFoundError(f"the toolchain {name} is named by KERNLENS_NEWEST_ROOT; unset that instead")
    with _output_errors(folder), _locked(folder, _silent):
        if path.is_symlink():
            path.unlink()
            return
        _refuse_mounts(path)
        # Under the hidden name it is no toolchain any more, even if the removal is interrupted.
        hidden = folder / f"{PARTIAL}{name}-removed-{os.getpid()}"
        path.rename(hidden)
        _delete(hidden)


def _check_name(name: str) -> None:
    if name == SYSTEM:
        raise KernlensError(f"the toolchain {SYSTEM} is the machine's own; it can be neither added nor removed here")
    if not NAME.fullmatch(name):
        raise KernlensError(
            f"{name!r} cannot name a toolchain: use letters, digits and . _ + -, at most 64, a letter or digit first"
        )


@contextlib.contextmanager
def _output_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        path = error.filename or folder
        raise OutputError(f"the toolchains' folder {folder} cannot be changed: {error.strerror} ({path})") from error


@contextlib.contextmanager
def _locked(folder: Path, on_progress: Progress) -> Iterator[int]:
    """Hold the folder's lock; gives the lock's file descriptor, which child processes inherit.

    A child that outlives its killed parent keeps the lock, so that nobody removes the folder that it writes into.
    """
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT
        waiting = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise KernlensError(
                        f"another 'kernlens toolchain' command is changing {folder}; try again when it has ended"
                    ) from None
                if not waiting:
                    on_progress("Waiting for another 'kernlens toolchain' command to end")
                waiting = True
                time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)


def _link(path: Path, root: Path) -> None:
    target = root.resolve()
    if not target.is_dir():
        raise NotFoundError(f"there is no folder {root} to register as a toolchain")
    compiles = programs(target, "ocloc") or amd_compiler(of_root(path.name, target)) is not None
    if not compiles and not libraries_of(target):
        raise KernlensError(
            f"{root} contains no ocloc below usr/bin, no clang with lld and device libraries for AMD's GPUs, and no libLLVM,"
            " so it is not the root of a toolchain"
        )
    if loader(target) is None:
        raise KernlensError(
            f"{root} contains no dynamic loader (ld-linux), so its programs cannot run; name a whole root"
        )
    path.symlink_to(target)


def _build(
    folder: Path, name: str, mirror: str | None, keyring: str | Path | None, lock: int, on_progress: Progress
) -> None:
    if platform.machine() != "x86_64":
        raise UnsupportedError(f"{NEWEST} is built for Linux on x86-64, and this is {platform.platform()}")
    address = mirror if mirror is not None else debian_mirror()
    keys = Path(keyring) if keyring is not None else debian_keyring()
    if not keys.is_file():
        raise NotFoundError(f"there is no file {keys} with the keys of the mirror")
    free = shutil.disk_usage(folder).free
    if free < SPACE_NEEDED:
        raise OutputError(f"{folder} has {free >> 20} MB free and {SPACE_NEEDED >> 20} MB are needed; make room")
    partial = folder / f"{PARTIAL}{name}-{os.getpid()}"
    partial.mkdir(mode=0o755)
    try:
        suite, packages = _download(name, address, keys, partial, lock, on_progress)
        root = partial / "root"
        _unpack(packages, root, lock, on_progress)
        _make_harmless(root)
        _check(root, suite)
        root.rename(folder / name)
        on_progress(f"Toolchain {name} is ready")
    finally:
        _delete(partial)


def _download(
    name: str, address: str, keys: Path, folder: Path, lock: int, on_progress: Progress
) -> tuple[str, list[Path]]:
    """Download the packages that a name stands for; return their release and their files."""
    decoder = _DECODER.fullmatch(name)
    if decoder is None:
        suite, names = _OF_NAMES.get(name, (SUITE, PACKAGES))
        return suite, download(names, suite, address, keys, folder / "packages", lock, on_progress)
    for suite in _OF_DECODERS:
        try:
            package = f"libllvm{decoder[1]}"
            return suite, download([package], suite, address, keys, folder / suite, lock, on_progress)
        except NotFoundError as error:
            on_progress(str(error))
    raise NotFoundError(f"no release of Debian has libllvm{decoder[1]}; asked were {', '.join(_OF_DECODERS)}")


def _unpack(packages: list[Path], root: Path, lock: int, on_progress: Progress) -> None:
    for link in MERGED:
        (root / "usr" / link).mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(f"usr/{link}")
    for number, package in enumerate(packages, start=1):
        on_progress(f"Unpacking {package.name.partition('_')[0]} ({number} of {len(packages)})")
        command = ["dpkg-deb", "--extract", str(package), str(root)]
        completed = run(command, timeout=UNPACK_TIMEOUT, keep_open=(lock,))
        if not completed.ok:
            raise ToolError(
                f"{package.name} could not be unpacked: dpkg-deb {completed.ending}; is there room left on the disk?",
                command=" ".join(command),
                log=completed.log,
            )
        package.unlink()


def _make_harmless(root: Path) -> None:
    """Remove setuid and setgid bits, and make all folders removable by their owner."""
    for path, folders, files in os.walk(root):
        for name in [*folders, *files]:
            entry = os.path.join(path, name)
            mode = os.lstat(entry).st_mode
            harmless = stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID)
            harmless |= stat.S_IRWXU if stat.S_ISDIR(mode) else 0
            if not stat.S_ISLNK(mode) and harmless != stat.S_IMODE(mode):
                os.chmod(entry, harmless)


def _check(root: Path, suite: str) -> None:
    unpacked = of_root(root.parent.name, root)
    answers = unpacked.neo_version is not None if unpacked.ocloc is not None else bool(amd_devices_of(unpacked))
    if not answers and not any(library.targets for library in libraries_of(root)):
        raise ToolError(f"the packages of Debian {suite} were unpacked, but their compiler does not answer")


def _delete(path: Path) -> None:
    """Remove a folder and everything in it, following neither links nor mounts."""
    _refuse_mounts(path)
    for left in reversed(range(DELETE_ATTEMPTS)):
        try:
            remove_folder(path)
            return
        except OSError as error:
            # A process that was killed finishes its current system call when it is next scheduled, which on a busy
            # machine is late: a file can still appear in a folder that has just been emptied, or vanish.
            if not left or error.errno not in (errno.ENOTEMPTY, errno.ENOENT):
                raise
        time.sleep(0.05)


def _refuse_mounts(path: Path) -> None:
    whole = os.path.realpath(path)
    for point in _mount_points():
        if point == whole or point.startswith(whole + os.sep):
            raise KernlensError(f"{point} is a mount point; unmount it first (umount {point}), nothing was removed")


def _mount_points() -> list[str]:
    """Return where file systems are mounted. Source: proc_pid_mountinfo(5), field 5, with octal escapes."""
    try:
        lines = Path("/proc/self/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    except FileNotFoundError:
        return []  # Not Linux: roots cannot be used there, and nothing is mounted into them.
    points = [line.split(" ")[4] for line in lines]
    for code, character in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        points = [point.replace(code, character) for point in points]
    return points
