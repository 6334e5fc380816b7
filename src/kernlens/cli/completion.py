"""The words that a shell offers: names of devices, toolchains, kernels and stages. click calls it with each word begun."""

from __future__ import annotations

from collections.abc import Iterable

import click

from kernlens.errors import KernlensError


def devices(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the devices that continue the last name of a list with commas; ``all`` where that stands for them."""
    from kernlens.isa.devices import DEVICES

    takes_all = "--device" in parameter.opts
    return _continued([*(["all"] if takes_all else []), *(device.name for device in DEVICES)], begun)


def toolchains(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the toolchains that continue the last name of a list with commas."""
    from kernlens.toolchain.toolchains import find_toolchains

    return _continued((toolchain.name for toolchain in find_toolchains()), begun)


def kernels(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the kernels of the file that stands before on the command line; none if it cannot be read."""
    from kernlens.loading import open_file

    # click gives up sorting the words where one lacks its value, as --kernel does now: then they are all in ``args``.
    several = context.params.get("sources") or context.params.get("paths") or ()
    path = context.params.get("path") or next(iter([*several, *context.args]), None)
    if path is None:
        return []
    try:
        programs = open_file(path).programs
        names = {name for program in programs for name in program.kernels}
        modules = (program.symbols for program in programs if program.format == "spirv")
        names |= {symbol.name for symbols in modules for symbol in symbols if symbol.kind == "kernel"}
    except KernlensError:
        return []  # Whoever runs the command will be told why.
    return sorted(name for name in names if name.startswith(begun))


def figures(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the names of figures."""
    from kernlens.model.figures import EVERY_FIGURE

    return [name for figure in EVERY_FIGURE for name in figure.names if name.startswith(begun)]


def recorded_kinds(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return what programs in recordings may hold, to continue the last word of a list with commas."""
    from kernlens.recording.inventory import KINDS

    return _continued(KINDS, begun)


def stages(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Return the stages of the compilers for the device that was named, or of all compilers."""
    from kernlens.model.stages import COMPILERS

    device = context.params.get("device")
    own = [compiler for compiler in COMPILERS if device and compiler.device == device]
    for_gpus = [compiler for compiler in COMPILERS if not compiler.device]
    compilers = own or (for_gpus if device else COMPILERS)
    names = dict.fromkeys(stage.name for compiler in compilers for stage in compiler.stages)
    return [name for name in names if name.startswith(begun)]


def _continued(names: Iterable[str], begun: str) -> list[str]:
    before, comma, last = begun.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]
