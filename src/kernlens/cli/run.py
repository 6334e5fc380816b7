"""``kernlens run``: an application on a simulated device."""

from __future__ import annotations

import os

from kernlens.cli import option
from kernlens.cli.output import finish_output, print_message
from kernlens.dataclass import dataclass
from kernlens.runtime.file_limit import FILE_SIZE_LIMIT, limit_file_size


@dataclass(frozen=True)
class Asked:
    """The words of the command."""

    device: str = option.device("Device to simulate (kernlens devices lists them).", "--simulate", required=True)
    toolchain: str = option.toolchain("Toolchain whose driver simulates the device.")
    command_line: tuple[str, ...] = option.application(required=True)


@option.verb(Asked, "kernlens run --simulate dg2 -- clinfo -l", option.ApplicationCommand)
def command(asked: Asked) -> None:
    """Run an application on a simulated device: the real driver compiles its programs, and no kernel executes.

    It needs no GPU. The driver does not dump its command stream (.aub), and the application cannot write files larger
    than 1 GiB. The exit status is the application's.
    """
    from kernlens.isa.devices import name_among
    from kernlens.toolchain.loaders.application import find_application, is_static, lost_on_children, restore_signals
    from kernlens.toolchain.simulation import EXPLANATION, simulated_devices
    from kernlens.toolchain.toolchains import toolchain
    from kernlens.verbs.capture.level_zero_layer import turn_on_level_zero

    chosen = toolchain(asked.toolchain)
    device = name_among(asked.device, simulated_devices(chosen)) or asked.device
    application = find_application(asked.command_line, device, chosen)
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
