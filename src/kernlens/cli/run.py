"""``kernlens run``: an application on a simulated device."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from kernlens.cli.options import verb
from kernlens.errors import NotFoundError, ToolError, UnsupportedError


@verb("kernlens run --simulate dg2 -- clinfo -l")
@click.option("--simulate", "device", metavar="D", required=True, help="The device to simulate (kernlens devices).")
@click.option("--toolchain", metavar="T", default="system", show_default=True, help="Whose driver simulates it.")
@click.argument("command_line", metavar="-- APP [ARG]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(device: str, toolchain: str, command_line: tuple[str, ...]) -> None:
    """Run an application on a simulated device: the real driver builds its programs, and nothing is computed.

    No GPU is needed. The driver writes no dump of its command stream (.aub), and the application may write no file of
    more than 1 GiB. The exit status is the application's.
    """
    from kernlens.toolchain.simulation import EXPLANATION, FILE_SIZE_LIMIT, simulated_environment
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    chosen = find_toolchain(toolchain)
    environment = os.environ | chosen.environment() | simulated_environment(device, chosen)
    program = shutil.which(command_line[0])
    if program is None:
        raise NotFoundError(f"there is no program {command_line[0]}; give its path, or install it")
    if chosen.root is not None and not _is_elf(program):
        raise UnsupportedError(
            f"{program} is a script, which {chosen.name} cannot start; give its interpreter: python3 {program}"
        )
    _limit_file_size(FILE_SIZE_LIMIT)
    click.echo(f"kernlens: {EXPLANATION}", err=True)
    whole = chosen.command(Path(program), *command_line[1:])
    sys.stdout.flush()
    try:
        os.execvpe(whole[0], whole, environment)
    except OSError as error:
        raise ToolError(f"cannot start {program}: {error.strerror}") from error


def _is_elf(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def _limit_file_size(limit: int) -> None:
    """A driver that dumps its command stream after all must not fill the disk."""
    if sys.platform == "win32":
        return
    import resource

    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
