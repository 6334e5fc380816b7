"""The options of ``kernlens.toml`` reach the compiler whatever asks for the compile, and are in what it answers."""

from __future__ import annotations

import shlex
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernlens as package
from kernlens.errors import KernlensError, NotFoundError, ToolError
from kernlens.explorer.served import SourceBuild, open_served
from kernlens.model.build import Build, HeldParts
from kernlens.recording.reader import Recording
from kernlens.toolchain.confinement import Limits
from kernlens.toolchain.sources.project_file import VARIABLE
from kernlens.verbs import doctor
from kernlens.verbs.compile_library import compile_modules
from kernlens.verbs.sweep.cells import matrix
from tests.unit.conftest import Kernlens
from tests.writers.programs import SOURCE, spirv

PROJECT = """
[source."k/*.cl"]
options = "-cl-std=CL2.0"
include = ["k/inc"]
define = { TILE = [8, 16] }
"""
OPTIONS = "-cl-std=CL2.0 -DTILE=8 -gline-tables-only -I k/inc"
#: Of the project's other variant, which check, advise and diff look at too.
OTHER = OPTIONS.replace("8", "16")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, compiler: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose sources are k/scale.cl, which has options of its own, and scale.cl, which has none."""
    monkeypatch.setenv("KERNLENS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k/inc").mkdir(parents=True)
    for name in ("scale.cl", "k/scale.cl"):
        Path(name).write_text(SOURCE)
    Path("kernlens.toml").write_text(PROJECT)
    return tmp_path


def compiled(compiler: Path) -> list[str]:
    """The options of the compiles so far, without those that a compile always has."""
    calls = map(shlex.split, compiler.with_name("calls").read_text().splitlines())
    return sorted(words(call) for call in calls if "compile" in call)


def words(call: list[str]) -> str:
    """The words of -options: the script's log has lost the quotes around them."""
    text = " ".join(call[call.index("-options") + 1 :])
    return text.partition(" -s ")[0]


def test_compile_and_its_recording(kernlens: Kernlens, compiler: Path) -> None:
    done = kernlens("compile", "k/scale.cl", "scale.cl", "--device", "skl", "-o", "all.klens")
    assert done.status == 0, done.err
    assert compiled(compiler) == [OPTIONS, "-gline-tables-only"]
    assert [build.options for build in Recording("all.klens").builds()] == [OPTIONS, "-gline-tables-only"]
    # Other options are another compile.
    kernlens("compile", "k/scale.cl", "--device", "skl", "--build-options", "-DTILE=9")
    assert "-cl-std=CL2.0 -gline-tables-only -DTILE=9 -I k/inc" in compiled(compiler)


@pytest.mark.parametrize(
    "command",
    [
        ["check", "k/scale.cl", "--device", "skl", "--max-spill-stores", "9"],
        ["diff", "k/scale.cl", "k/scale.cl", "--device", "skl"],
        ["advise", "k/scale.cl", "--device", "skl"],
        ["stages", "k/scale.cl", "--device", "skl"],
    ],
)
def test_commands_compile_with_the_options_of_the_project(
    kernlens: Kernlens, compiler: Path, command: list[str]
) -> None:
    kernlens(*command)
    assert set(compiled(compiler)) == {OPTIONS, *([OTHER] if command[0] != "stages" else [])}


def test_functions_compile_with_the_options_of_the_project(compiler: Path) -> None:
    package.compile("k/scale.cl", "skl", cache=False)
    with suppress(KernlensError):  # This compiler leaves no stages.
        package.stages("k/scale.cl", "skl")
    assert set(compiled(compiler)) == {OPTIONS}
    assert len(package.compile("k/scale.cl", "skl", cache=False, variants=True)) == 2
    assert set(compiled(compiler)) == {OPTIONS, OTHER}
    package.diff("k/scale.cl", "k/scale.cl", device=["skl", "dg2"])
    package.check("k/scale.cl", device="skl", max_spill_stores=9)
    package.annotate("k/scale.cl", device="dg2")
    assert set(compiled(compiler)) == {OPTIONS, OTHER}


def test_options_are_tried_beside_them(kernlens: Kernlens, compiler: Path) -> None:
    kernlens("advise", "k/scale.cl", "--device", "skl", "--try")
    tried = compiled(compiler)
    assert len(tried) > 5
    # Both variants have their advice; options are tried beside the first.
    assert sorted("-DTILE=8 " in options for options in tried) == [False] + [True] * (len(tried) - 1)
    assert all("-cl-std=CL2.0" in options for options in tried)


def test_libraries_are_compiled_with_the_options_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def compile_library(source: str, options: str, timeout: float) -> None:
        seen.append(options)
        raise KernlensError("enough")

    monkeypatch.setattr("kernlens.verbs.compile_library.compile_library", compile_library)
    with pytest.raises(KernlensError, match="enough"):
        compile_modules(["k/scale.cl"], [], "-w", "", None, 60)
    assert seen == ["-cl-std=CL2.0 -DTILE=8 -w -I k/inc"]


def test_serve_compiles_with_the_options_of_the_project(compiler: Path, folder: Path) -> None:
    how = SourceBuild("skl", "", "-w")
    with suppress(KernlensError):
        open_served(["k/scale.cl"], source_build=how, include=(), limits=Limits(), source_roots=(), unconfined=True)
    assert set(compiled(compiler)) == {"-cl-std=CL2.0 -DTILE=8 -gline-tables-only -w -I k/inc"}


def test_sweep_has_every_value(kernlens: Kernlens, compiler: Path) -> None:
    done = kernlens("sweep", "k/scale.cl", "scale.cl", "--device", "skl", "--build-options", "-w", "--json")
    rows = {(row["source"], row["options"]) for row in done.document["rows"]}
    assert rows == {
        ("k/scale.cl", "-cl-std=CL2.0 -DTILE=8 -w -I k/inc"),
        ("k/scale.cl", "-cl-std=CL2.0 -DTILE=16 -w -I k/inc"),
        ("scale.cl", "-w"),
    }
    assert len(compiled(compiler)) == 3
    planned = matrix(["k/scale.cl", "scale.cl"], ["skl"], [""], ["-w"])
    assert planned.titles == {
        ("k/scale.cl", "-cl-std=CL2.0 -DTILE=8 -w -I k/inc"): "-w -DTILE=8",
        ("k/scale.cl", "-cl-std=CL2.0 -DTILE=16 -w -I k/inc"): "-w -DTILE=16",
        ("scale.cl", "-w"): "-w",
    }
    # What is asked for takes the place of the file's values.
    done = kernlens("sweep", "k/scale.cl", "--device", "skl", "-D", "TILE=1,2", "--json")
    assert {row["options"] for row in done.document["rows"]} == {
        "-cl-std=CL2.0 -DTILE=1 -I k/inc",
        "-cl-std=CL2.0 -DTILE=2 -I k/inc",
    }


def test_a_file_with_limits_that_is_named_has_the_options_too(kernlens: Kernlens, compiler: Path, folder: Path) -> None:
    (folder / "other").mkdir()
    Path("other/limits.toml").write_text('[kernel."*"]\nmax-spill-stores = 9\n[source."*"]\noptions = "-DOTHER"\n')
    assert kernlens("check", "k/scale.cl", "--device", "skl", "--budget", "other/limits.toml").status == 0
    package.check("k/scale.cl", device="skl", budget="other/limits.toml")
    assert set(compiled(compiler)) == {"-DOTHER -gline-tables-only"}


def test_a_pattern_that_fits_no_source(kernlens: Kernlens) -> None:
    Path("kernlens.toml").write_text('[kernel."*"]\nmax-spill-stores = 9\n[source."K/*.cl"]\noptions = "-w"\n')
    command = ("check", "k/scale.cl", "--device", "skl")
    assert kernlens(*command).status == 0
    done = kernlens(*command, "--fail-on-unused")
    assert (done.status, done.err.split(":")[1]) == (2, ' kernlens.toml, source."K/*.cl"')
    with pytest.raises(NotFoundError, match="no file fits"):
        package.check("k/scale.cl", device="skl", fail_on=["unused"])


def test_the_log_says_which_tables_count(kernlens: Kernlens) -> None:
    done = kernlens("compile", "k/scale.cl", "--device", "skl", "--verbose")
    line = 'k/scale.cl: [source."k/*.cl"] of kernlens.toml: -cl-std=CL2.0 -DTILE=8 -I k/inc'
    assert f"kernlens.toolchain: {line}" in done.err.splitlines()


def test_doctor_names_the_file_and_patterns_that_fit_nothing(tmp_path: Path) -> None:
    def project() -> list[tuple[bool, str]]:
        return [(check.works, check.finding) for check in doctor.project()]

    assert project() == [(True, "kernlens.toml: build options for 1 pattern of sources")]
    Path("kernlens.toml").write_text('[kernel."*"]\nmin-simd = 8\n[source."x.cl"]\n')
    finding = "kernlens.toml: limits for 1 pattern of kernels, build options for 1 pattern of sources"
    assert project() == [(False, f'{finding}; kernlens.toml, source."x.cl": no file fits; did you mean scale.cl?')]
    Path("kernlens.toml").write_text("[sources]")
    assert project() == [
        (False, "kernlens.toml: there is no key 'sources'; did you mean source?"),
    ]
    Path("kernlens.toml").unlink()
    assert project() == []


def test_a_module_that_a_device_refuses_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = SimpleNamespace(name="scale", spirv=spirv())
    refused = Build("scale", "skl", ok=False, reason="scale.spv does not compile", parts=HeldParts(log="why"))
    monkeypatch.setattr("kernlens.verbs.compile_library.compile_library", lambda *words: module)
    monkeypatch.setattr("kernlens.verbs.compile_library.compile_source", lambda *words: refused)
    with pytest.raises(ToolError, match=r"scale\.spv does not compile") as error:
        compile_modules(["scale.cl"], ["skl"], "", "", None, 60)
    assert error.value.log == "why"
    assert not Path("scale.skl.bin").exists()
