"""Line maps of the stages that keep their lines beside them, against independent tools and against each other."""

from __future__ import annotations

import json
import re
import subprocess
from bisect import bisect_right
from pathlib import Path

import pytest

import kernlens
from kernlens.formats.listings.visa_assembly import read_visaasm_lines
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage_map import LINE, StageMap
from kernlens.pipeline import cpu_runtime as cpu_runtime_stages
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.stages import record, recorded_pipelines
from tests.corpus.oracles.run import output_of
from tests.integration.stages.stage_fixtures import SMALL, placed_count, small

__all__ = ["small"]

LINES = "-gline-tables-only"


@pytest.fixture(scope="module", params=["skl", "dg2", "bmg"])
def gpu(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    newest = request.param == "bmg"
    if newest:
        request.getfixturevalue("newest_root")
    source = darktable_kernels / "nlmeans.cl"
    return kernlens.stages(source, request.param, toolchain=NEWEST if newest else SYSTEM, options=LINES)


def maps_of(pipeline: Pipeline, stage: str) -> list[StageMap]:
    return [stage_map for stage_map in pipeline.stage_maps if stage_map.stage == stage]


def test_two_independent_ways_place_visas_llvm_alike(gpu: Pipeline) -> None:
    """The code generator's locations against the line marks of the vISA instructions, whose numbers the lines carry."""
    marked = placed = both = equal = 0
    stage_maps = maps_of(gpu, "visa-llvm-map")
    assert len(stage_maps) == 6
    for item in stage_maps:
        (snapshot,) = gpu.choose("visa-llvm-map", item.kernel)
        lines = snapshot.text.split("\n")
        with_debug = [index for index, line in enumerate(item.positions) if ", !dbg !" in lines[line - 1]]
        marked += len(with_debug)
        placed += placed_count(item)
        assert all(item.places[index] is None for index in set(range(len(item))) - set(with_debug))
        (visa,) = gpu.choose("visa", item.kernel)
        places = marks_of(lines, item, visa.text)
        for index in with_debug:
            mine, theirs = item.places[index], places[index]
            if mine is not None and theirs is not None:
                both += 1
                equal += (mine.path, mine.line) == (theirs.path, theirs.line)
    assert placed >= 0.9 * marked > 400
    assert equal >= 0.995 * both > 250


def marks_of(lines: list[str], stage_map: StageMap, visaasm: str) -> list[SourcePlace | None]:
    """For each instruction the line mark at the vISA instruction of its number, if there is one."""
    rows, shown = read_visaasm_lines(visaasm), visaasm.split("\n")
    numbers = [int(re.findall(r"/// \$(\d+)\s*$", shown[line - 1])[0]) for line in rows.lines]
    assert numbers == sorted(numbers)
    marks = [re.search(r"; visa id: (\d+)$", lines[line - 1]) for line in stage_map.positions]
    starts = [int(match[1]) if match else 0 for match in marks]
    places: list[SourcePlace | None] = []
    for index, start in enumerate(starts):
        following = next((other for other in starts[index + 1 :] if other), 1 << 30)
        first = bisect_right(numbers, start - 1)
        mine = start and first < len(numbers) and numbers[first] < following
        places.append(rows.places[first] if mine else None)
    return places


def test_inlined_calls_are_those_of_the_code_generator(gpu: Pipeline) -> None:
    """Line 42 of nlmeans is in gh, which is inlined into nlmeans_vert."""
    parts = {part.stage: part for part in gpu.line(42, "nlmeans.cl").stages}
    shown, codegen = parts["visa-llvm-map"], parts["llvm-codegen"]
    assert shown.kernel == "nlmeans_vert"
    assert len(shown.indexes) == len(codegen.indexes)
    for mine, theirs in zip(shown.indexes, codegen.indexes, strict=True):
        assert shown.map.places[mine] == codegen.map.places[theirs]
        assert shown.map.calls[mine] == codegen.map.calls[theirs]
        assert shown.map.texts[mine].split(",")[0] == codegen.map.texts[theirs].split(",")[0]


@pytest.fixture(scope="module", params=[LINES, "-g"])
def pocl(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    return kernlens.stages(darktable_kernels / "nlmeans.cl", "pocl", options=request.param)


@pytest.fixture(scope="module", params=[LINES, "-g"])
def intel_cpu(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    """What the runtime makes for a processor with SSE4.2, whatever processor it finds here."""
    if cpu_runtime_stages.runtime_library() is None:
        pytest.skip("Intel's CPU runtime is not installed: pip install intel-opencl-rt intel-cmplr-lib-rt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CL_CONFIG_CPU_TARGET_ARCH", "corei7")
        return kernlens.stages(darktable_kernels / "nlmeans.cl", "intel-cpu", options=request.param)


#: A frame: path, line, column.
Frame = tuple[str, int, int]


def symbolized(path: Path, addresses: list[int]) -> list[list[Frame]]:
    """What llvm-symbolizer says of each address: its frames, innermost first; none for line 0."""
    command = ["llvm-symbolizer-15", f"--obj={path}", "--inlines", "--output-style=JSON"]
    asked = "".join(f"{address:#x}\n" for address in addresses)
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=300, check=True)
    answers = [json.loads(line).get("Symbol") or [] for line in done.stdout.splitlines()]
    assert len(answers) == len(addresses)
    return [
        [(frame["FileName"], frame["Line"], frame["Column"]) for frame in frames]
        if frames and frames[0]["Line"]
        else []
        for frames in answers
    ]


def frames_of(stage_map: StageMap, index: int) -> list[Frame]:
    place = stage_map.places[index]
    stack = [place, *stage_map.calls[index]] if place is not None else []
    return [(frame.path, frame.line, frame.column) for frame in stack]


def address_of(text: str) -> int:
    return int(text.split(":")[0], 16)


def copy_name(objects: list[list[Frame]]) -> str:
    """PoCL's own name of the source, which the tool tells and the map does not."""
    return next(path for frames in objects for path, *_ in frames if "tempfile_" in path)


def test_pocls_objects_as_llvm_symbolizer_reads_them(pocl: Pipeline, tmp_path: Path) -> None:
    for stage in ("object", "shared-object"):
        stage_maps = maps_of(pocl, stage)
        assert len(stage_maps) == 6
        placed = inlined = 0
        for item in stage_maps:
            assert item.unit == LINE
            (content,) = pocl.choose(stage, item.kernel, "binary")
            path = tmp_path / "object"
            path.write_bytes(content.content)
            theirs = symbolized(path, [address_of(text) for text in item.texts])
            copy = copy_name(theirs)
            named = [
                [(pocl.build.source if path == copy else path, *rest) for path, *rest in frames] for frames in theirs
            ]
            assert [frames_of(item, index) for index in range(len(item))] == named
            placed += placed_count(item)
            inlined += sum(len(frames) > 1 for frames in theirs)
        assert placed > 1000
        assert inlined


def test_pocls_program_keeps_the_lines_that_llvm_drops(pocl: Pipeline, tmp_path: Path) -> None:
    """LLVM's reader takes all debug information away for the sake of PoCL's work-item functions. The text has it: as
    many locations as the bitcode's own records, up to those of the functions that are left out."""
    (content,) = pocl.choose("llvm", form="binary")
    (text,) = pocl.choose("llvm", form="text")
    bitcode = tmp_path / "program.bc"
    bitcode.write_bytes(content.content)
    plain = subprocess.run(["llvm-dis-15", bitcode, "-o", "-"], capture_output=True, text=True, check=True)
    assert "ignoring invalid debug info" in plain.stderr
    assert "!dbg" not in plain.stdout
    comment = text.text.split("\n", 1)[0]
    left_out = comment.removeprefix("; ").split(": ")[1].split(", ")
    assert "_Z13get_global_idj" in left_out
    assert len(left_out) < 10
    records = output_of(["llvm-bcanalyzer-15", "--dump", str(bitcode)])
    record_count = len(re.findall(r"<DEBUG_LOC(?:_AGAIN)?[ /]", records))
    (stage_maps,) = maps_of(pocl, "llvm")
    marked = len(re.findall(r"^  .*, !dbg !\d+", text.text, re.MULTILINE))
    assert record_count >= marked >= 0.9 * record_count > 300
    # Descriptions of variables (llvm.dbg.value) have a location without a line.
    described = len(re.findall(r"^  .*@llvm\.dbg\..*, !dbg !\d+", text.text, re.MULTILINE))
    assert placed_count(stage_maps) >= 0.95 * (marked - described) > 300
    assert {Path(path).name for path, _ in stage_maps.lines} == {"nlmeans.cl", "common.h"}
    # Nothing else is lost but what only those functions called.
    names = re.compile(r"^(define|declare) .*?@([-\w$.]+)\(", re.MULTILINE)
    before = {name: kind for kind, name in names.findall(plain.stdout)}
    after = {name: kind for kind, name in names.findall(text.text)}
    changed = {name: after.get(name) for name in before if before[name] != after.get(name)}
    assert {name for name, kind in changed.items() if kind is not None} == set(left_out)
    assert all(before[name] == "declare" for name, kind in changed.items() if kind is None)
    # An assembler reads it, and keeps the lines.
    (tmp_path / "text.ll").write_text(text.text)
    output_of(["llvm-as-15", str(tmp_path / "text.ll"), "-o", str(tmp_path / "text.bc")])
    again = subprocess.run(["llvm-dis-15", tmp_path / "text.bc", "-o", "-"], capture_output=True, text=True, check=True)
    assert again.stderr == ""
    assert len(re.findall(r"^  .*, !dbg !\d+", again.stdout, re.MULTILINE)) == marked


def test_pocls_objects_as_objdump_reads_them(pocl: Pipeline) -> None:
    """The listing's own marks come from binutils' reader of DWARF. It prints none for line 0: only what it marks
    counts."""
    both = 0
    for stage_map in maps_of(pocl, "object"):
        (listing,) = pocl.choose("object", stage_map.kernel, "text")
        mark: int | None = None
        marks = {}
        for number, line in enumerate(listing.text.split("\n"), start=1):
            if match := re.fullmatch(r"/\S+\.cl:(\d+)( \(discriminator \d+\))?", line):
                mark = int(match[1])
            elif re.match(r" *[0-9a-f]+:\t", line):
                if mark is not None:
                    marks[number] = mark
                mark = None
        places = dict(zip(stage_map.positions, stage_map.places, strict=True))
        for number, line_number in marks.items():
            place = places[number]
            assert place is not None
            assert place.line == line_number
            both += 1
    assert both > 100


def test_intels_cpu_object_as_llvm_symbolizer_reads_it(intel_cpu: Pipeline, tmp_path: Path) -> None:
    (listing,), (itself,) = maps_of(intel_cpu, "disassembly"), maps_of(intel_cpu, "object")
    path = tmp_path / "object.o"
    path.write_bytes(intel_cpu.choose("object")[0].content)
    addresses = [address_of(text) for text in listing.texts]
    theirs = symbolized(path, addresses)
    assert [frames_of(listing, index) for index in range(len(listing))] == theirs
    assert [frames_of(itself, index) for index in range(len(itself))] == theirs
    assert sum(bool(frames) for frames in theirs) >= 0.85 * len(theirs) > 2500
    assert sum(len(frames) > 1 for frames in theirs) > 500
    # All instructions that objdump finds, and where each stands in its function.
    symbols = output_of(["readelf", "-sW", str(path)])
    starts = {match[2]: int(match[1], 16) for match in re.finditer(r" ([0-9a-f]{16}) .* FUNC .* (\S+)$", symbols, re.M)}
    assert set(itself.functions) == set(starts)
    assert [address - starts[name] for address, name in zip(addresses, itself.functions, strict=True)] == list(
        itself.positions
    )
    counted = output_of(["objdump", "--disassemble", "--no-show-raw-insn", str(path)])
    assert len(re.findall(r"^ *[0-9a-f]+:\t", counted, re.MULTILINE)) == len(listing)


def test_intels_cpu_assembly_as_an_assembler_reads_it(intel_cpu: Pipeline, tmp_path: Path) -> None:
    """The text assembled by clang, whose line table llvm-symbolizer reads: each instruction in order, without the
    padding that an assembler adds. (The runtime's own object is no measure: it comes of another run of its code
    generator, and some functions are not the same.)"""
    (stage_maps,) = maps_of(intel_cpu, "assembly")
    text = intel_cpu.choose("assembly")[0].text
    # What LLVM 15 does not know yet: a directive on padding, and the flag of large sections.
    text = re.sub(r"^\t\.prefalign.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r'(\.section\t[^,]*,"\w*?)l"', r'\1"', text)
    source, assembled = tmp_path / "a.s", tmp_path / "a.o"
    source.write_text(text)
    output_of(["clang-15", "-c", str(source), "-o", str(assembled)])
    listed = output_of(["llvm-objdump-15", "--disassemble", "--no-show-raw-insn", str(assembled)])
    instructions = re.findall(r"^ *([0-9a-f]+):\s+(\S+)(.*)$", listed, re.MULTILINE)
    theirs = symbolized(assembled, [int(address, 16) for address, _, _ in instructions])
    names = [
        (name, frames[0] if frames else None)
        for (_, name, rest), frames in zip(instructions, theirs, strict=True)
        if not name.startswith("nop") and (name, rest.split()) != ("xchgw", ["%ax,", "%ax"]) and "nop" not in rest
    ]
    ours = [
        (text.split()[0], (place.path, place.line, place.column) if place else None)
        for text, place in zip(stage_maps.texts, stage_maps.places, strict=True)
    ]
    assert [place for _, place in ours] == [place for _, place in names]
    equal = sum(entry == other for (entry, _), (other, _) in zip(ours, names, strict=True))
    assert equal >= 0.95 * len(ours) > 2500  # LLVM 15 calls some instructions by another name
    assert placed_count(stage_maps) >= 0.85 * len(stage_maps)


def test_a_line_is_followed_through_every_stage_that_has_lines(small: Path, tmp_path: Path) -> None:
    expected = {"pocl": {"llvm", "llvm-parallel", "object", "shared-object", "program"}}
    if cpu_runtime_stages.runtime_library() is not None:
        expected["intel-cpu"] = {"assembly", "object", "disassembly"}
    for device, stages in expected.items():
        live = kernlens.stages(small, device)
        recording = tmp_path / f"{device}.klens"
        record([live], recording)
        for pipeline in (live, *recorded_pipelines(recording)):
            parts = pipeline.line(5, "scale.cl").stages
            assert {part.stage for part in parts} == stages
            assert all(part.indexes for part in parts)
            assert not pipeline.line(5, "other.cl").stages[0].indexes
        # Without debug information there is nothing to say.
        assert kernlens.stages(small, device, lines=False).stage_maps == ()


def test_another_name_for_the_source_stays(small: Path) -> None:
    if cpu_runtime_stages.runtime_library() is None:
        pytest.skip("Intel's CPU runtime is not installed: pip install intel-opencl-rt intel-cmplr-lib-rt")
    pipeline = kernlens.stages(small, "intel-cpu", options=f'{LINES} -s "/somewhere/my kernels/else.cl"')
    assert {path for stage_map in pipeline.stage_maps for path, _ in stage_map.lines} == {
        "/somewhere/my kernels/else.cl"
    }
    spaced = small.parent / "my kernels" / "my scale.cl"
    spaced.parent.mkdir()
    spaced.write_text('#include "local.h"\n' + SMALL)
    (spaced.parent / "local.h").write_text("")
    assert kernlens.stages(spaced, "intel-cpu").line(6, "my kernels/my scale.cl").stages[0].indexes
