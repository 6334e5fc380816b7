"""The package as others see it: its public names, its types, and what importing it costs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest

import kernlens
from tests.tree import ROOT
from tests.writers.dwarf import UnitWriter, debug_zebin, encode, line_unit_4

#: Modules that only some commands need.
HEAVY = ("click", "rich", "ctypes", "sqlite3", "subprocess", "ryml", "elftools", "zstandard", "json", "asyncio")


def modules_after(code: str) -> set[str]:
    script = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_import_pulls_in_nothing_heavy() -> None:
    modules = modules_after("import kernlens")
    assert "kernlens" in modules
    assert not modules & set(HEAVY)


#: What ``kernlens --version`` loads of the package: a module that takes longer to import than a sentence to print has no
#: business there.
FOR_VERSION = {
    *(
        ".cli",
        ".cli.main",
        ".cli.output",
        ".cli.signals",
        ".cli.terminal",
        ".errors",
        ".log",
        ".report",
        ".report.style",
    ),
}
#: What ``kernlens inspect`` loads for a zebin: what it is asked, and neither line programs nor instructions.
FOR_INSPECT = FOR_VERSION | {
    *(
        ".analysis",
        ".analysis.cxx_names",
        ".analysis.kernel_names",
        ".cli.inspect",
        ".cli.option_rules",
        ".cli.option",
        ".cli.verb_group",
        ".dataclass",
        ".isa",
        ".isa.cores",
        ".isa.devices",
        ".isa.intel",
        ".isa.intel.device_table",
        ".isa.intel.raw_code",
    ),
    *(".formats", ".formats.dwarf", ".formats.dwarf.forms", ".formats.dwarf.line_tables", ".formats.dwarf.relocation"),
    *(".formats.dwarf.strings", ".formats.dwarf.unit_owners", ".formats.dwarf.units"),
    *(".formats.elf", ".formats.elf.elf_file", ".formats.elf.header"),
    *(".formats.elf.string_table", ".formats.elf.elf64_structures", ".formats.spirv", ".formats.spirv.magic"),
    *(".formats.zebin", ".formats.zebin.notes", ".formats.zebin.ze_info", ".formats.zebin.ze_info_text"),
    *(
        ".formats.zebin.zebin_file",
        ".loading",
        ".loading.analysed_code",
        ".loading.binary_programs",
        ".loading.context",
    ),
    *(
        ".loading.growing",
        ".loading.identify",
        ".loading.kept_debug",
        ".loading.kernel_parts",
        ".loading.lane_codes",
        ".loading.open",
        ".loading.program_kernels",
        ".loading.unpack",
        ".loading.zebin_code",
        ".model",
        ".model.failed_builds",
        ".report.failure_lines",
        ".verbs.absent",
        ".model.binary",
        ".model.containers",
        ".model.device_time",
        ".model.figure",
        ".model.occupancy",
        ".model.kernel_launches",
        ".model.kernel_resources",
        ".model.run_figures",
        ".model.trip_figures",
        ".model.allowance",
    ),
    *(
        ".model.build",
        ".model.columns",
        ".model.compiler",
        ".model.compiler_options",
        ".model.device",
        ".model.figures",
        ".model.hash_trailer",
        ".model.intel_symbols",
        ".model.kernel",
    ),
    *(
        ".model.program",
        ".report.describe",
        ".cli.answers",
        ".cli.answers.overview",
        ".report.table",
        ".report.width",
        ".toolchain",
    ),
    *(".toolchain.sources", ".toolchain.sources.source_reading", ".verbs", ".verbs.any_path", ".verbs.programs"),
    *(".cli.declared", ".cli.sources"),
    # Work-groups of all kernels, and figures that are counted.
    *(".isa.intel.launch_rules", ".model.launch_limits", ".report.launch_words"),
    *(".model.analysed_figures", ".model.stated_figures", ".model.vendor_figures"),
    # Line tables are held against the code, which is decoded for it.
    *(".analysis.changed_code", ".formats.dwarf.frame_ends", ".formats.dwarf.line_header"),
    *(".formats.dwarf.line_program", ".isa.intel.decode", ".isa.intel.iga_library", ".loading.absent_lines"),
    *(".loading.decoded_kernels", ".model.effects", ".model.flag_bits", ".model.instruction"),
    *(".model.instruction_kind", ".model.instruction_record", ".model.intel_instructions", ".model.line_table"),
    *(".model.operand", ".model.source_path", ".model.stated_code", ".model.variable", ".processors"),
    ".toolchain.registered",
}


#: What ``kernlens annotate`` loads for a kernel of a zebin with lines: no other vendor's tables, and no SPIR-V.
FOR_ANNOTATE = FOR_INSPECT - {
    ".cli.inspect", ".isa.cores", ".model.occupancy",
    ".isa.intel.launch_rules", ".report.failure_lines", ".report.launch_words",
    ".cli.answers", ".cli.answers.overview", ".report.table",
} | {
    "._decoder", ".analysis.correlate", ".cli.annotate", ".cli.listings", ".cli.samples", ".cli.shares", ".model.code_function",
    ".model.line_choice", ".model.line_code", ".model.listed_instructions", ".model.source_map",
    ".report.beside", ".report.listing", ".report.loop_answer",
}  # fmt: skip


def modules_of(*words: str) -> set[str]:
    """The modules that a command loads, those of the package as their ends, such as ``.cli.main``."""
    script = (
        "import sys; before = set(sys.modules); from kernlens.cli.main import main\ntry: main()\n"
        "except SystemExit: print(*(set(sys.modules) - before), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.removeprefix("kernlens") for name in done.stderr.split()}


def test_version_loads_no_more_than_it_needs() -> None:
    modules = modules_of("--version")
    assert {name for name in modules if name.startswith(".")} == FOR_VERSION
    assert not modules & {*HEAVY, "dataclasses", "html", "inspect", "logging"}


@pytest.fixture
def zebin(tmp_path: Path) -> Path:
    """Return a file of Intel's with a kernel that has a line."""
    unit = UnitWriter("k", 0)
    unit.subprogram("k", 0, 64)
    unit.close()
    writer = debug_zebin(("k",), [unit], line_unit_4(encode([(0, 1, 3, 0, True)], 64)), [])
    writer.add(".ze_info", b"kernels:\n  - name: k\n    execution_env:\n      simd_size: 16\n", type=0xFF000011)
    path = tmp_path / "file.bin"
    path.write_bytes(writer.build())
    return path


def test_inspect_loads_no_more_than_it_needs(zebin: Path) -> None:
    modules = modules_of("inspect", str(zebin))
    assert {name for name in modules if name.startswith(".")} == FOR_INSPECT
    assert not modules & ({*HEAVY, "html", "logging"} - {"click"})


def test_annotate_loads_no_more_than_it_needs(zebin: Path) -> None:
    """Of a file of Intel's, which is neither another vendor's nor SPIR-V, and whose loops have no stated rounds."""
    modules = modules_of("annotate", str(zebin), "--kernel", "k")
    loaded = {name for name in modules if name.startswith(".")}
    assert loaded == FOR_ANNOTATE
    assert len(loaded) <= 125
    others = ("amd", "cubin", "cuda", "llvm", "nvidia", "ptx", "pocl", "spirv_module", "trips", "x86")
    assert [name for name in loaded if any(other in name for other in others)] == []
    assert not modules & ({*HEAVY, "html", "logging"} - {"click"})


def test_strides_of_accesses_load_no_table_of_other_vendors() -> None:
    """A listing follows the accesses of every kernel with SPIR-V; machines matter where local memory has far neighbours."""
    script = "import sys, kernlens.cli.answers.access_words; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    others = {"kernlens.model.behaviour", "kernlens.isa.observed_machines", "fractions", "decimal"}
    assert not {*done.stdout.split()} & others


@pytest.mark.parametrize("name", kernlens.__all__)
def test_no_room_bears_a_public_name(name: str) -> None:
    """Importing a room binds it to the package's attribute of its name, in place of the public function."""
    folder = Path(kernlens.__file__).parent
    assert not (folder / name).exists()
    assert not (folder / f"{name}.py").exists()


def test_load_pulls_in_no_command_line_and_no_compiler() -> None:
    modules = modules_after("from kernlens import load; load.__name__")
    assert not modules & {"click", "rich", "subprocess", "sqlite3", "ryml", "elftools"}


@pytest.mark.parametrize("name", kernlens.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(kernlens, name) is not None
    assert name in dir(kernlens)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = kernlens.no_such_name


def test_version_is_the_installed_one() -> None:
    assert metadata.version("kernlens") == kernlens.__version__


def test_types_are_shipped() -> None:
    assert (Path(kernlens.__file__).parent / "py.typed").is_file()


def test_public_functions_say_what_they_do() -> None:
    missing = [
        name for name in kernlens.__all__ if callable(getattr(kernlens, name)) and not getattr(kernlens, name).__doc__
    ]
    assert missing == []


def test_every_dependency_has_a_version_that_the_tests_run_with() -> None:
    """What pip installs of a later day has no part in the tests' answers (scripts/setup.sh)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())]
    names = {canonical(re.split(r"[^\w.-]", requirement, maxsplit=1)[0]) for requirement in needed}
    lines = (ROOT / "scripts/constraints.txt").read_text().splitlines()
    pinned = [line.split("==") for line in lines if not line.startswith("#")]
    assert sorted(names) == sorted(canonical(name) for name, _ in pinned)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_scripts_ask_for_extras_that_there_are() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (listed,) = re.findall(r"for name in \(([^)]*)\) for each in extras", (ROOT / "scripts/versions.sh").read_text())
    assert set(re.findall(r'"(\w+)"', listed)) <= extras.keys()
