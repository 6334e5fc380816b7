"""The source lines that name a missing symbol: from SPIR-V, against spirv-dis; from binaries of both compilers."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernlens.loading.open import open_file
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.cli.test_cli import answer, kernlens
from tests.writers.modules import readable_modules

TEXT = """\
int helper(int x);
float smooth(float a);
static int inner(int x) { return helper(x) + 2; }
kernel void use(global int *out)
{
    out[get_global_id(0)] = helper(out[0]);
    out[1] = inner(out[3]);
    out[5] = helper(out[4]);
}
kernel void smoothing(global float *out)
{
    out[1] = smooth(out[3]);
    out[0] = 1;
}
float exported(float x)
{
    float y = x * 3;
    return smooth(y) * 2;
}
"""
#: The lines of the source that name each symbol in what runs in a kernel, or in the functions.
LINES = {
    ("helper", "use"): {3, 6, 8},
    ("smooth", "smoothing"): {12},
    ("smooth", "Intel_Symbol_Table_Void_Program"): {12, 18},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, newest_root: Path) -> Path:
    """places.cl as SPIR-V, by Debian 12's compiler for dg2 and by the newest one for bmg."""
    result = tmp_path_factory.mktemp("places")
    (result / "places.cl").write_text(TEXT)
    for device, toolchain in (("dg2", SYSTEM), ("bmg", NEWEST)):
        done = kernlens("compile", "--library", "--device", device, "--toolchain", toolchain, "places.cl", cwd=result)
        assert done.returncode == 0, done.stderr
    return result


def test_places_in_spirv_are_those_of_the_disassembler(folder: Path) -> None:
    assert shutil.which("spirv-dis"), "install spirv-tools"
    text = subprocess.run(["spirv-dis", folder / "places.spv"], check=True, capture_output=True, text=True).stdout
    expected = set()
    function, line = "", 0
    for row in text.splitlines():
        if match := re.search(r"%(\w+) = OpFunction ", row):
            function = match[1]
        elif match := re.search(r"OpLine %\w+ (\d+)", row):
            line = int(match[1])
        elif match := re.search(r"OpFunctionCall %\w+ %(helper|smooth) ", row):
            expected.add((function, match[1], line))
    assert len(expected) == 5
    ((_, module),) = readable_modules(open_file(str(folder / "places.spv")), options="-library-compilation")
    places = {(use.holder, use.symbol, place.line) for use in module.uses for place in module.find_places(use)}
    assert places == expected
    shown = kernlens("link", folder / "places.spv", "--build-options", "-library-compilation").stdout
    for words in (r"use \(\S*places.cl:6, 8\)", r"inner \(\S*places.cl:3\)"):
        assert re.search(rf"helper: places.spv needs it in .*{words}", shown)
    listed = answer("symbols", folder / "places.spv", "--build-options", "-library-compilation")
    assert re.search(r"exported +smooth +\S*places.cl:18\n", listed)


@pytest.mark.parametrize("device", ["dg2", "bmg"])
def test_places_in_binaries_are_where_the_source_names_the_symbol(device: str, folder: Path) -> None:
    """The line table alone names the closing brace for some: the compilers load addresses early."""
    path = folder / f"places.{device}.bin"
    document = json.loads(kernlens("link", path, "--json").stdout)
    uses = [(reason["symbol"], use) for reason in document["unresolved"] for use in reason["uses"]]
    assert {(symbol, use["holder"]) for symbol, use in uses} == set(LINES)
    for symbol, use in uses:
        lines = [place["line"] for place in use["places"]]
        assert lines, (symbol, use)
        assert set(lines) <= LINES[symbol, use["holder"]]
        assert (use["line"], use["path"] is None) == ((lines[0], False) if len(lines) == 1 else (None, True))
        if use["holder"] == "smoothing":
            assert use["line"] == 12
    assert re.search(r"smoothing at 0x\w+, 0x\w+ \(places.cl:12\)", kernlens("link", path).stdout)
    listed = json.loads(answer("symbols", "--json", path))["modules"][0]["uses"]
    assert sorted(listed, key=repr) == sorted(({"symbol": symbol, **use} for symbol, use in uses), key=repr)
    assert re.search(r"smoothing +0x\w+ .* smooth +import .* places.cl:12\n", answer("symbols", path))


def test_a_binary_without_spirv_has_the_places_of_its_line_table(folder: Path, tmp_path: Path) -> None:
    content = (folder / "places.bmg.bin").read_bytes()
    # The type of the section that holds the SPIR-V (SHT_ZEBIN_SPIRV) becomes SHT_PROGBITS.
    assert content.count(b"\x09\0\0\xff") == 1
    (tmp_path / "bare.bin").write_bytes(content.replace(b"\x09\0\0\xff", b"\x01\0\0\0"))
    (program,) = open_file(str(tmp_path / "bare.bin")).programs
    assert program.spirv_module is None
    document = json.loads(kernlens("link", tmp_path / "bare.bin", "--json").stdout)
    for use in (use for reason in document["unresolved"] for use in reason["uses"]):
        source_map = program.kernels[use["holder"]].source_map
        assert source_map is not None
        last = max(offset for offset in source_map.offsets if offset <= use["offset"])
        place = source_map.place_at(last)
        assert (use["path"], use["line"]) == ((place.path, place.line) if place else (None, None))


def test_nothing_is_read_of_modules_that_link(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line tables and the instructions are read only where something is to be said."""
    from kernlens.analysis.linking.prediction import predict
    from kernlens.loading import import_places
    from kernlens.report.link.link_answer import link_document, link_text

    def refuse(*_: object) -> None:
        raise AssertionError("a place was asked for")

    (folder / "rest.cl").write_text("int helper(int x) { return x; }\nfloat smooth(float a) { return a; }\n")
    done = kernlens("compile", "--library", "--device", "bmg", "--toolchain", NEWEST, "rest.cl", cwd=folder)
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr(import_places, "_SpirvPlaces", refuse)
    monkeypatch.setattr("kernlens.model.kernel.Kernel.source_map", property(refuse))
    for names in (("places.bmg.bin", "rest.bmg.bin"), ("places.spv", "rest.spv")):
        modules = [
            module
            for name in names
            for _, module in readable_modules(open_file(str(folder / name)), options="-library-compilation")
        ]
        forecast = predict(modules)
        assert forecast.links
        assert list(link_text(forecast, (), None))
        assert link_document(forecast, (), None)["unresolved"] == []
