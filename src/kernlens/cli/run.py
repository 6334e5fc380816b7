"""``kernlens run``: an application on a simulated device."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
from pathlib import Path

import click

from kernlens.cli import completion
from kernlens.cli.options import toolchain_option, verb
from kernlens.cli.output import finish_output, print_message
from kernlens.errors import NotFoundError, ToolError, UnsupportedError


@verb("kernlens run --simulate dg2 -- clinfo -l")
@click.option(
    "--simulate",
    "device",
    metavar="D",
    shell_complete=completion.devices,
    required=True,
    help="The device to simulate (kernlens devices).",
)
@toolchain_option("Whose driver simulates it.")
@click.option(
    "--hang-timeout",
    "hang_timeout",
    metavar="SECONDS",
    type=click.FloatRange(0),
    default=30,
    show_default=True,
    help="Name a call into the driver that has not returned after this time; 0: none.",
)
@click.option("--kill-hanging", is_flag=True, help="Kill the process whose call has not returned.")
@click.argument("command_line", metavar="-- APP [ARG]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    device: str, toolchain: str, hang_timeout: float, kill_hanging: bool, command_line: tuple[str, ...]
) -> None:
    """Run an application on a simulated device: the real driver builds its programs, and nothing is computed.

    No GPU is needed. The driver writes no dump of its command stream (.aub), and the application may write no file of
    more than 1 GiB. The exit status is the application's. If a call into the driver does not return, standard error
    names the process, the thread and the function.
    """
    from kernlens.isa.devices import name_among
    from kernlens.runtime.file_limit import FILE_SIZE_LIMIT, limit_file_size
    from kernlens.toolchain.hangs.hang_watch import can_watch, watch_this_process
    from kernlens.toolchain.simulation import EXPLANATION, simulated_devices, simulated_environment
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    chosen = find_toolchain(toolchain)
    device = name_among(device, simulated_devices(chosen)) or device
    environment = _initial_environment() | chosen.environment() | simulated_environment(device, chosen)
    name, *arguments = command_line
    program = _find(name)
    if chosen.root is None:
        executable, whole = program, [name, *arguments]
    else:
        if not _is_elf(program):
            raise UnsupportedError(
                f"{program} is a script, which {chosen.name} cannot start; give its interpreter: python3 {program}"
            )
        whole = chosen.command(Path(program), *arguments, called=name)
        executable = whole[0]
    print_message(f"kernlens: {EXPLANATION}")
    finish_output()
    if hang_timeout and can_watch():
        watch_this_process(hang_timeout, _tell_hang, kill_hanging)
    # A driver that dumps its command stream after all must not fill the disk.
    limit_file_size(FILE_SIZE_LIMIT)
    _restore_signals()
    try:
        # This process becomes the application: its folder, its process number and how it ends are the caller's to see.
        os.execve(executable, whole, environment)
    except OSError as error:
        raise _cannot_start(program, error) from error


def _tell_hang(sentence: str) -> None:
    print_message(f"kernlens: {sentence}")
    finish_output()


def _find(name: str) -> str:
    """The path of the program that ``name`` means to a shell: a name with a slash is a path, others are in PATH."""
    program = shutil.which(name)
    if program is not None:
        return program
    if os.sep not in name:
        raise NotFoundError(f"there is no program {name}; give its path (./{name}), or install it")
    if not os.path.exists(name):
        raise NotFoundError(f"there is no program {name}; the current folder is {os.getcwd()}")
    if os.path.isdir(name):
        raise ToolError(f"cannot start {name}: it is a folder")
    raise ToolError(f"cannot start {name}: it is not executable; make it so (chmod +x {name}), or give its interpreter")


def _cannot_start(program: str, error: OSError) -> ToolError:
    if isinstance(error, FileNotFoundError):
        return ToolError(f"cannot start {program}: its interpreter or dynamic loader is not there; see file {program}")
    if error.errno == errno.ENOEXEC:
        return ToolError(
            f"cannot start {program}: it is no program of this machine, nor a script whose first line names its"
            f" interpreter (#!); give that: sh {program}"
        )
    return ToolError(f"cannot start {program}: {error.strerror}")


def _is_elf(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError as error:
        raise ToolError(f"cannot read {path}, as a toolchain's loader has to: {error.strerror}") from error


def _initial_environment() -> dict[str, str]:
    """Return the environment that this process was started with.

    In the C locale Python adds LC_CTYPE to it (PEP 538), which the application must not inherit. Linux keeps the
    initial environment: proc_pid_environ(5).
    """
    environment = dict(os.environ)
    if sys.platform == "linux" and not any(
        line.startswith(b"LC_CTYPE=") for line in Path("/proc/self/environ").read_bytes().split(b"\0")
    ):
        environment.pop("LC_CTYPE", None)
    return environment


def _restore_signals() -> None:
    """Python ignores these, and a process keeps ignoring what it ignored before exec: pipes would not end it."""
    for name in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
