"""The offline linker on real zebins: loaded by the newest driver, and byte for byte against ``readelf``."""

from __future__ import annotations

import itertools
import struct
import subprocess
from pathlib import Path

import pytest

from kernlens.errors import LinkError, UnsupportedError
from kernlens.formats.zebin.locate import locate
from kernlens.formats.zebin.merge import link_zebins
from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.loading import open_file
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.clang import compile_library, device_options
from kernlens.toolchain.ocloc import compile_source
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, toolchain
from kernlens.verbs.link.spirv_link import link_spirv
from tests.corpus.oracles.readelf import ElfContents, elf_contents
from tests.integration.link.offline_link_fixtures import DEVICES, linked, spirv_files, zebins
from tests.writers.modules import readable_modules

__all__ = ["spirv_files", "zebins"]

BASES = (0, 0x10000, 0xFFFF_8000_1234_0000)


@pytest.mark.parametrize("device", DEVICES)
def test_the_driver_loads_the_linked_module(device: str, zebins: dict[str, dict[str, Path]]) -> None:
    """Nothing is unresolved, every kernel can be created, functions and variables are found, at any base address."""
    result = linked(zebins[device])
    assert result.imports == ()
    assert result.bound == {"helper": "library", "counter": "library", "middle": "between", "other": "library"}
    moved = locate(memoryview(result.content), BASES[2])
    with IsolatedDriver(simulated_driver(device, NEWEST)) as driver:
        for name, content in (("linked", result.content), ("moved", moved.content)):
            module = driver.load_native(name, content)
            assert module["has_imports"] is False
            assert module["log"] == ""
            assert sorted(module["kernel_names"]) == ["choose", "own", "print", "use", "use_too"]
            for kernel in module["kernel_names"]:
                assert driver.kernel(name, kernel).binary
            starts = {function: driver.function_pointer(name, function) for function in ("helper", "middle", "twice")}
            # All lie in one section, in the distances that the symbol table says.
            values = {
                symbol.name: symbol.value for symbol in read_zebin(memoryview(content)).symbols if symbol.name in starts
            }
            assert len({starts[start] - values[start] for start in starts}) == 1
            sizes = {"counter": 4, "table": 16, "zeros": 400, "pointers": 16, "odd": 3, "large": 24}
            assert {size: driver.global_pointer(name, size).size for size in sizes} == sizes
            variables = {symbol.name: symbol.value for symbol in read_zebin(memoryview(content)).symbols}
            # .data.global and what has no initial value are one piece of memory.
            distance = driver.global_pointer(name, "zeros").address - driver.global_pointer(name, "counter").address
            assert distance == variables["zeros"] - variables["counter"]
        # The merged file exports what its parts exported: others can link with it.
        driver.build_spirv("late", compile_importer())
        assert driver.dynamic_link(["late", "linked"]).linked


def compile_importer() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "late.cl")
        source.write_text(
            "int other(int a, int b);\nkernel void late(global int *out) { out[0] = other(out[1], 5); }\n"
        )
        return compile_library(source).spirv


@pytest.mark.parametrize("device", DEVICES)
def test_the_driver_does_not_load_it_with_an_import_left(device: str, zebins: dict[str, dict[str, Path]]) -> None:
    result = linked(zebins[device], "kernels", "library")
    assert result.imports == ("middle",)
    with IsolatedDriver(simulated_driver(device, NEWEST)) as driver:
        module = driver.load_native("linked", result.content)
        assert module["has_imports"] is True
        assert "unresolved external symbol middle" in module["log"]
        assert "helper" not in module["log"]
        driver.load_native("between", zebins[device]["between"].read_bytes())
        assert driver.dynamic_link(["linked", "between"]).linked


def test_an_address_in_an_initialiser_that_crashes_a_dynamic_link(
    zebins: dict[str, dict[str, Path]], tmp_path: Path
) -> None:
    """Merged here, the driver loads it: the place in data is then an ordinary one."""
    source = tmp_path / "pointer.cl"
    source.write_text(
        "extern global int counter;\nglobal int *global pointer = &counter;\n"
        "kernel void follow(global int *out) { out[0] = *pointer; }\n"
    )
    spirv = tmp_path / "pointer.spv"
    spirv.write_bytes(compile_library(source).spirv)
    compiled = compile_source(spirv, "bmg", device_options(""), toolchain(NEWEST))
    library = memoryview(zebins["bmg"]["library"].read_bytes())
    result = link_zebins([("pointer", memoryview(compiled.binary)), ("library", library)])
    assert result.imports == ()
    with IsolatedDriver(simulated_driver("bmg", NEWEST)) as driver:
        assert driver.load_native("linked", result.content)["has_imports"] is False
        assert driver.kernel("linked", "follow").binary


@pytest.mark.parametrize("device", DEVICES)
def test_what_was_in_the_parts_is_in_the_whole(device: str, zebins: dict[str, dict[str, Path]]) -> None:
    """Each symbol's bytes are those of its part but for what relocations name, and each relocation is still there."""
    whole = read_zebin(memoryview(linked(zebins[device]).content))
    for name, path in zebins[device].items():
        part = read_zebin(memoryview(path.read_bytes()))
        for kernel in part.kernels:
            assert bytes(next(kernel_ for kernel_ in whole.kernels if kernel_.name == kernel.name).heap) == bytes(
                kernel.heap
            )
        for symbol in part.symbols:
            if symbol.kind == "export" and symbol.type == "func":
                same = next(
                    symbol_ for symbol_ in whole.symbols if symbol_.name == symbol.name and symbol_.kind == "export"
                )
                assert contents(whole, same.section, same.value, same.size) == contents(
                    part, symbol.section, symbol.value, symbol.size
                ), f"{symbol.name} of {name}"
    parts = [
        relocation
        for path in zebins[device].values()
        for relocation in read_zebin(memoryview(path.read_bytes())).relocations
    ]
    assert len(whole.relocations) == sum(not part.section.startswith(".debug") for part in parts)


def contents(zebin: object, section: str | None, start: int, size: int) -> bytes:
    (result,) = (section_ for section_ in zebin.elf.sections if section_.name == section)  # type: ignore[attr-defined]
    return bytes(result.data[start : start + size])


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("device", DEVICES)
def test_filled_in_places_against_readelf(
    base: int, device: str, zebins: dict[str, dict[str, Path]], tmp_path: Path
) -> None:
    """What every place holds, worked out from what readelf prints of the merged file and from its bytes alone."""
    before, after = tmp_path / "merged", tmp_path / "located"
    merged = linked(zebins[device])
    before.write_bytes(merged.content)
    result = locate(memoryview(merged.content), base)
    after.write_bytes(result.content)
    addresses = {name: address for _, name, address, *_ in elf_contents(after).sections}
    assert addresses[".text.use"] == base
    expected = expected_places(elf_contents(before), merged.content, addresses)
    filled = {(site.section, site.offset): site.value for site in result.sites}
    assert filled == {place: value for place, (value, _) in expected.items()}
    assert sum(value is not None for value in filled.values()) > 30
    offsets = {name: offset for _, name, _, offset, *_ in elf_contents(after).sections}
    for (section, offset), (value, size) in expected.items():
        if value is not None:
            at = offsets[section] + offset
            assert int.from_bytes(result.content[at : at + size], "little") == value, f"{section} {offset:#x}"
    check_that_it_can_still_be_moved(elf_contents(after), result.content, merged.content)
    untouched = bytearray(result.content)
    original = bytearray(merged.content)
    old = {name: offset for _, name, _, offset, *_ in elf_contents(before).sections}
    lengths = {name: size for _, name, _, _, size, *_ in elf_contents(before).sections}
    for (section, offset), (_, size) in expected.items():
        untouched[offsets[section] + offset : offsets[section] + offset + size] = bytes(size)
        original[old[section] + offset : old[section] + offset + size] = bytes(size)
    for section in old:
        if section.startswith((".text.", ".data.")):
            start, length = offsets[section], lengths[section]
            assert untouched[start : start + length] == original[old[section] : old[section] + length], section


def check_that_it_can_still_be_moved(elf: ElfContents, content: bytes, merged: bytes) -> None:
    """A driver adds its own address to what data holds: with the addend, that is again what the merged file holds."""
    offsets = {name: offset for _, name, _, offset, *_ in elf.sections}
    old = {section.name: section.offset for section in read_zebin(memoryview(merged)).elf.sections}
    checked = 0
    for table, offset, kind, symbol_index, addend in elf.relocations:
        target = table.removeprefix(".rela")
        if target.startswith(".data") and elf.symbols[symbol_index][5] != "UND":
            assert kind == 1
            held = struct.unpack_from("<Q", content, offsets[target] + offset)[0]
            symbol = elf.symbols[symbol_index]
            names = {index: address for index, _, address, *_ in elf.sections}
            address = names[int(symbol[5])] + symbol[1]
            before = struct.unpack_from("<Q", merged, old[target] + offset)[0]
            assert (held + (addend or 0)) % (1 << 64) == before
            assert held == (before + address) % (1 << 64)
            checked += 1
    assert checked == 3


@pytest.mark.parametrize("device", DEVICES)
def test_variables_lie_apart_and_aligned(device: str, zebins: dict[str, dict[str, Path]]) -> None:
    """Those without initial value, too, which have no bytes in the file."""
    result = linked(zebins[device])
    whole = read_zebin(memoryview(result.content))
    sizes = {entry.name: entry.size for entry in whole.elf.sections}
    assert sizes[".bss.global"] >= 400 + 24
    lying: dict[str, list[tuple[int, int]]] = {}
    for each in whole.symbols:
        if each.type == "object" and each.binding == "global" and each.section is not None:
            lying.setdefault(each.section, []).append((each.value, each.value + each.size))
    assert len(lying[".data.global"]) == 7
    for section, ranges in lying.items():
        ranges.sort()
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(ranges)), section
        zero = {".data.global": ".bss.global", ".data.const": ".bss.const"}.get(section, "")
        assert ranges[-1][1] <= sizes[section] + sizes.get(zero, 0)
    names = {(module, name): new for (module, name), new in result.renamed.items()}
    new = {symbol.name: symbol for symbol in whole.symbols if symbol.type == "object"}
    for module, path in zebins[device].items():
        part = read_zebin(memoryview(path.read_bytes()))
        data = {section.name: section.size for section in part.elf.sections}
        for symbol in part.symbols:
            if symbol.type == "object" and symbol.binding == "global" and symbol.section is not None:
                same = new[names.get((module, symbol.name), symbol.name)]
                assert (same.value - symbol.value) % 128 == 0, f"{symbol.name} of {module}"
                # What has no initial value stays where there are no bytes.
                assert (symbol.value >= data[symbol.section]) == (same.value >= sizes[symbol.section])


def expected_places(
    elf: ElfContents, content: bytes, addresses: dict[str, int]
) -> dict[tuple[str, int], tuple[int | None, int]]:
    """(section, offset) -> (value, bytes): code is overwritten, data is added to; an undefined symbol has no value."""
    names = {index: name for index, name, *_ in elf.sections}
    offsets = {name: offset for _, name, _, offset, *_ in elf.sections}
    places: dict[tuple[str, int], tuple[int | None, int]] = {}
    for table, offset, kind, symbol_index, addend in elf.relocations:
        target = table.removeprefix(".rela").removeprefix(".rel")
        _, value, _, _, _, section, _ = elf.symbols[symbol_index]
        size = {1: 8, 2: 4, 3: 4}[kind]
        if section == "UND":
            places[target, offset] = None, size
            continue
        address = addresses[names[int(section)]] + value + (addend or 0)
        amount = address >> 32 if kind == 3 else address
        if target.startswith(".data"):
            amount += struct.unpack_from({8: "<Q", 4: "<I"}[size], content, offsets[target] + offset)[0]
        places[target, offset] = amount % (1 << 8 * size), size
    return places


@pytest.mark.parametrize("device", DEVICES)
def test_symbols_equal_readelf(device: str, zebins: dict[str, dict[str, Path]], tmp_path: Path) -> None:
    merged = tmp_path / "merged.bin"
    merged.write_bytes(linked(zebins[device]).content)
    for path in (*zebins[device].values(), merged):
        printed = elf_contents(path)
        own = read_zebin(memoryview(path.read_bytes()))
        assert [
            (symbol.index, symbol.value, symbol.size, symbol.type, symbol.binding, symbol.name)
            for symbol in own.elf.symbols()
        ] == [
            (index, value, size, kind, binding, name) for index, value, size, kind, binding, _, name in printed.symbols
        ]
        ((_, module),) = readable_modules(open_file(path))
        exported = {
            name
            for _, _, _, kind, binding, section, name in printed.symbols
            if binding == "global" and section != "UND" and kind in ("func", "object")
        }
        names = {name for *_, binding, section, name in printed.symbols if binding == "global" and section == "UND"}
        assert {export.name for export in module.exports} == exported
        assert {symbol.name for symbol in module.imports} | set(module.driver_symbols) == names


def test_symbols_equal_spirv_dis(spirv_files: dict[str, Path]) -> None:
    for path in spirv_files.values():
        command = ["spirv-dis", "--raw-id", "--no-indent", str(path)]
        text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
        linkages = {
            (line.split('"')[1], line.split()[-1]) for line in text.splitlines() if " LinkageAttributes " in line
        }
        kernels = {line.split('"')[1] for line in text.splitlines() if line.startswith("OpEntryPoint")}
        ((_, module),) = readable_modules(open_file(path), options="-library-compilation -ze-take-global-address")
        exports = {(export.name, "Export") for export in module.exports if not export.is_internal}
        imports = {(symbol.name, "Import") for symbol in module.imports}
        assert set(module.kernels) == kernels
        assert exports | imports == {
            linkage for linkage in linkages if linkage[0] not in kernels and "__spirv_" not in linkage[0]
        }


def test_private_names_do_not_collide(zebins: dict[str, dict[str, Path]]) -> None:
    """Both modules have a static variable and string constants of the same names."""
    result = linked(zebins["bmg"], "library", "between")
    assert {symbol for _, symbol in result.renamed} >= {"private_state"}
    names = [
        symbol.name
        for symbol in read_zebin(memoryview(result.content)).symbols
        if symbol.name and symbol.name != "_entry"
    ]
    assert len(names) == len(set(names))


def test_modules_that_cannot_be_merged(zebins: dict[str, dict[str, Path]], tmp_path: Path) -> None:
    with pytest.raises(LinkError, match="kernels of pvc is not for the same device"):
        link_zebins(
            [
                ("library of bmg", memoryview(zebins["bmg"]["library"].read_bytes())),
                ("kernels of pvc", memoryview(zebins["pvc"]["kernels"].read_bytes())),
            ]
        )
    library = memoryview(zebins["bmg"]["library"].read_bytes())
    with pytest.raises(LinkError, match="kernel own is defined in one and in two"):
        link_zebins([("one", library), ("two", library)])


def test_modules_of_two_compilers(
    spirv_files: dict[str, Path], zebins: dict[str, dict[str, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """22.43's own zebin (of a device that both know) is of another version of the format."""
    monkeypatch.setenv("IGC_EnableZEBinary", "1")
    older = compile_source(spirv_files["kernels"], "pvc", device_options(""), toolchain())
    assert older.ok, older.log
    programs = open_bytes_of(older.binary)
    with pytest.raises(LinkError, match=r"not for the same device and compiler|different versions"):
        link_zebins([("older", programs), ("newer", memoryview(zebins["pvc"]["library"].read_bytes()))])


def open_bytes_of(content: bytes) -> memoryview:
    from kernlens.loading.context import Context
    from kernlens.loading.open import open_bytes

    (program,) = open_bytes(memoryview(content), "older", Context()).programs
    assert program.format == "zebin"
    return program.binary


def test_spirv_of_different_versions_is_linked(spirv_files: dict[str, Path], tmp_path: Path) -> None:
    source = tmp_path / "simple.cl"
    source.write_text("int simple(int x) { return x + 1; }\n")
    modules = [(name, path.read_bytes()) for name, path in spirv_files.items()]
    simple = compile_library(source).spirv
    # Nothing in it needs more than the first version, which other translators would write.
    modules.append(("simple", simple[:4] + struct.pack("<I", 1 << 16) + simple[8:]))
    result = link_spirv(modules)
    assert result.raised == (("simple", "1.0", "1.4"),)
    output = tmp_path / "linked.spv"
    output.write_bytes(result.spirv)
    ((_, module),) = readable_modules(open_file(output), options="-library-compilation")
    assert module.imports == ()
    assert set(module.kernels) == {"use", "use_too", "own", "print", "choose"}
    assert {"helper", "middle", "twice", "simple"} <= {export.name for export in module.exports}
    with IsolatedDriver(simulated_driver("dg2")) as driver:
        assert driver.build_spirv("linked", result.spirv)["has_imports"] is False


def test_spirv_that_does_not_fit(spirv_files: dict[str, Path]) -> None:
    kernels, library = spirv_files["kernels"].read_bytes(), spirv_files["library"].read_bytes()
    with pytest.raises(LinkError, match="nobody exports"):
        link_spirv([("kernels", kernels)])
    assert link_spirv([("kernels", kernels)], partial=True).spirv
    with pytest.raises(LinkError, match="in several modules"):
        link_spirv([("one", library), ("two", library)])
    newer = library[:4] + struct.pack("<I", 1 << 16 | 9 << 8) + library[8:]
    with pytest.raises(UnsupportedError, match=r"newer is SPIR-V 1\.9.*--spirv-max-version"):
        link_spirv([("newer", newer), ("kernels", kernels)])
    with pytest.raises(LinkError, match="empty"):
        link_spirv([])


def test_the_linked_file_opens_like_any(zebins: dict[str, dict[str, Path]], tmp_path: Path) -> None:
    path = tmp_path / "linked.bin"
    path.write_bytes(linked(zebins["bmg"]).content)
    (program,) = open_file(path).programs
    assert program.device is not None
    assert program.device.name == "bmg"
    for kernel in program.kernels.values():
        assert len(kernel.instructions) > 5
    assert program.kernels["use"].resources.simd == 16
