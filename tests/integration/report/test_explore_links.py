"""What the explore document ties together, on real kernels of both compilers: by places as ``annotate --json`` has them, and
exactly by the numbers in the compiler's own dumps."""

from __future__ import annotations

import json
import random
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.flow.blocks import straight_code
from kernlens.analysis.flow.distance_waits import distance_waits
from kernlens.model.program import Program
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.report.explore import explore_document
from kernlens.report.explore.single_file import page
from kernlens.report.program_document import kernel_json
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.explore_reader import NOT_OWN, KernelChunk, Page, summed, unpacked

#: Flags of a row.
PROLOGUE, INHERITED, LOST, STAGE = 1, 2, 4, 8
ORIGINS = {"prologue": PROLOGUE, "inherited": INHERITED, "lost": LOST, "stage": STAGE}
SAMPLE = 50


@pytest.fixture(scope="module", params=["dg2", "bmg"])
def compiled(request: pytest.FixtureRequest, darktable_kernels: Path) -> Pipeline:
    """darktable's denoiseprofile, with its stages."""
    newest = request.param == "bmg"
    if newest:
        request.getfixturevalue("newest_root")
    source = darktable_kernels / "denoiseprofile.cl"
    return kernlens.stages(source, request.param, toolchain=NEWEST if newest else SYSTEM)


@pytest.fixture(scope="module")
def program(compiled: Pipeline) -> Program:
    (only,) = (each for each in compiled.programs if each.kernels)
    return only


@pytest.fixture(scope="module")
def chunks(program: Program) -> dict[str, KernelChunk]:
    document = explore_document([program])
    (entry,) = document.index["programs"]
    columns = entry["kernels"]
    chosen = sorted(zip(columns["instructions"], columns["name"], columns["chunk"], strict=True))
    return {
        name: KernelChunk(unpacked(document.chunks[chunk])) for _, name, chunk in (chosen[4], chosen[10], chosen[-1])
    }


def test_places_are_those_of_the_answer(program: Program, chunks: dict[str, KernelChunk]) -> None:
    inlined = 0
    for name, chunk in chunks.items():
        answer = json.loads(kernel_json(program.kernels[name], is_placed=True))["instructions"]
        assert len(answer) == len(chunk.rows)
        for row in random.Random(name).sample(range(len(answer)), SAMPLE):
            expected = answer[row]
            assert chunk.rows[row] == expected["text"].rstrip()
            assert (chunk.offsets[row], chunk.opcodes[row]) == (expected["offset"], expected["opcode"])
            assert chunk.flags[row] & 15 == ORIGINS.get(expected["line_origin"], 0)
            place = chunk.places[row]
            if expected["line"] is None:
                assert place is None
                continue
            assert place is not None
            assert (place.path, place.line, place.column or None) == (
                expected["path"], expected["line"], expected["column"],
            )  # fmt: skip
            calls = tuple((call["path"], call["line"], call["column"] or 0) for call in expected["inlined_at"])
            assert place.calls == calls
            inlined += bool(calls)
    assert inlined > 10


def test_waits_are_those_of_the_answer(program: Program, chunks: dict[str, KernelChunk]) -> None:
    for name, chunk in chunks.items():
        answer = json.loads(kernel_json(program.kernels[name], is_placed=True, has_waits=True))
        cycles = chunk.document["code"]["cycles"]
        rows = [(row["cycle"], row["issue_cycles"]) for row in answer["instructions"]]
        assert rows == list(zip(summed(cycles["start"]), cycles["issue"], strict=True))
        wait = cycles["wait"]
        columns = zip(summed(wait["row"]), wait["back"], wait["cycles"], wait["why"], strict=True)
        stated = {
            row: {"cycles": each, "for": chunk.offsets[row - back], "why": wait["reasons"][why]}
            for row, back, each, why in columns
        }
        assert [stated.get(row) for row in range(len(rows))] == [row["wait"] for row in answer["instructions"]]
        assert sum(wait["cycles"]) == answer["waits"]["wait_cycles"] > 100
        lines = Counter[tuple[str, int]]()
        for row, each in stated.items():
            place = chunk.places[row]
            if place is not None and not chunk.flags[row] & NOT_OWN:
                lines[place.path, place.line] += each["cycles"]
        expected = {(line["path"], line["line"]): line["wait_cycles"] for line in answer["waits"]["lines"]}
        assert lines == Counter({line: each for line, each in expected.items() if each})


def test_loops_are_those_of_the_kernel(program: Program, chunks: dict[str, KernelChunk]) -> None:
    deepest = 0
    for name, chunk in chunks.items():
        loops = program.kernels[name].loops
        assert loops is not None
        code = chunk.document["code"]
        blocks = [*summed(code["block"]), len(chunk.rows)]
        for (start, end), depth in zip(pairwise(blocks), code["depth"], strict=True):
            assert set(loops.depths[start:end]) == {depth}
            deepest = max(deepest, depth)
        flow = code["flow"]
        assert flow["header"] == [loop.header.start for loop in loops.loops]
        firsts = summed(flow["block"])
        routes = program.kernels[name].instructions.routes
        assert routes is not None
        # Blocks are those of the analysis, but that code behind a call goes on.
        calls = {row + 1 for row, route in routes.items() if route.is_call}
        parts = [part.start for part in straight_code(routes, len(chunk.rows)).code]
        assert set(firsts) <= set(parts)
        assert set(parts) - set(firsts) <= calls
        assert [way for way in flow["jump"] if way[0] + 1 in calls] == []
        jumps = {row: route.targets for row, route in routes.items() if route.targets and not route.is_call}
        assert {way[0]: tuple(way[1:]) for way in flow["jump"]} == jumps
        for (start, end), loop in zip(pairwise([*firsts, len(chunk.rows)]), flow["loop"], strict=True):
            around = set()
            while loop >= 0:
                around.add(loop)
                loop = flow["parent"][loop]
            for number in range(len(loops.loops)):
                assert {loops.holds(number, row) for row in range(start, end)} == {number in around}
    assert deepest > 0


def test_registers_are_those_of_the_kernel(program: Program, chunks: dict[str, KernelChunk]) -> None:
    """Who wrote what a row reads, and over which rows it is held: by the model, and by the pressure at each row."""
    for name, chunk in chunks.items():
        kernel, code = program.kernels[name], chunk.document["code"]
        use = code["use"]
        rows = summed(use["row"])
        assert len(rows) == len(use["part"])
        sources: dict[int, set[tuple[int, int]]] = {}
        for row, back, register in zip(rows, use["back"], use["register"], strict=True):
            sources.setdefault(row, set()).add((register, row - back))
        for row, register in zip(summed(use["before"]["row"]), use["before"]["register"], strict=True):
            sources.setdefault(row, set()).add((register, BEFORE_THE_CODE))
        for row in random.Random(name).sample(range(len(chunk.rows)), SAMPLE):
            assert sources.get(row, set()) == set(kernel.register_links(row).sources)
        held: list[set[int]] = [set() for _ in chunk.rows]
        ranges = code["range"]
        for register, first, count in zip(
            summed(ranges["register"]), summed(ranges["row"]), ranges["rows"], strict=True
        ):
            for row in range(first, first + count):
                held[row].add(register)
        assert [len(registers) for registers in held] == code["live"]
        assert all(
            0 <= first <= last < 64 for runs in use["parts"] for first, last in zip(runs[::2], runs[1::2], strict=True)
        )
        predicated = [row for row, text in enumerate(chunk.rows) if text.startswith("(f")]
        assert {
            row for row in predicated if re.search(r" r\d+\.0<1>", chunk.rows[row]) and " sel" not in chunk.rows[row]
        } <= set(summed(use["partial"]))


def test_rows_that_share_a_number_are_those_of_the_dumps(compiled: Pipeline, chunks: dict[str, KernelChunk]) -> None:
    """Raw text on one side: each instruction of the listing ends with its number, and so does each of vISA."""
    for name, chunk in chunks.items():
        (listing,) = compiled.choose("gen-assembly", name, "text")
        dumped = [re.search(r"\$(\d+)", comment) for comment in comments_of(listing.text)]
        numbers = [int(match[1]) if match else -1 for match in dumped][: len(chunk.rows)]
        assert chunk.ids == numbers
        (visa,) = compiled.choose("visa", name, "text")
        by_line = {
            line: int(match[1])
            for line, text in enumerate(visa.text.split("\n"), start=1)
            if (match := re.search(r"/// \$(\d+)\s*$", text)) and not text.startswith("//")
        }
        stage = chunk.stages["visa"]
        tied = {line: numbers[0] for line, numbers in zip(stage.lines, stage.numbers, strict=True) if numbers}
        assert tied == by_line
        # What machine code is of a vISA instruction that is there.
        known = set(by_line.values())
        with_number = [number for number in numbers if number >= 0]
        assert sum(number in known for number in with_number) > 0.6 * len(numbers)


def test_llvm_is_tied_by_the_compilers_own_map(compiled: Pipeline, chunks: dict[str, KernelChunk]) -> None:
    for name, chunk in chunks.items():
        (numbered,) = compiled.choose("visa-llvm-map", name)
        stated: dict[str, set[int]] = {}
        for text in numbered.text.split("\n"):
            if match := re.match(r"(  .*?)\s*; visa id: (\d+)", text):
                stated.setdefault(bare(match[1]), set()).add(int(match[2]))
        stage = chunk.stages["llvm-codegen"]
        tied = [(row, numbers) for row, numbers in zip(stage.rows, stage.numbers, strict=True) if numbers]
        assert len(tied) > 20
        for row, numbers in tied:
            assert numbers[0] in stated[bare(row)], row
        # No vISA instruction is of two of LLVM's.
        every = [number for _, numbers in tied for number in numbers]
        assert len(every) == len(set(every))
        assert chunk.ids is not None
        reached = set(every) & set(chunk.ids)
        assert len(reached) > 20


def test_a_stage_shows_the_lines_of_its_text(compiled: Pipeline, chunks: dict[str, KernelChunk]) -> None:
    for name, chunk in chunks.items():
        for stage in ("spirv", "llvm-unified", "llvm-codegen", "visa"):
            shown = chunk.stages[stage]
            (snapshot,) = compiled.choose(stage, name, "text")
            lines = snapshot.text.split("\n")
            expected = [lines[line - 1] for line in shown.lines]
            if stage == "spirv":
                expected = [re.sub(r" *; 0x[0-9a-f]{8}$", "", line) for line in expected]
            assert shown.rows == expected
            assert f"{name}" in "\n".join(shown.rows)
            assert not any(row.startswith("!") for row in shown.rows)


def test_waits_are_those_of_the_tokens(chunks: dict[str, KernelChunk]) -> None:
    """A row that waits for a token, by its text, is told the rows that took it, by theirs; through loops too."""
    for chunk in chunks.values():
        waits = chunk.document["code"]["wait"]
        producers: dict[int, list[int]] = {}
        for row, back in zip(summed(waits["row"]), waits["back"], strict=True):
            producers.setdefault(row, []).append(row - back)
        waiting = {row: match[1] for row, text in enumerate(chunk.rows) if (match := re.search(r"\$(\d+)\.", text))}
        assert len(waiting) > 5
        for row, token in waiting.items():
            for producer in producers.pop(row, []):
                assert re.search(rf"\${token}\b(?!\.)", chunk.rows[producer])
            first_taken = next(
                (at for at, text in enumerate(chunk.rows) if re.search(rf"\${token}\b(?!\.)", text)), None
            )
            assert row not in producers or first_taken is None
        assert producers == {}


def test_distances_lead_to_whom_they_count_back_to(program: Program, chunks: dict[str, KernelChunk]) -> None:
    """Of those that a row's text names, and none of other rows; `test_distances_iga64` shows that they are the right ones."""
    for name, chunk in chunks.items():
        rows = [row for row, text in enumerate(chunk.rows) if re.search(r"@\d", text)]
        told = [[back] if isinstance(back, int) else back for back in chunk.document["code"]["distance"]]
        result = [(row, [row - back for back in backs if back]) for row, backs in zip(rows, told, strict=True)]
        assert result == list(distance_waits(program.kernels[name].instructions))
        assert sum(map(len, told)) > 20


def test_registers_are_tied_to_who_wrote_them(program: Program, chunks: dict[str, KernelChunk]) -> None:
    for name, chunk in chunks.items():
        uses = chunk.document["code"]["use"]
        told: dict[int, set[tuple[int, int]]] = {}
        for row, back, register in zip(summed(uses["row"]), uses["back"], uses["register"], strict=True):
            told.setdefault(row, set()).add((register, row - back))
        kernel = program.kernels[name]
        for row in random.Random(name).sample(range(len(chunk.rows)), SAMPLE):
            expected = {(register, writer) for register, writer in kernel.register_links(row).sources if writer >= 0}
            assert told.get(row, set()) == expected
        assert chunk.document["code"]["live"] == list(kernel.pressure.live if kernel.pressure else ())


def test_a_page_is_little_larger_than_the_document(program: Program) -> None:
    document = explore_document([program])
    read = Page("".join(page(document, "/* the viewer */")))
    packed = sum(entry["packed"] for entry in read.index["chunks"].values()) + len(compressed(document.index))
    assert len(read.text) < 1.3 * packed


def compressed(index: object) -> bytes:
    return zlib.compress(json.dumps(index).encode())


def bare(line: str) -> str:
    return re.sub(r"!\d+|#\d+", "", line).rstrip()


def comments_of(listing: str) -> Iterator[str]:
    for line in listing.split("\n"):
        if line.strip() and not line.startswith("//") and not re.match(r"[\w.$]+:\s*(//.*)?$", line):
            yield line.partition("//")[2]
