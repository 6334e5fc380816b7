"""Every example runs on a simulated device, and what one writes the next one reads."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.toolchain.toolchains import NEWEST
from tests.tree import ROOT

EXAMPLES = ROOT / "examples"
SIMULATED = ("--simulate", "dg2")


def run(folder: Path, name: str, *arguments: str) -> str:
    """What an example prints; it must end with status 0."""
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_tested() -> None:
    tested = set(re.findall(r'run\(\w+, "(\w+)"', Path(__file__).read_text()))
    assert tested == {path.stem for path in EXAMPLES.glob("*.py")} - {"setting"}


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "setting"))
def test_every_example_runs_without_arguments(tmp_path: Path, name: str) -> None:
    """This machine has no GPU, and the folder no file."""
    assert len(run(tmp_path, name).splitlines()) >= 1


def test_the_source_example_marks_lines_with_code(tmp_path: Path) -> None:
    lines = run(tmp_path, "opencl_source", *SIMULATED).splitlines()
    text = (EXAMPLES / "scale.cl").read_text().splitlines()
    assert [line[8:] for line in lines] == text
    marked = [line[8:] for line in lines if line.startswith(">")]
    assert "    values[i] = curve(value, gamma);" in marked
    assert "    values[get_global_id(0)] = 0.0f;" not in marked


def test_binaries_parsing_and_instructions(tmp_path: Path) -> None:
    run(tmp_path, "opencl_binaries", *SIMULATED, "--output", "p")
    raw = (tmp_path / "p.scale.raw").read_bytes()
    program = tmp_path / "p.0.bin"
    assert raw in program.read_bytes()

    printed = run(tmp_path, "parse_binary", str(program), "--output", "scale.code")
    assert "for dg2, with the kernels scale, clear" in printed
    code = (tmp_path / "scale.code").read_bytes()
    assert raw.startswith(code)
    assert set(raw[len(code) :]) <= {0}

    from_file = run(tmp_path, "disassemble", str(program))
    assert from_file.startswith("0x0000  ")
    assert "end of thread" in from_file or "EOT" in from_file
    live = run(tmp_path, "disassemble", str(EXAMPLES / "scale.cl"), *SIMULATED)
    assert live == from_file


def test_the_symbols_example_tells_debug_data(tmp_path: Path) -> None:
    printed = run(tmp_path, "opencl_symbols", *SIMULATED, "--output", "p").splitlines()
    assert re.fullmatch(r"built with -gline-tables-only: \d+ bytes of debug data for .*", printed[0])
    assert "no debug data" in printed[1]
    assert "-gline-tables-only or -g" in printed[1]
    rows = run(tmp_path, "parse_symbols", str(tmp_path / "p.0.dbg")).splitlines()
    assert any(row.split(":")[1] == "12" for row in rows)


def test_the_listing_example_has_instructions_below_a_line(tmp_path: Path) -> None:
    printed = run(tmp_path, "correlated_listing", *SIMULATED)
    block = printed.split("values[i] = curve(value, gamma);")[1].split("}\n")[0]
    assert "send" in block


@pytest.mark.parametrize(
    ("arguments", "origin"),
    [
        (SIMULATED, "zeModuleGetNativeBinary"),
        (("--simulate", "bmg", "--toolchain", NEWEST), "zeIntelKernelGetBinaryExp"),
    ],
)
def test_level_zero(tmp_path: Path, arguments: tuple[str, ...], origin: str, request: pytest.FixtureRequest) -> None:
    if NEWEST in arguments:
        request.getfixturevalue("newest_root")
    printed = run(tmp_path, "level_zero_kernel_binary", *arguments)
    match = re.fullmatch(rf"scale: (\d+) bytes from {origin}, (\d+) without padding\n", printed)
    assert match, printed
    assert len((tmp_path / "scale.raw").read_bytes()) == int(match[1]) > int(match[2]) > 0


def test_level_zero_link(tmp_path: Path) -> None:
    printed = run(tmp_path, "level_zero_link", *SIMULATED)
    failed, linked = printed.split("exporter built with -library-compilation: ")
    assert "ZE_RESULT_ERROR_MODULE_LINK_FAILURE\n    helper of importer is provided by nobody" in failed
    assert linked.startswith("ZE_RESULT_SUCCESS\n    helper of importer is provided by exporter\n")


def test_the_application_prints_what_its_kernel_computed(tmp_path: Path) -> None:
    assert run(tmp_path, "opencl_launch") == "0.0 0.5 1.0 1.5\n"
