"""Which parts the offline linker takes: merged files again, and no calls that would go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.analysis.linking.prediction import predict
from kernlens.errors import LinkError
from kernlens.formats.zebin.merge import LinkedZebin, link_zebins
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.loading import open_file
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.clang import device_options
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, toolchain
from kernlens.verbs.link.link_modules import link_offline
from tests.integration.link.offline_link_fixtures import DEVICES, linked, spirv_files, zebins
from tests.writers.modules import readable_modules

__all__ = ["spirv_files", "zebins"]


@pytest.mark.parametrize("device", DEVICES)
def test_functions_for_other_registers_are_not_merged(
    device: str, zebins: dict[str, dict[str, Path]], spirv_files: dict[str, Path], tmp_path: Path
) -> None:
    """The driver would link them without a word."""
    compiled = compile_source(
        spirv_files["library"], device, f"{device_options('')} -ze-opt-large-register-file", toolchain(NEWEST)
    )
    library = tmp_path / "library.bin"
    library.write_bytes(compiled.binary)
    modules = [module for path in (zebins[device]["kernels"], library) for module in readable_modules(open_file(path))]
    forecast = predict([module for _, module in modules])
    assert {
        (clash.symbol, clash.holder, clash.caller_frame.registers, clash.callee_frame.registers)
        for clash in forecast.clashes
    } == {
        ("helper", "use", 128, 256),
        ("helper", "use_too", 128, 256),
    }
    with pytest.raises(
        LinkError, match=r"use of .* \(128 registers, SIMD\d+\) calls helper of library.bin \(256 registers"
    ):
        link_offline(modules)
    same = [entry for name in ("kernels", "library") for entry in readable_modules(open_file(zebins[device][name]))]
    assert link_offline(same).bound["helper"] == "library.bmg.bin".replace("bmg", device)


@pytest.mark.parametrize("device", DEVICES)
def test_merged_files_can_be_merged_again(device: str, zebins: dict[str, dict[str, Path]]) -> None:
    """In any order and depth, though two of them have a static variable of one name, and merged files no SPIR-V."""

    def merged(*parts: tuple[str, bytes]) -> LinkedZebin:
        return link_zebins([(name, memoryview(content)) for name, content in parts])

    files = {name: path.read_bytes() for name, path in zebins[device].items()}
    left = merged(("kernels", files["kernels"]), ("library", files["library"]))
    right = merged(("between", files["between"]), ("taken", files["taken"]))
    whole = merged(("right", right.content), ("left", left.content))
    again = merged(("left", left.content), ("between", files["between"]))
    last = merged(("taken", files["taken"]), ("again", again.content))
    assert whole.imports == last.imports == ()
    at_once = linked(zebins[device])
    with IsolatedDriver(simulated_driver(device, NEWEST)) as driver:
        for name, content in (("whole", whole.content), ("last", last.content)):
            module = driver.load_native(name, content)
            assert module["has_imports"] is False
            assert sorted(module["kernel_names"]) == ["choose", "own", "print", "use", "use_too"]
            symbols = {symbol.name for symbol in read_zebin(memoryview(content)).symbols if symbol.kind == "export"}
            expected = {
                entry.name for entry in read_zebin(memoryview(at_once.content)).symbols if entry.kind == "export"
            }
            assert {symbol.partition(".")[0] for symbol in symbols} == {row.partition(".")[0] for row in expected}
            assert len(symbols) == len(expected)
            assert driver.global_pointer(name, "counter").size == 4
            assert driver.function_pointer(name, "helper")
