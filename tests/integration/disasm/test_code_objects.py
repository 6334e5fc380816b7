"""AMD's code objects of real kernels, held against LLVM's own tools; every command on them; their compiler."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kernlens.errors import KernlensError
from kernlens.loading.open import load
from kernlens.model.build import Build
from kernlens.toolchain.amd_clang import amd_devices_of, compile_for_amd
from kernlens.toolchain.amd_compiler import AmdCompiler, amd_compiler
from kernlens.toolchain.toolchains import Toolchain, find_toolchains
from kernlens.verbs.stages import stages
from tests.corpus.amd import check, compiled
from tests.corpus.manifest import program
from tests.corpus.packages import CorpusError, fetch
from tests.fuzz.targets import CORPUS
from tests.tree import ROOT
from tests.unit.conftest import Kernlens, kernlens
from tests.writers.code_objects import bundle
from tests.writers.elf import ElfWriter

__all__ = ["kernlens"]

DEVICES = ("gfx900", "gfx90a", "gfx1030")
BLUR = ROOT / "examples/kernels/blur.cl"
_COMPILERS = [each for each in map(amd_compiler, find_toolchains()) if each is not None]
needs_compiler = pytest.mark.skipif(
    not _COMPILERS, reason="no clang with lld and the ROCm device libraries (rocm-device-libs, lld-15)"
)
needs_tools = pytest.mark.skipif(
    shutil.which("llvm-objdump-15") is None, reason="LLVM's tools are not installed (llvm-15)"
)
pytestmark = needs_compiler


@pytest.fixture(scope="module")
def compiler() -> AmdCompiler:
    return _COMPILERS[0]


@pytest.fixture(scope="module")
def blur(compiler: AmdCompiler) -> Build:
    build = compile_for_amd(BLUR, "gfx1030", "-gline-tables-only", compiler.toolchain, 120)
    assert build.ok, build.reason
    return build


@pytest.fixture
def file(blur: Build, tmp_path: Path) -> Path:
    path = tmp_path / "blur.hsaco"
    path.write_bytes(blur.binary)
    return path


@needs_tools
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ["darktable/nlmeans", "darktable/demosaic_markesteijn"])
def test_instructions_lines_and_figures_are_those_of_llvm(compiler: AmdCompiler, device: str, name: str) -> None:
    chosen = program(name)
    try:
        fetch(chosen.packages)
    except CorpusError as error:
        pytest.skip(str(error))
    build = compiled(chosen, device, compiler)
    assert build.ok, build.reason
    outcomes = check(build, compiler)
    assert {key: outcome.differences for key, outcome in outcomes.items()} == {key: [] for key in outcomes}
    assert min(outcome.compared for outcome in outcomes.values()) > 20


def test_a_file_that_is_not_linked(compiler: AmdCompiler, blur: Build, tmp_path: Path) -> None:
    """The object of one source has the same kernels, with the same lines."""
    from kernlens.toolchain.process import run

    path = tmp_path / "blur.o"
    command = compiler.command("gfx1030", ["-gline-tables-only"], str(BLUR), str(path))
    assert run(command, timeout=120).ok
    (unlinked,), (linked,) = load(path), load(_written(tmp_path / "blur.hsaco", blur.binary))
    for name, kernel in linked.kernels.items():
        other = unlinked.kernels[name]
        assert bytes(other.code) == bytes(kernel.code)
        assert other.line_table is not None
        assert kernel.line_table is not None
        assert other.line_table.rows == kernel.line_table.rows
        assert [call.name for call in other.line_table.inlined] == [call.name for call in kernel.line_table.inlined]


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_what_commands_print(kernlens: Kernlens, file: Path) -> None:
    (listed,) = kernlens("inspect", file, "--json").document["programs"]
    (kernel,) = listed["kernels"]
    assert (listed["device"], listed["format"]) == ("gfx1030", "amd-code-object")
    assert kernel["vgprs"] > 0
    assert (kernel["wave_size"], kernel["lds_bytes"], kernel["vgpr_spills"]) == (32, 0, 0)
    annotated = kernlens("annotate", file, "--line", "20").out
    assert "v_exp_f32" in annotated
    assert "native_exp(sum / weights)" in annotated
    assert "s_endpgm" in kernlens("disasm", file).out
    assert "blur.kd" in kernlens("symbols", file).out
    assert kernlens("check", file, "--max-vgprs", "0").status == 1
    assert kernlens("check", file, "--max-vgprs", "256").status == 0
    assert kernlens("diff", file, file).status == 0
    page = file.with_name("page.html")
    assert kernlens("report", file, "-o", page).status == 0
    assert page.stat().st_size > 100_000
    assert kernlens("extract", file, "-o", file.with_name("parts")).status == 0
    assert "ld.lld links" in kernlens("link", file).err
    assert "llvm-mca" in kernlens("annotate", file, "--waits").out
    assert "no advice on amdgcn code" in kernlens("advise", file).out


def test_a_program_of_several_targets(blur: Build, tmp_path: Path) -> None:
    """An offload bundle in a host's executable, as HIP programs have it."""
    images = {
        "host-x86_64-unknown-linux-gnu--": b"",
        "hipv4-amdgcn-amd-amdhsa--gfx1030": blur.binary,
        "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-": b"\x7fELF, cut off",
    }
    host = ElfWriter(machine=62, type=3)
    host.add(".hip_fatbin", bundle(images), flags=2)
    contents = load(_written(tmp_path / "application", bytes(host.build())))
    assert [(each.name, each.device and each.device.name, list(each.kernels.keys())) for each in contents] == [
        ("gfx1030", "gfx1030", ["blur"])
    ]


def test_what_triton_compiled() -> None:
    """A kernel of Triton 3.4 for gfx942, which states no version of its compiler; newer than what Debian 12 has of LLVM."""
    (compiled_by_triton,) = load(CORPUS / "code_object" / "triton")
    (kernel,) = compiled_by_triton.kernels.values()
    assert (str(compiled_by_triton.device), kernel.name, kernel.resources.stated["wave_size"]) == ("gfx942", "add", 64)
    assert kernel.line_table is not None
    assert {row.line for row in kernel.line_table.rows} >= {6, 7, 8}
    assert [argument.size for argument in kernel.arguments[:4]] == [8, 8, 8, 4]


def test_compile_for_several_devices(kernlens: Kernlens, tmp_path: Path) -> None:
    saved = tmp_path / "all.klens"
    compiled_for = kernlens("compile", BLUR, "--device", "gfx90a,gfx1030", "-o", saved, "--json").document
    programs = compiled_for["programs"]
    assert {each["device"]: each["kernels"][0]["wave_size"] for each in programs} == {"gfx90a": 64, "gfx1030": 32}
    assert all(each["toolchain"].startswith("clang ") and each["toolchain_name"] == "system" for each in programs)
    assert "gfx90a" in kernlens("inspect", saved).out


def test_options_and_errors(compiler: AmdCompiler, tmp_path: Path) -> None:
    (tmp_path / "value.h").write_text("#define VALUE 3\n")
    source = tmp_path / "k.cl"
    source.write_text('#include "value.h"\nkernel void k(global int *b) { b[0] = VALUE + ADDED; }\n')
    built = compile_for_amd(source, "gfx1030", "-DADDED=4 -cl-intel-256-GRF-per-thread", compiler.toolchain, 60)
    assert built.ok, built.reason
    assert [Path(each.path).name for each in built.sources] == ["k.cl", "value.h"]
    failed = compile_for_amd(source, "gfx1030", "", compiler.toolchain, 60)
    assert not failed.ok
    assert "use of undeclared identifier 'ADDED'" in (failed.reason or "")
    assert f"{source}:2:" in (failed.reason or "")


def test_a_gpu_without_images(tmp_path: Path) -> None:
    chosen = next((each for each in find_toolchains() if "gfx940" in amd_devices_of(each)), None)
    if chosen is None:
        pytest.skip("no compiler for a GPU without images")
    source = tmp_path / "k.cl"
    source.write_text("kernel void k(read_only image2d_t i, global float4 *b) { b[0] = read_imagef(i, (int2)(0)); }\n")
    build = compile_for_amd(source, "gfx940", "", chosen, 60)
    assert not build.ok
    assert "it has no images, and k takes one" in (build.reason or "")


def test_a_device_that_no_toolchain_has(compiler: AmdCompiler) -> None:
    bare = Toolchain("bare", None if compiler.toolchain.root else Path("/nowhere"), None, None, None)
    with pytest.raises(KernlensError, match="has no compiler for AMD's GPUs, but"):
        compile_for_amd(BLUR, "gfx1030", "", bare, 60)
    with pytest.raises(KernlensError, match="knows no device 'gfx9'"):
        compile_for_amd(BLUR, "gfx9", "", compiler.toolchain, 60)


def test_a_line_through_all_stages() -> None:
    pipeline = stages(BLUR, "gfx1030")
    names = ["source", "llvm-front-end", "llvm-optimized", "gcn-assembly", "program"]
    assert [snapshot.stage for snapshot in pipeline] == names
    followed = pipeline.line(20).stages
    assert [each.stage for each in followed] == names[1:]
    assembly = next(each for each in followed if each.stage == "gcn-assembly")
    machine = next(each for each in followed if each.stage == "program")
    # The assembler adds nothing, and drops nothing.
    assert len(assembly.indexes) == len(machine.indexes) > 5


@pytest.mark.parametrize("device", DEVICES)
def test_occupancy_is_what_the_assembly_states(kernlens: Kernlens, device: str, tmp_path: Path) -> None:
    recording = tmp_path / "blur.klens"
    done = kernlens("stages", BLUR, "--device", device, "-o", recording)
    assert done.status == 0, done.err
    assembly = next(each.text for each in stages(BLUR, device) if each.stage == "gcn-assembly")
    (stated,) = [line.split(": ")[1] for line in assembly.splitlines() if line.startswith("; Occupancy: ")]
    (program,) = load(recording)
    assert program.kernels["blur"].resources.stated["occupancy"] == int(stated) > 0
    assert f"occupancy {stated}, " in kernlens("annotate", recording).out
    bare = tmp_path / "bare.hsaco"
    bare.write_bytes(program.binary)
    (program,) = load(bare)
    assert program.kernels["blur"].resources.stated["occupancy"] == int(stated), "by LLVM's rules"


def test_single_passes() -> None:
    passes = [each for each in stages(BLUR, "gfx1030", all_passes=True) if each.is_pass]
    assert any("SROA" in each.stage for each in passes)
    assert all("define" in each.text for each in passes)
