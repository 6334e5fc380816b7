"""Libraries that ``clLinkProgram -create-library`` made on Intel's drivers (``tests/data/opencl_libraries``): bitcode in a NEO
ELF's section of SPIR-V."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import FormatError, KernlensError, UnsupportedError
from kernlens.formats.llvm_bitcode import read_bitcode
from kernlens.formats.neo_elf import read_neo_elf
from kernlens.loading.open import load, open_file
from kernlens.loading.spirv_images import spirv_images
from kernlens.model.allowance import Allowance
from tests.unit.conftest import Kernlens

FOLDER = Path(__file__).parents[2] / "data" / "opencl_libraries"
LIBRARIES = pytest.mark.parametrize(
    ("release", "producer"), [("22.43", "LLVM14.0.6"), ("26.27", "LLVM16.0.6")], ids=["22.43", "26.27"]
)


@LIBRARIES
def test_what_a_library_offers(release: str, producer: str, kernlens: Kernlens) -> None:
    path = FOLDER / f"{release}.bin"
    (program,) = load(path)
    assert (program.format, program.format_version, len(program.spirv)) == ("llvm-bitcode", producer, 0)
    assert {symbol.name: symbol.kind for symbol in program.symbols if symbol.kind != "driver"} == {
        "twice": "export",
        "thrice": "export",
        "four": "export",
        "k": "kernel",
    }
    assert [container.kind for container in open_file(path).containers[0].children] == ["llvm-bitcode"]
    shown = kernlens("inspect", path)
    assert shown.status == 0
    assert "LLVM bitcode" in shown.out
    assert "SPIR-V" not in shown.out
    (module,) = kernlens("symbols", path, "--json").document["modules"]
    assert (module["kernels"], module["imports"]) == (["k"], [])


@LIBRARIES
@pytest.mark.parametrize("verb", ["annotate", "disasm", "report", "compile", "stages"])
def test_commands_call_it_what_it_is(
    release: str, producer: str, verb: str, kernlens: Kernlens, tmp_path: Path
) -> None:
    words = {"report": ["-o", tmp_path / "x.html"], "compile": ["--device", "dg2", "-o", tmp_path / "x.klens"]}
    refused = kernlens(verb, FOLDER / f"{release}.bin", *words.get(verb, ()))
    assert refused.status == 2
    assert "magic number" not in refused.err
    assert "not SPIR-V" not in refused.err
    assert verb == "stages" or "LLVM bitcode" in refused.err


def test_no_compiler_takes_it() -> None:
    with pytest.raises(UnsupportedError, match="clLinkProgram links it"):
        spirv_images(str(FOLDER / "26.27.bin"))


@LIBRARIES
def test_damaged_bitcode_is_refused(release: str, producer: str) -> None:
    part = read_neo_elf(memoryview((FOLDER / f"{release}.bin").read_bytes())).bitcode
    assert part is not None
    whole = bytes(part.data)
    for size in range(4, len(whole), 7):
        try:
            read_bitcode(memoryview(whole[:size]), Allowance(size))
        except KernlensError:
            continue
        assert not read_bitcode(memoryview(whole[:size]), Allowance(size)).symbols
    with pytest.raises(FormatError, match="does not begin with"):
        read_bitcode(memoryview(b"BC\xc0\xdd" + whole[4:]), Allowance(len(whole)))
