"""The explore document of programs that are written out here: what it says, what it leaves out, and what it costs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kernlens.errors import FormatError, UnsupportedError
from kernlens.loading.open import open_build
from kernlens.loading.stage_maps import Beside
from kernlens.loading.stage_texts import KeptStageTexts
from kernlens.model.advice import Advice
from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from kernlens.model.program import Program
from kernlens.model.stage import Snapshot
from kernlens.report.explore import ExploreDocument, explore_document
from kernlens.report.explore.chunks import id_of
from kernlens.report.explore.packing import encoded, within
from tests.explore_reader import KernelChunk, referenced, unpacked
from tests.limits import memory, processor_time
from tests.writers.programs import SOURCE, binary, decoded
from tests.writers.recordings import snapshot

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "<!-- ]]> --> &amp; \"'`",
    "\x00\x01\x1b[31m\x7f\u202e\u2028",
    "lone \udc80\ud800 halves",
    "x" * 200_000,
]
SURROGATES = re.compile("[\ud800-\udfff]")


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)


def built(word: str = "scale", **fields: Any) -> Build:
    """A build whose names, sources, options, log and stages all hold a word."""
    path = "scale.cl" if "get_global_id" in word else f"{SURROGATES.sub('?', word.replace(chr(0), ''))[:200]}.cl"
    parts = HeldParts(
        log=f"warning: {word}\n    {word}(1);\n    ^\n",
        binary=binary(path),
        sources=(Source(path, f"{SOURCE}// {word}\n"),),
        snapshots=(
            snapshot("llvm-codegen", ".ll", llvm(word).encode("utf-8", "replace")),
            snapshot("visa", ".visaasm", visa(word).encode("utf-8", "replace"), kernel="scale"),
        ),
    )
    fields = {"options": f"-D{word}", "command": f"ocloc {word}", **fields}
    return Build(word, "skl", BuildToolchain(word, word, "1"), parts=parts, **fields)


def llvm(word: str) -> str:
    return (
        f"; {word}\ndefine spir_kernel void @scale() {{\n  call void @other() ; {word}\n  ret void\n}}\n"
        f'declare void @other()\ndeclare void @unused()\n!0 = !{{!"{word}"}}\n'
    )


def visa(word: str) -> str:
    return f'.kernel "scale"\n// {word}\n    mov (M1, 16) V1 V2 /// $7\n    ret (M1, 1) /// $8\n'


def opened(build: Build) -> Program:
    (program,) = open_build(build)
    return program


def kernel_of(document: ExploreDocument, name: str = "scale") -> KernelChunk:
    columns = document.index["programs"][0]["kernels"]
    return KernelChunk(unpacked(document.chunks[columns["chunk"][columns["name"].index(name)]]))


def test_what_the_index_says() -> None:
    document = explore_document([opened(built())], title="a title", version="1.2.3")
    index = document.index
    assert (index["schema"], index["kernlens"], index["title"], index["redacted"]) == (2, "1.2.3", "a title", [])
    (entry,) = index["programs"]
    assert (entry["name"], entry["device"], entry["register_bytes"]) == ("scale", "skl", 32)
    assert entry["options"] == "-gline-tables-only", "what the binary says of itself"
    assert entry["versions"] == ["NEO scale / IGC 1"]
    columns = entry["kernels"]
    assert columns["name"] == ["scale", "plain"]
    assert columns["simd"] == [16, 16]
    assert columns["instructions"] == [3, 3]
    assert columns["lines"] == [1, 0]
    assert list(entry["reasons"]) == ["1"]
    assert set(map(len, columns.values())) == {2}
    assert [(stage["name"], stage["scope"], bool(stage["meta"])) for stage in entry["stages"]] == [
        ("llvm-codegen", "program", True),
        ("visa", "kernel", False),
    ]
    (file,) = entry["files"]
    assert unpacked(document.chunks[file["chunk"]])["text"] == f"{SOURCE}// scale\n"
    assert file["lines"] == 6
    assert referenced(index) == set(index["chunks"]) == set(document.chunks)


def test_rows_of_code_and_their_places() -> None:
    chunk = kernel_of(explore_document([opened(built())]))
    assert [place and (place.path, place.line) for place in chunk.places] == [("scale.cl", 2)] * 2 + [("scale.cl", 3)]
    assert chunk.offsets == [0, 16, 32]
    assert chunk.opcodes == ["mov"] * 3


def test_a_stage_is_cut_to_the_kernel() -> None:
    chunk = kernel_of(explore_document([opened(built())]))
    stage = chunk.stages["llvm-codegen"]
    assert stage.rows == [
        "define spir_kernel void @scale() {", "  call void @other() ; scale", "  ret void", "}", "declare void @other()",
    ]  # fmt: skip
    assert stage.lines == [2, 3, 4, 5, 6]
    assert stage.places == [-2, -1, -1, -2, -2]
    assert [list(numbers) for numbers in chunk.stages["visa"].numbers] == [[], [], [7], [8]]


def test_metadata_is_a_chunk_of_its_own() -> None:
    document = explore_document([opened(built())])
    (stage, _) = document.index["programs"][0]["stages"]
    assert unpacked(document.chunks[stage["meta"]])["stages"] == [{"stage": "llvm-codegen", "text": '!0 = !{!"scale"}'}]


@pytest.mark.parametrize("word", HOSTILE, ids=["tag", "end", "comment", "controls", "halves", "long"])
def test_hostile_words_are_text(word: str) -> None:
    """Every parser takes the document (lone halves of characters are none), and what it holds is the word."""
    failed = built(word, ok=False, reason=f"it is {word}")
    document = explore_document([opened(built(word))], title=word, failed=[failed])
    index = encoded(document.index).decode("utf-8", "strict")
    everything = [index] + [json.dumps(unpacked(frame), ensure_ascii=False) for frame in document.chunks.values()]
    for text in everything:
        assert not any(0xD800 <= ord(character) < 0xE000 for character in text)
    shown = "".join("\N{REPLACEMENT CHARACTER}" if 0xD800 <= ord(each) < 0xE000 else each for each in word)
    assert json.loads(index)["programs"][0]["name"] == shown
    assert json.loads(index)["programs"][1]["reason"].endswith(shown)


def test_no_kernel_is_decoded_for_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(kernels: Sequence[Any], *words: Any, **others: Any) -> Any:
        calls.append(len(kernels))
        return decoded(kernels, *words, **others)

    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", counted)
    programs = [opened(replace(built(), name=f"p{number}")) for number in range(150)]
    with processor_time(20):
        document = explore_document(programs)
        assert sum(len(entry["kernels"]["name"]) for entry in document.index["programs"]) == 300
    assert calls == []
    columns = document.index["programs"][3]["kernels"]
    assert columns["peak"] == columns["memory"] == [None, None]
    unpacked(document.chunks[columns["chunk"][0]])
    assert calls == [1]
    assert document.index["programs"][3]["kernels"]["memory"] == [0, None]


def test_a_chunk_keeps_nothing() -> None:
    program = opened(built())
    document = explore_document([program])
    kernel_of(document)
    assert "instructions" not in vars(program.kernels["scale"])


def test_ids_are_of_what_chunks_are_made_from() -> None:
    first, same = explore_document([opened(built())]), explore_document([opened(built())])
    assert set(first.chunks) == set(same.chunks)
    others = [
        explore_document([opened(built())], version="2"),
        explore_document([opened(replace(built(), name="b"))]),
        explore_document([opened(replace(built(), options="-O1"))], has_stages=False),
    ]
    for other in others:
        kernels = {chunk for chunk in other.chunks if other.chunks.kind(chunk) == "kernel"}
        assert kernels.isdisjoint(first.chunks)
    assert id_of("a", "bc") != id_of("ab", "c")


def test_without_stages() -> None:
    document = explore_document([opened(built())], has_stages=False)
    (entry,) = document.index["programs"]
    assert entry["stages"] == []
    assert "left out" in entry["no_stages"]
    assert kernel_of(document).stages == {}


def test_why_there_are_no_stages_of_what_has_no_source() -> None:
    build = built()
    plain = replace(build, path="", created="2026-01-01", parts=HeldParts(binary=build.binary))
    (entry,) = explore_document([opened(plain)]).index["programs"]
    assert "kernlens capture --stages -o FILE -- APPLICATION" in entry["no_stages"]


def test_why_there_are_no_stages_and_how_to_keep_them() -> None:
    build = built()
    plain = replace(build, path="scale.cl", parts=HeldParts(binary=build.binary))
    (entry,) = explore_document([opened(plain)]).index["programs"]
    assert "kernlens stages scale.cl --device skl --toolchain scale -o FILE" in entry["no_stages"]


def test_what_cannot_be_read_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*words: Any, **others: Any) -> Any:
        raise UnsupportedError("nobody knows the device")

    def damaged(*words: Any, **others: Any) -> Any:
        raise FormatError("the table ends early", format="dwarf")

    document = explore_document([opened(built())])
    chunk = document.index["programs"][0]["kernels"]["chunk"][0]
    with monkeypatch.context() as broken:
        broken.setattr("kernlens.analysis.correlate.correlate", damaged)
        document_of_kernel = unpacked(document.chunks[chunk])
        assert document_of_kernel["missing"]["lines"] == "dwarf: the table ends early"
        assert set(KernelChunk(document_of_kernel).places) == {None}
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", unknown)
    document_of_kernel = unpacked(document.chunks[chunk])
    assert document_of_kernel["code"] is None
    assert document_of_kernel["missing"]["code"] == "nobody knows the device"
    assert [stage["missing"] for stage in document_of_kernel["stages"]] == [None, None]


def test_what_is_too_large_for_a_chunk_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    document = explore_document([opened(built())])
    chunk = document.index["programs"][0]["kernels"]["chunk"][0]
    whole = document.chunks.packed(chunk).size
    monkeypatch.setattr("kernlens.report.explore.chunks.RAW_LIMIT", whole - 1)
    smaller = unpacked(document.chunks[chunk])
    assert {stage["missing"] for stage in smaller["stages"]} == {"it is too large to be shown"}
    assert len(KernelChunk(smaller).rows) == 3
    monkeypatch.setattr("kernlens.report.explore.kernel_chunk.MOST_INSTRUCTIONS", 2)
    smallest = unpacked(document.chunks[chunk])
    assert smallest["code"] is None
    assert "3 instructions are more" in smallest["missing"]["code"]


def test_a_failed_build_has_its_log() -> None:
    document = explore_document([], failed=[built(ok=False, reason="it does not compile")])
    (entry,) = document.index["programs"]
    assert (entry["ok"], entry["kernels"]["name"]) == (False, [])
    assert "it does not compile" in entry["reason"]
    assert "warning: scale" in unpacked(document.chunks[entry["log"]])["text"]


def test_a_file_without_its_text_says_so() -> None:
    build = built()
    (entry,) = explore_document([opened(replace(build, parts=HeldParts(binary=build.binary)))]).index["programs"]
    (file,) = entry["files"]
    assert (file["path"], file["chunk"], file["lines"]) == ("scale.cl", None, None)
    assert "--source-root" in file["missing"]


class Stars:
    """Overwrites a word."""

    def __init__(self, word: str) -> None:
        self.word = word

    def log(self, log: str) -> str:
        return log.replace(self.word, "*" * len(self.word))


def test_redacted_documents_hold_no_source() -> None:
    build = built("int id = get_global_id(0);")
    document = explore_document([opened(build)], redaction=Stars("int id = get_global_id(0);"), failed=[])
    assert document.index["redacted"] == ["source"]
    for chunk, frame in document.chunks.items():
        assert document.chunks.kind(chunk) != "source"
        assert "get_global_id" not in json.dumps(unpacked(frame))
    (file,) = document.index["programs"][0]["files"]
    assert "left out" in file["missing"]


def test_redacted_documents_hold_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sentences quote the source."""
    piece = Advice(
        "slow-built-in", "`secret`", "is 1 instruction", "`native_secret` is a few", "scale.cl", 3, 1, (0,), 4, "differ"
    )
    monkeypatch.setattr("kernlens.report.explore.advice_list.advice_on", lambda *_: [piece])
    program = opened(built())
    plain, redacted = (
        kernel_of(explore_document([program], redaction=redaction)) for redaction in (None, Stars("secret"))
    )
    (entry,) = plain.document["advice"]
    assert entry["sentence"].startswith("`secret` at scale.cl:3:1 is 1 instruction")
    assert (entry["rule"], entry["rows"]) == ("slow-built-in", [0])
    assert redacted.document["advice"] == []
    assert redacted.document["missing"]["advice"] == "the source text was left out (redacted)"


@pytest.mark.slow
def test_what_many_kernels_have_in_common_is_bounded() -> None:
    """A function that all of 2,000 kernels call would be written 2,000 times."""
    body = "  %a = add i32 1, 1, !dbg !1\n" * 20_000
    kernels = "".join(f"define void @k{number}() {{\n  call void @big()\n}}\n" for number in range(2000))
    content = f"define void @big() {{\n{body}}}\n{kernels}".encode()
    texts = KeptStageTexts(Beside.of_stages([Snapshot("llvm-codegen", None, "text", ".ll", lambda: content)]))
    with processor_time(60):
        shown = [texts.of_kernel(f"k{number}")[0] for number in range(2000)]
    whole = [text for text in shown if not text.missing]
    assert 5 < len(whole) < 100
    assert "in common" in shown[-1].missing
    assert not texts.of_kernel("k0")[0].missing, "what was shown once is shown again"


def test_long_lines_take_no_quadratic_time() -> None:
    lines = [" " * 200_000 + "x", "/" * 200_000, '@"' * 100_000, "%" * 200_000, "; 0x" * 50_000, "$" * 200_000]
    text = "define void @k() {\n" + "\n".join(lines) + "\n}\n"
    spirv = 'OpEntryPoint Kernel %1 "k"\n%1 = OpFunction %2 None %3\n' + "\n".join(lines) + "\nOpFunctionEnd\n"
    snapshots = [
        snapshot("llvm-codegen", ".ll", text.encode()),
        snapshot("spirv", ".spvasm", spirv.encode()),
        snapshot("visa", ".visaasm", ("\n".join(lines)).encode(), kernel="k"),
    ]
    with processor_time(20):
        texts = KeptStageTexts(Beside.of_stages(snapshots)).of_kernel("k")
    assert [len(text.rows) for text in texts] == [8, 10, 6]


def pass_of(number: int, name: str, *lines: str) -> Snapshot:
    text = "\n".join(
        ("target triple", "define void @scale() {", *(f"  line {each}" for each in range(20)), *lines, "}", "")
    )
    return snapshot(f"{number:04}-{name}", ".ll", text.encode())


def test_what_each_pass_changed() -> None:
    snapshots = (
        snapshot("llvm-unified", ".ll", pass_of(0, "").content),
        pass_of(0, "CG-First"),
        pass_of(1, "CG-Second", "  %a = add i32 1, 2"),
        pass_of(2, "CG-Part"),
        pass_of(3, "CG-Last", "  %a = add i32 1, 3", *(f"  %{each} = load" for each in range(4000))),
    )
    part = replace(snapshots[3], find_content=lambda: b"loop")
    build = replace(built(), parts=HeldParts(binary=binary("a.cl"), snapshots=(*snapshots[:3], part, snapshots[4])))
    document = explore_document([opened(build)])
    steps = unpacked(document.chunks[document.index["programs"][0]["passes"][0]])["passes"]
    assert [(step["pass"], step["changed"], step["added"], step["removed"]) for step in steps] == [
        ("0000-CG-First", False, 0, 0),
        ("0001-CG-Second", True, 1, 0),
        ("0002-CG-Part", None, None, None),
        ("0003-CG-Last", True, 4001, 1),
    ]
    assert steps[1]["diff"] == "@@ -19,4 +19,5 @@\n   line 17\n   line 18\n   line 19\n+  %a = add i32 1, 2\n }"
    assert steps[3]["diff"] is None
    assert "--diff 0003-CG-Last" in steps[3]["missing"]
    assert explore_document([opened(build)], has_stages=False).index["programs"][0]["passes"] is None


def test_a_large_log_is_cut() -> None:
    with memory(200 << 20):
        document = explore_document([], failed=[replace(built(), parts=HeldParts(log="a" * (20 << 20)))])
        (entry,) = document.index["programs"]
        text = unpacked(document.chunks[entry["log"]])["text"]
    assert text.endswith("too large to be shown")
    assert len(text) < 9 << 20
    assert within("short") == "short"
