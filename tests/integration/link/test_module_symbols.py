"""The symbols of modules, against ``readelf`` and ``spirv-dis``."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kernlens.formats.zebin.zebin_file import read_zebin
from kernlens.loading import open_file
from tests.corpus.oracles.readelf import elf_contents
from tests.integration.link.module_fixtures import DEVICES, spirv_files, zebins
from tests.writers.modules import readable_modules

__all__ = ["spirv_files", "zebins"]


@pytest.mark.parametrize("device", DEVICES)
def test_symbols_equal_readelf(device: str, zebins: dict[str, dict[str, Path]]) -> None:
    for path in zebins[device].values():
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
