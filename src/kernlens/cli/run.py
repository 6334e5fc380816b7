"""``kernlens run``: an application on a simulated device."""

from __future__ import annotations

import os

import click

from kernlens.cli.options import device_option, hang_options, toolchain_option, verb
from kernlens.cli.output import finish_output, print_message
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT, limit_file_size


@verb("kernlens run --simulate dg2 -- clinfo -l")
@device_option("The device to simulate (kernlens devices).", "--simulate", required=True)
@toolchain_option("Whose driver simulates it.")
@hang_options()
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
    from kernlens.toolchain.application import find_application, restore_signals
    from kernlens.toolchain.simulation import EXPLANATION, simulated_devices
    from kernlens.toolchain.toolchains import toolchain as find_toolchain

    chosen = find_toolchain(toolchain)
    device = name_among(device, simulated_devices(chosen)) or device
    application = find_application(command_line, device, chosen)
    print_message(f"kernlens: {EXPLANATION}")
    finish_output()
    watch_simulation(hang_timeout, kill_hanging)
    restore_signals()
    try:
        # This process becomes the application: its folder, its process number and how it ends are the caller's to see.
        os.execve(application.executable, list(application.words), application.environment)
    except OSError as error:
        raise application.not_started(error) from error


def watch_simulation(hang_timeout: float, kill_hanging: bool) -> None:
    """Have the simulated driver's calls watched in this process, whatever program it becomes, and keep it from filling a
    disk: a driver that dumps its command stream after all could."""
    from kernlens.toolchain.hangs.hang_watch import can_watch, watch_this_process

    if hang_timeout and can_watch():
        watch_this_process(hang_timeout, _tell_hang, kill_hanging)
    limit_file_size(FILE_SIZE_LIMIT)


def _tell_hang(sentence: str) -> None:
    print_message(f"kernlens: {sentence}")
    finish_output()
