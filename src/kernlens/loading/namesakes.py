"""Kernels of one name in the builds of a recording: libraries change the code of a program and build it again."""

from __future__ import annotations

from collections.abc import Iterator

from kernlens.dataclass import replace
from kernlens.errors import FormatError
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.isa.devices import stated_device
from kernlens.loading.context import Context
from kernlens.loading.identify import identify
from kernlens.loading.kept_debug import ZebinDebug
from kernlens.loading.zebin_code import ZebinCode
from kernlens.model.allowance import Allowance

#: The builds that are looked into, and those that hold the name; who changed a program built it shortly before.
_MOST_BUILDS, _MOST_WITH_NAME = 64, 8


def namesakes(context: Context, name: str) -> Iterator[ZebinCode]:
    """Yield the kernels of this name in the zebins of other builds for the context's device, the nearest builds first.
    Damaged ones have none."""
    build, recorded = context.build, context.recorded
    places = [at for at, each in enumerate(recorded) if each.device == build.device]
    own = next((at for at in places if recorded[at].name == build.name), 0)
    places.sort(key=lambda at: abs(at - own))
    with_name = 0
    for at in places[: _MOST_BUILDS + 1]:
        binary = memoryview(recorded[at].binary)
        if at == own or identify(binary) != "zebin" or name.encode() not in recorded[at].binary:
            continue
        if with_name == _MOST_WITH_NAME:
            return
        with_name += 1
        try:
            yield from _kernels(replace(context, build=recorded[at], allowance=Allowance(len(binary))), binary, name)
        except FormatError:
            continue


def _kernels(context: Context, binary: memoryview, name: str) -> Iterator[ZebinCode]:
    read = read_zebin(binary, context.allowance)
    device_id = read.notes.device_id
    debug = ZebinDebug(read, context.holding(spirv=read.spirv).build, context.allowance)
    for section in read.kernels:
        if section.name == name:
            yield ZebinCode(read, section, debug, stated_device(device_id, context.device), device_id)
