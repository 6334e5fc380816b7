"""``annotate --own-lines``: instructions of inlined library code on the lines of the user's own files."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from kernlens import compile
from kernlens.analysis.own_lines import kernel_on_own_lines
from kernlens.model.kernel import Kernel
from kernlens.report.explore import explore_document
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.explore_reader import KernelChunk, Page, unpacked
from tests.integration.capture.sycl_fixtures import KERNELS, SyclHost, sycl_host
from tests.unit.conftest import Kernlens, kernlens

__all__ = ["kernlens", "sycl_host"]

#: Headers of a library that are below the project's folder, but in a compiler's; of the project; and of another folder.
FILES = {
    "project/include/sycl/cosine.h": "static float cosine(float x)\n{\n    return native_cos(x) * 3.0f;\n}\n",
    "project/own/damped.h": "static float damped(float x)\n{\n    return cosine(x) / (x + 2.0f);\n}\n",
    "elsewhere/root.h": "static float root(float x)\n{\n    return native_sqrt(x) + native_recip(x);\n}\n",
    "project/k.cl": """\
#include <sycl/cosine.h>
#include <root.h>
#include "own/damped.h"
kernel void k(global float *a)
{
    size_t i = get_global_id(0);
    a[i] = damped(a[i]);
    a[i + 1000] = cosine(a[i + 2000]);
    a[i + 3000] = root(a[i + 4000]);
}
""",
}
OWN_LINES = {7, 8, 9}
#: Where bmg's disassembler is.
NEWEST_ROOT = os.environ.get("KERNLENS_NEWEST_ROOT")


@pytest.fixture(scope="module", params=["dg2", "bmg"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Kernel]:
    """The folder, and the kernel."""
    if request.param == "bmg":
        request.getfixturevalue("newest_root")
    folder = tmp_path_factory.mktemp("own")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    options = ["-I", str(folder / "project/include"), "-I", str(folder / "elsewhere")]
    toolchain = NEWEST if request.param == "bmg" else SYSTEM
    source = folder / "project/k.cl"
    recording = folder / "k.klens"
    (program,) = compile(source, [request.param], options=options, toolchain=toolchain, recording=recording)
    return folder, program.kernels["k"]


def names(kernel: Kernel) -> Counter[str]:
    source_map = kernel.source_map
    assert source_map is not None
    return Counter(place.path.rpartition("/")[2] for place in source_map.places if place)


def test_library_code_is_on_the_own_line_that_it_came_through(compiled: tuple[Path, Kernel]) -> None:
    _, kernel = compiled
    before, laid = names(kernel), names(kernel_on_own_lines(kernel))
    assert set(before) == {"k.cl", "damped.h", "cosine.h", "root.h"}
    # The division is damped.h's, which lies beside the source; so is the cosine that is inlined into that.
    assert set(laid) == {"k.cl", "damped.h"}
    assert sum(before.values()) == sum(laid.values())
    assert laid["damped.h"] > before["damped.h"]
    assert laid["k.cl"] > before["k.cl"]


def test_each_is_laid_on_the_first_own_place_of_its_chain(compiled: tuple[Path, Kernel]) -> None:
    _, kernel = compiled
    own = kernel_on_own_lines(kernel).source_map
    source_map = kernel.source_map
    assert own is not None
    assert source_map is not None
    assert own.origins == source_map.origins
    moved = 0
    for index, place in enumerate(source_map.places):
        if place is None:
            assert own.place(index) is None
            continue
        chain = [place, *source_map.inlined_at(index)]
        first = next(each for each in chain if each.path.rpartition("/")[2] in ("k.cl", "damped.h"))
        assert own.place(index) == own.places[index] == first
        assert [*own.inner_places(index), first, *own.inlined_at(index)] == chain
        moved += first is not place
    assert moved
    counts = Counter((place.path, place.line) for place in own.places if place)
    told = {line: sum(map(len, runs)) for runs_of in (own.lines, own.inherited) for line, runs in runs_of.items()}
    assert told == counts


def test_files_below_a_source_root_are_own(compiled: tuple[Path, Kernel]) -> None:
    folder, kernel = compiled
    assert set(names(kernel_on_own_lines(kernel, [str(folder / "elsewhere")]))) == {"k.cl", "damped.h", "root.h"}


def test_the_command(compiled: tuple[Path, Kernel], kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, _ = compiled
    if NEWEST_ROOT is not None:
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", NEWEST_ROOT)
    recording = folder / "k.klens"
    shown = kernlens("annotate", recording, "--own-lines", "--line", "k.cl:8").out
    assert "; of cosine.h:3, inlined here" in shown
    answer = json.loads(kernlens("annotate", recording, "--own-lines", "--json").out)
    instructions = answer["programs"][0]["kernels"][0]["instructions"]
    inlined = [each for each in instructions if "inlined" in each]
    assert {each["inlined"][0]["path"].rpartition("/")[2] for each in inlined} == {"cosine.h", "root.h"}
    top = json.loads(kernlens("annotate", recording, "--own-lines", "--top", "99", "--json").out)
    lines = {(line["path"].rpartition("/")[2], line["line"]) for line in top["programs"][0]["kernels"][0]["lines"]}
    assert {line for path, line in lines if path == "k.cl"} >= OWN_LINES
    refused = kernlens("annotate", recording, "--own-lines", "--offset", "0")
    assert refused.status == 2


def test_the_page(compiled: tuple[Path, Kernel], kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    """The document of report and serve has the instructions on the same lines, with the switch on and off."""
    folder, kernel = compiled
    if NEWEST_ROOT is not None:
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", NEWEST_ROOT)
    (chunk,) = agrees_with_annotate(folder / "k.klens", kernlens)
    own = kernel_on_own_lines(kernel).source_map
    assert own is not None
    assert [place and chunk.own_line(place) for place in chunk.places] == [
        place and (place.path, place.line) for place in own.places
    ]
    assert {chunk.document["files"][number].rpartition("/")[2] for number in chunk.document["own"]} == {
        "k.cl",
        "damped.h",
    }
    agrees_with_annotate(folder / "k.klens", kernlens, str(folder / "elsewhere"))


def agrees_with_annotate(recording: Path, kernlens: Kernlens, *roots: str) -> list[KernelChunk]:
    """Compares the page's count of each line with that of ``annotate``; returns the chunks of the kernels."""
    from_roots = [word for root in roots for word in ("--source-root", root)]
    page = recording.with_suffix(".html")
    assert kernlens("report", recording, "-o", page, "--paths", *from_roots).status == 0
    shown = Page(page.read_text())
    columns = shown.index["programs"][0]["kernels"]
    chunks = {
        name: KernelChunk(shown.chunk(chunk)) for name, chunk in zip(columns["name"], columns["chunk"], strict=True)
    }
    for option in ((), ("--own-lines",)):
        compared = 0
        top = json.loads(kernlens("annotate", recording, "--top", "100000", "--json", *from_roots, *option).out)
        (program,) = top["programs"]
        assert {kernel["name"] for kernel in program["kernels"]} == set(chunks)
        for each in program["kernels"]:
            counts = {(line["path"], line["line"]): line["costs"]["instructions"] for line in each["lines"] or ()}
            counts = {line: count for line, count in counts.items() if count}
            assert chunks[each["name"]].counts(is_own=bool(option)) == counts
            compared += len(counts)
        assert compared
    return list(chunks.values())


@pytest.fixture(scope="module")
def sycl_recording(sycl_host: SyclHost, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SYCL kernels with lines, optimized for bmg."""
    folder = tmp_path_factory.mktemp("sycl")
    done = sycl_host.captured(folder, KERNELS, "-g")
    assert done.status == 0, done.err
    module, recording = folder / "kernels.spv", folder / "optimized.klens"
    module.write_bytes(done.builds[0].spirv)
    compile(module, ["bmg"], toolchain=NEWEST, recording=recording)
    return recording


def test_the_page_of_sycl_kernels(sycl_recording: Path, kernlens: Kernlens, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many of their instructions are of SYCL's headers."""
    if NEWEST_ROOT is not None:
        monkeypatch.setenv("KERNLENS_NEWEST_ROOT", NEWEST_ROOT)
    on_own = [0, 0]
    for chunk in agrees_with_annotate(sycl_recording, kernlens):
        for number, is_own in enumerate((False, True)):
            counts = chunk.counts(is_own=is_own)
            on_own[number] += sum(count for (path, _), count in counts.items() if path.endswith("rtc_0.cpp"))
    assert 0 < on_own[0] < on_own[1], on_own


def test_where_all_lines_are_own_the_document_says_nothing_of_it(tmp_path: Path) -> None:
    source = tmp_path / "plain.cl"
    source.write_text(
        "static float f(float x)\n{\n    return native_cos(x) / 3.0f;\n}\n"
        "kernel void k(global float *a)\n{\n    a[0] = f(a[1]);\n}\n"
    )
    (program,) = compile(source, ["dg2"], toolchain=SYSTEM)
    shown, begins_on = explore_document([program]), explore_document([program], is_own=True)
    (chunk_id,) = shown.index["programs"][0]["kernels"]["chunk"]
    chunk = KernelChunk(unpacked(shown.chunks[chunk_id]))
    assert any(place and place.calls for place in chunk.places)
    assert "own" not in chunk.document
    assert "own_lines" not in shown.index
    assert begins_on.index["own_lines"] is True
