"""``kernlens run``: an application on a simulated device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from kernlens.cli import option
from kernlens.cli.output import finish_output, print_message
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT, limit_file_size

if TYPE_CHECKING:
    pass


@option.verb("kernlens run --simulate dg2 -- clinfo -l", option.ApplicationCommand)
@option.device("Device to simulate (kernlens devices lists them).", "--simulate", required=True)
@option.toolchain("Toolchain whose driver simulates the device.")
@click.argument("command_line", metavar="-- APP [ARG]...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(device: str, toolchain: str, command_line: tuple[str, ...]) -> None:
    """Run an application on a simulated device: the real driver compiles its programs, and no kernel executes.

    It needs no GPU. The driver does not dump its command stream (.aub), and the application cannot write files larger
    than 1 GiB. The exit status is the application's.
    """
    from kernlens.isa.devices import name_among
    from kernlens.toolchain.loaders.application import find_application, is_static, lost_on_children, restore_signals
    from kernlens.toolchain.simulation import EXPLANATION, simulated_devices
    from kernlens.toolchain.toolchains import toolchain as find_toolchain
    from kernlens.verbs.capture.level_zero_layer import turn_on_level_zero

    chosen = find_toolchain(toolchain)
    device = name_among(device, simulated_devices(chosen)) or device
    application = find_application(command_line, device, chosen)
    turn_on_level_zero(application.environment, chosen)
    print_message(f"kernlens: {EXPLANATION}")
    if lost := lost_on_children(chosen):
        print_message(f"kernlens: {lost}")
    if is_static(application.program):
        print_message(
            f"kernlens: {application.program} is statically linked and loads no driver: it sees no simulated device"
        )
    finish_output()
    limit_file_size(FILE_SIZE_LIMIT)
    restore_signals()
    try:
        # This process becomes the application: its folder, its process number and how it ends are the caller's to see.
        os.execve(application.executable, list(application.words), application.environment)
    except OSError as error:
        raise application.not_started(error) from error
