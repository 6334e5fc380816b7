"""An application, and what to start it with so that it finds what it would find without kernlens."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import NotFoundError, ToolError, UnsupportedError, telling_line
from kernlens.model.build import SOURCE_SUFFIX
from kernlens.model.containers import CONTAINERS
from kernlens.toolchain.loaders.vendor_file import behind_layer
from kernlens.toolchain.process import run
from kernlens.toolchain.simulation import simulated_environment
from kernlens.toolchain.toolchains import SYSTEM, Toolchain, programs

#: Bytes of a program that hold its program headers.
_HEADERS = 4096
#: What loads a library with this machine's dynamic loader, and the seconds that it may take.
_LOAD, _LOAD_TIMEOUT = "import ctypes, sys; ctypes.CDLL(sys.argv[1])", 30.0

#: How the names of files end that people name in place of an application.
_NO_PROGRAMS = (SOURCE_SUFFIX, *(CONTAINERS[name].suffix for name in ("recording", "spirv")))


@dataclass(frozen=True, slots=True)
class Application:
    """The arguments of execve(): the executable, the words from its name on, and the environment. ``program`` is the
    file that the user named; a toolchain with a root of its own starts it through its dynamic loader."""

    program: str
    executable: str
    words: tuple[str, ...]
    environment: dict[str, str]

    def not_started(self, error: OSError) -> ToolError:
        """Return the error for an execve() that failed."""
        if isinstance(error, FileNotFoundError):
            reason = f"its interpreter or dynamic loader is not there; see file {self.program}"
        elif error.errno == errno.ENOEXEC:
            reason = (
                "it is no program of this machine, nor a script whose first line names its interpreter (#!); give that:"
                f" sh {self.program}"
            )
        else:
            reason = str(error.strerror)
        return ToolError(f"cannot start {self.program}: {reason}")


def find_application(command_line: Sequence[str], device: str | None, chosen: Toolchain) -> Application:
    """Return the application that the words name, for the toolchain's driver; ``device`` is what that simulates, if
    any. Raises NotFoundError or ToolError if there is no such program, NotFoundError if the driver does not simulate
    the device, UnsupportedError for a script under a toolchain that has to start it through its own dynamic loader."""
    environment = environment_for(device, chosen)
    name, *arguments = command_line
    program = find_program(name, chosen.root)
    if chosen.root is None:
        return Application(program, program, (name, *arguments), environment)
    if not _is_elf(program):
        raise UnsupportedError(
            f"{program} is a script, which {chosen.name} cannot start; give its interpreter: python3 {program}"
        )
    whole = chosen.command(Path(program), *arguments, called=name)
    return Application(program, whole[0], tuple(whole), environment)


def find_program(name: str, root: Path | None = None) -> str:
    """Return the path of the program that ``name`` means to a shell: a name with a slash is a path, others are in PATH.

    Raises NotFoundError if there is none, which names a toolchain's program of that name if ``root`` has one.
    """
    program = shutil.which(name)
    if program is not None:
        return program
    if os.path.isdir(name):
        raise ToolError(f"cannot start {name}: it is a folder; name a program in it")
    if os.path.isfile(name) and name.endswith(_NO_PROGRAMS):
        raise ToolError(f"cannot start {name}, which is not a program; name the application that builds it")
    if not os.path.exists(name) or (os.sep not in name and os.access(name, os.X_OK)):
        where = (
            f"give its path (./{name}), or install it" if os.sep not in name else f"the current folder is {os.getcwd()}"
        )
        inside = programs(root, name) if root is not None and os.sep not in name else []
        raise NotFoundError(f"there is no program {name}; {f'the toolchain has {inside[0]}' if inside else where}")
    raise ToolError(f"cannot start {name}: it is not executable; run chmod +x {name}, or put its interpreter first")


def _is_elf(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError as error:
        raise ToolError(f"cannot read {path}, as a toolchain's loader has to: {error.strerror}") from error


def is_static(program: str) -> bool:
    """Return whether a program starts without the dynamic loader: an ELF file without an interpreter (PT_INTERP)."""
    from kernlens.formats import host_object

    with open(program, "rb") as file:
        return host_object.is_static(file.read(_HEADERS))


def environment_for(device: str | None, chosen: Toolchain) -> dict[str, str]:
    """Return an application's environment for the toolchain's driver; ``device`` is what that simulates, if any. Raises
    NotFoundError if the driver does not simulate it."""
    environment = initial_environment()
    if device is not None or chosen.name != SYSTEM:
        environment |= behind_layer(environment, chosen.environment())
    if device is not None:
        environment |= simulated_environment(device, chosen)
    return environment


def lost_on_children(chosen: Toolchain) -> str:
    """Return a sentence for a toolchain whose OpenCL driver cannot be loaded by the processes that an application starts:
    they get this machine's dynamic loader and C library again. Empty if they can load it."""
    driver = chosen.environment().get("OCL_ICD_VENDORS")
    if driver is None:
        return ""
    loaded = run([sys.executable, "-S", "-c", _LOAD, driver], timeout=_LOAD_TIMEOUT)
    if loaded.ok:
        return ""
    reason = telling_line(loaded.stderr).removeprefix("OSError: ").partition(" (required by")[0]
    return (
        f"processes that the application starts get this system's C library, which cannot load the OpenCL driver of"
        f" {chosen.name} ({reason or loaded.ending}), so they see no OpenCL platform; give the program that uses OpenCL"
        " itself as the application, without a script or launcher"
    )


def initial_environment() -> dict[str, str]:
    """Return the environment that this process was started with. In the C locale Python adds LC_CTYPE to it (PEP 538),
    which the application must not inherit. Linux keeps the initial environment: proc_pid_environ(5)."""
    environment = dict(os.environ)
    if not any(line.startswith(b"LC_CTYPE=") for line in Path("/proc/self/environ").read_bytes().split(b"\0")):
        environment.pop("LC_CTYPE", None)
    return environment


def restore_signals() -> None:
    """Restore what Python ignores: a process keeps ignoring what it ignored before exec, and pipes would not end it."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
