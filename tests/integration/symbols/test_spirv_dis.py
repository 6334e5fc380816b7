"""SPIR-V modules of a real compiler, held against spirv-dis; names of enumerants against spirv-as."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kernlens.formats.spirv import names as spirv_names
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.model.spirv import SpirvModule
from tests.corpus.build import Built

needs_tools = pytest.mark.skipif(
    not (shutil.which("spirv-dis") and shutil.which("clang-15") and shutil.which("llvm-spirv-15")),
    reason="spirv-tools, clang-15 and llvm-spirv-15 are not all installed",
)

LIBRARY = """
struct pair { char tag; float4 value; };
extern float imported(float, int);
extern constant int imported_table[5];
constant struct pair exported_pair = { 1, (float4)(0) };
global int counters[3];
float exported(global float *p, int n, local short *s) { return imported(p[n], n) + s[0] + exported_pair.value.x; }
kernel void work(global float *out, read_only image2d_t picture, int n)
{
  local short few[4];
  out[n] = exported(out, imported_table[n] + atomic_inc(&counters[n]), few);
}
"""


def disassembled(path: Path) -> str:
    """spirv-dis with plain ids and without indents."""
    command = ["spirv-dis", "--raw-id", "--no-indent", "--no-color", str(path)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def compare(path: Path) -> SpirvModule:
    """Everything that both sides name must be equal; returns our side."""
    ours, text = read_spirv(memoryview(path.read_bytes())), disassembled(path)
    string = r'"((?:[^"\\]|\\.)*)"'

    def matches_of(pattern: str) -> list[tuple[str, ...]]:
        matches = re.findall("(?m)^" + pattern, text)
        return [match if isinstance(match, tuple) else (match,) for match in matches]

    assert matches_of(r"; Version: (\d+)\.(\d+)") == [tuple(map(str, ours.version))]
    assert [line[0].split(";")[0].strip() for line in matches_of(r"; Generator: (.*)$")] == [ours.generator]
    assert [name for (name,) in matches_of(r"OpCapability (\w+)")] == list(ours.capabilities)
    assert [name for (name,) in matches_of(rf"OpExtension {string}")] == list(ours.extensions)
    assert [name for (name,) in matches_of(rf"%\d+ = OpExtInstImport {string}")] == list(ours.instruction_sets)
    assert matches_of(r"OpMemoryModel (\w+) (\w+)") == [(ours.addressing_model, ours.memory_model)]
    assert [
        (model, unquoted(name), int(id)) for model, id, name in matches_of(rf"OpEntryPoint (\w+) %(\d+) {string}")
    ] == [(entry.model, entry.name, entry.id) for entry in ours.entry_points]
    assert {int(id): unquoted(name) for id, name in matches_of(rf"OpName %(\d+) {string}")} == ours.names
    assert {int(id): unquoted(value) for id, value in matches_of(rf"%(\d+) = OpString {string}")} == ours.strings
    assert [
        (int(id), unquoted(name), kind)
        for id, name, kind in matches_of(rf"OpDecorate %(\d+) LinkageAttributes {string} (\w+)")
    ] == [(linkage.id, linkage.name, linkage.kind) for linkage in ours.linkages]
    functions = {int(id) for (id,) in matches_of(r"%(\d+) = OpFunction ")}
    variables = {int(id): storage for id, storage in matches_of(r"%(\d+) = OpVariable %\d+ (\w+)")}
    for each in ours.linkages:
        assert each.is_function == (each.id in functions)
        assert each.storage_class == variables.get(each.id)
    assert [(language, int(version)) for language, version in matches_of(r"OpSource (\w+) (\d+)")] == [
        (source.language, source.version) for source in ours.sources if source.language
    ]
    lines = matches_of(r"(?:OpLine %(\d+) (\d+) (\d+)|OpNoLine)$")
    assert [(place.file, place.line, place.column) for places in ours.lines.values() for place in places] == [
        (ours.strings[int(file)] if file else "", int(line or 0), int(column or 0)) for file, line, column in lines
    ]
    return ours


@needs_tools
def test_modules_of_the_corpus(corpus_sample: list[Built]) -> None:
    modules = {built.program.name: built.spirv for built in corpus_sample}
    assert modules
    for path in modules.values():
        ours = compare(path)
        assert ours.entry_points
        assert ours.lines


@needs_tools
def test_a_library_with_imports_and_exports(tmp_path: Path) -> None:
    ours = compare(compiled(tmp_path, LIBRARY, "-gline-tables-only"))
    linkages = {linkage.name: linkage for linkage in ours.linkages}
    assert linkages["imported"].kind == "Import"
    assert linkages["imported"].type_name == "float(float, int)"
    assert linkages["exported"].kind == "Export"
    assert linkages["exported"].type_name == "float(global float*, int, local short*)"
    assert (linkages["imported_table"].type_name, linkages["imported_table"].size) == ("int[5]", 20)
    assert (linkages["exported_pair"].storage_class, linkages["exported_pair"].size) == ("UniformConstant", 32)
    assert (linkages["counters"].storage_class, linkages["counters"].size) == ("CrossWorkgroup", 12)
    assert {name for name in ours.lines if name in ("exported", "work")} == {"exported", "work"}


def compiled(folder: Path, source: str, *options: str) -> Path:
    (folder / "k.cl").write_text(source)
    steps = (
        ["clang-15", "-c", "-emit-llvm", "-target", "spir64", "-cl-std=CL2.0", "-Xclang", "-finclude-default-header",
         "-O1", *options, "k.cl", "-o", "k.bc"],
        ["llvm-spirv-15", "k.bc", "-o", "k.spv"],
    )  # fmt: skip
    for command in steps:
        subprocess.run(command, cwd=folder, check=True, timeout=120)
    return folder / "k.spv"


@needs_tools
@pytest.mark.parametrize(
    ("template", "table"),
    [
        ("OpCapability {}", spirv_names.CAPABILITIES),
        ("OpEntryPoint {} %1 \"k\"", spirv_names.EXECUTION_MODELS),
        ("OpSource {} 100", spirv_names.SOURCE_LANGUAGES),
        ("OpMemoryModel {} OpenCL", spirv_names.ADDRESSING_MODELS),
        ("OpMemoryModel Physical64 {}", spirv_names.MEMORY_MODELS),
        ("%1 = OpVariable %2 {}", spirv_names.STORAGE_CLASSES),
        ("OpDecorate %1 LinkageAttributes \"k\" {}", spirv_names.LINKAGE_KINDS),
    ],
)  # fmt: skip
def test_names_of_enumerants(template: str, table: dict[int, str], tmp_path: Path) -> None:
    unknown = []
    for number, name in table.items():
        (tmp_path / "k.spvasm").write_text(template.format(name) + "\n")
        command = ["spirv-as", "--target-env", "spv1.6", "k.spvasm", "-o", "k.spv"]
        assembled = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        if assembled.returncode:
            unknown.append(name)
            continue
        words = memoryview((tmp_path / "k.spv").read_bytes()).cast("I")[5:]
        assert number in words.tolist()[1:], f"{name} is not {number}"
    # Debian 12's assembler is older than these names.
    assert set(unknown) <= {"CPP_for_OpenCL", "SYCL"}
