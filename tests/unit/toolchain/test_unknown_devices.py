"""A device that the chosen compiler does not know: the next step is one that gets a compiler for it, or its right name."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import NotFoundError
from kernlens.toolchain import ocloc
from kernlens.toolchain.toolchains import Toolchain

DEBIAN_12 = ("skl", "icllp", "tgllp", "dg1", "xe-hp-sdv", "dg2", "pvc")
NEWEST = ("tgllp", "dg1", "dg2", "pvc", "mtl", "bmg", "lnl")


@pytest.mark.parametrize(
    ("chosen", "others", "device", "advice"),
    [
        ("system", {}, "bmg", ", which is newer; kernlens toolchain add newest gets a toolchain for it, then"),
        ("system", {"newest": NEWEST}, "bmg", ", but newest does: add --toolchain newest"),
        ("system", {"newest": NEWEST}, "b580", ", but newest does: add --toolchain newest"),
        ("system", {"newest": NEWEST}, "battlemage", ", but newest does: add --toolchain newest"),
        ("system", {"newest": NEWEST}, "lunarlake", ", but newest does: add --toolchain newest"),
        ("system", {"newest": NEWEST}, "20.1.0", ", but newest does: add --toolchain newest"),
        ("system", {"newest": NEWEST}, "0xe20b", ", but newest does: add --toolchain newest"),
        ("system", {}, "0xe20b", ", which is newer; kernlens toolchain add newest gets a toolchain for it, then"),
        ("newest", {"system": DEBIAN_12}, "skl", ", but system does: add --toolchain system"),
        ("newest", {}, "skl", "; Debian 12's compiler still has it: kernlens toolchain add NAME --root DIR"),
        ("newest", {}, "xe-hp-sdv", "; Debian 12's compiler still has it"),
        ("newest", {}, "cri", ", which is newer; kernlens toolchain remove newest, then kernlens toolchain add newest"),
        ("system", {"newest": NEWEST}, "cri", ", which is newer; kernlens toolchain remove newest, then"),
        ("newest", {}, "pocl", "; kernlens stages compiles for it"),
        ("newest", {}, "dg3", "; did you mean dg2, dg1?"),
        ("newest", {}, "nvidia", "; kernlens devices lists the devices that there are"),
    ],
)
def test_what_gets_a_compiler_for_it(
    chosen: str, others: dict[str, tuple[str, ...]], device: str, advice: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = {chosen: NEWEST if chosen == "newest" else DEBIAN_12, **others}
    toolchains = {name: Toolchain(name, Path(name), Path("ocloc"), "26.27.1", "2.40") for name in devices}
    monkeypatch.setattr(ocloc, "devices_of", lambda toolchain: devices[toolchain.name])
    monkeypatch.setattr(ocloc, "find_toolchains", lambda: tuple(toolchains.values()))
    with pytest.raises(NotFoundError) as caught:
        ocloc.check_device(device, toolchains[chosen])
    sentence = f"the toolchain {chosen} (NEO 26.27.1 / IGC 2.40) knows no device {device!r}"
    assert str(caught.value).startswith(sentence + advice)
