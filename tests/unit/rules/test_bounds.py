"""Bounds of work that no other test notices: each was once taken away, and its test here failed."""

from __future__ import annotations

import asyncio
import errno
import json
import os
from array import array
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from starlette.requests import Request

from kernlens.analysis import parts as parts_module
from kernlens.analysis import source_matching, stage_changes
from kernlens.analysis.comparison import renaming
from kernlens.analysis.linking import unresolved_reasons
from kernlens.analysis.parts import parts
from kernlens.errors import FormatError, KernlensError, ToolError, UnsupportedError
from kernlens.explorer import compile_queue, compile_request, compile_work, served
from kernlens.explorer.compile_work import Results
from kernlens.explorer.responses import RefusedError
from kernlens.explorer.served import Chunks
from kernlens.formats.ar import read_ar
from kernlens.formats.elf.string_table import StringTable
from kernlens.formats.spirv import certain_code, control_flow
from kernlens.model.binary import Container, Section
from kernlens.model.build import Source
from kernlens.model.effects import GENERAL, Effect, Effects
from kernlens.model.line_table import LineTable, SourceFile
from kernlens.model.module import Module, ModuleSymbol, SymbolKind
from kernlens.model.stage_text import NoStages
from kernlens.pipeline import igc_dump
from kernlens.report.explore import passes
from kernlens.toolchain import compile_keys, roots, spirv_disassembly
from kernlens.toolchain.sources import includes, preprocessing
from tests.writers.recordings import snapshot
from tests.writers.spirv import SpirvWriter


def test_steps_of_a_comparison_of_registers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that would take more count as changed."""
    old, new = (
        Effects(32, [Effect((), ((GENERAL + 32 * number, 0xF),)), Effect(((GENERAL + 32 * number, 0xF),), ())], {})
        for number in (10, 20)
    )
    assert renaming.is_renaming(old, new, ["", ""])
    monkeypatch.setattr(renaming, "_FREE_STEPS", 0)
    monkeypatch.setattr(renaming, "_STEPS_PER_INSTRUCTION", 0)
    assert not renaming.is_renaming(old, new, ["", ""])


def test_parts_that_share_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of ten bytes whose sections all are these ten."""
    monkeypatch.setattr(parts_module, "FREE", 0)
    content = memoryview(bytes(10))
    container = Container("zebin", "z", 0, content)
    sections = tuple(Section(number, "s", 1, 0, 0, 0, 10, 0, 0, 1, 0, content) for number in range(40))
    container.find_sections = lambda: sections
    with pytest.raises(FormatError, match="more than 32 times larger"):
        list(parts([container], []))


def _table(*names: str) -> LineTable:
    numbers = array("I", range(1, len(names) + 1))
    zeros = array("I", bytes(4 * len(names)))
    files = tuple(map(SourceFile, ("", *names)))
    return LineTable(files, zeros, numbers, zeros, zeros, array("B", bytes(len(names))), directory="/build")


def test_files_that_a_line_table_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_matching, "_MOST_READS", 3)
    asked: list[str] = []

    def read(path: str) -> None:
        asked.append(path)

    source_matching.match_sources([_table(*(f"{number}.cl" for number in range(9)))], (), read)
    assert len(asked) == 3


def test_empty_lines_before_those_of_a_directive(monkeypatch: pytest.MonkeyPatch) -> None:
    text = '#line 7 "a.cl"\nint a;\n#line 999999999 "b.cl"\nint b;\n'
    monkeypatch.setattr(source_matching, "_MOST_LINES", 10)
    matched = source_matching.match_sources([_table("a.cl", "b.cl")], [Source("x", text)], lambda path: None)
    assert [source.path for source in matched] == ["a.cl"]


def test_lines_of_stages_that_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = (snapshot(name, ".ll", name.encode() * 5) for name in ("a\n", "b\n"))
    assert list(stage_changes.difference(old, new))
    monkeypatch.setattr(stage_changes, "_MOST_DIFF_LINES", 4)
    with pytest.raises(KernlensError, match="too many to compare here"):
        list(stage_changes.difference(old, new))


def test_bytes_of_passes_that_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "MOST_BYTES", 10)
    documents = passes.passes_documents(NoStages(), [snapshot("0000-CG-First", ".ll", bytes(11))], ["add"])
    document = documents["add"]
    assert document["missing"].startswith("the passes have 11 bytes, too many to compare")


def test_names_that_overlap_in_a_string_table() -> None:
    table = StringTable(memoryview(b"x" * 10_000 + b"\0"), format="elf")
    with pytest.raises(FormatError, match="names overlap: together"):
        list(map(table.name, range(10_000)))


def test_a_long_name_in_an_archive() -> None:
    """Members may share what they are named by."""
    names = b"x" * 5000 + b"/\n"
    members = ((b"//", names), (b"/1000", b""), (b"/0", b""))
    written = [b"%-16s%-32s%-10d`\n%s" % (name, b"", len(content), content) for name, content in members]
    (named,) = read_ar(memoryview(b"!<arch>\n" + b"".join(written[:2])))
    assert named.name == "x" * 4000
    with pytest.raises(FormatError, match="does not end within 4096 bytes"):
        read_ar(memoryview(b"!<arch>\n" + b"".join(written)))


def test_names_that_are_compared_for_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    modules = [Module("b", "zebin", (ModuleSymbol("scale_fast", SymbolKind.FUNCTION, None),), (), (), ())]
    assert "nearest exported name is scale_fast" in unresolved_reasons.advise("scale_fas", modules)
    monkeypatch.setattr(unresolved_reasons, "_COMPARED_LENGTH", 8)
    assert "nearest" not in unresolved_reasons.advise("scale_fas", modules)


def test_words_of_a_module_whose_certain_code_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = SpirvWriter().add(21, 10, 32, 0).add(54, 10, 20, 0, 10).add(248, 30).add(253).add(56)
    assert certain_code.certain_mentions(writer.build())
    monkeypatch.setattr(control_flow, "MOST_WORDS", 5)
    assert certain_code.certain_mentions(writer.build()) == {}


def test_bytes_of_a_dump(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(b"0123456789")
    monkeypatch.setattr(igc_dump, "FILE_LIMIT", 4)
    with pytest.raises(UnsupportedError, match="has 10 bytes, at most 4 are read"):
        igc_dump._read(tmp_path / "dump")


@pytest.mark.parametrize(("name", "most"), [("COUNT_LIMIT", 2), ("TOTAL_LIMIT", 30)])
def test_files_that_a_source_includes(name: str, most: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"{number}.h").write_text("// fourteen //\n")
    (tmp_path / "k.cl").write_text("".join(f'#include "{number}.h"\n' for number in range(4)))
    assert len(includes.source_files(tmp_path / "k.cl")) == 5
    monkeypatch.setattr(includes, name, most if name == "COUNT_LIMIT" else 64 + 2 * 15)
    assert len(includes.source_files(tmp_path / "k.cl")) in (2, 3)


@pytest.mark.parametrize("reason", ["it includes too much", "is too large"])
def test_files_of_which_a_key_is_made(reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A compile whose key would take so much is not kept."""
    (tmp_path / "a.h").write_text("/" * 40)
    (tmp_path / "k.cl").write_text('#include "a.h"\n')
    assert compile_keys.files_read(tmp_path / "k.cl", "")
    monkeypatch.setattr(compile_keys, "TOTAL_LIMIT", 45 if reason.startswith("it") else 30)
    with pytest.raises(ValueError, match=reason):
        compile_keys.files_read(tmp_path / "k.cl", "")


def test_macros_of_a_condition() -> None:
    """Each names the next twice: the last would be 1 << 20 characters long, and evaluated."""
    macros = preprocessing.Macros([f"-DA{number}=A{number + 1}+A{number + 1}" for number in range(20)] + ["-DA20=1"])
    assert macros.is_true("A19 == 2") is True
    assert macros.is_true("A10 > 1") is None
    assert macros.is_true("1" + " " * preprocessing._LENGTH_LIMIT) is None


def test_attempts_to_delete_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    attempts: list[object] = []

    def busy(path: object) -> None:
        attempts.append(path)
        assert len(attempts) < 6, "there is no end to it"
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    monkeypatch.setattr(roots, "remove_folder", busy)
    monkeypatch.setattr(roots, "DELETE_ATTEMPTS", 3)
    with pytest.raises(OSError, match="not empty"):
        roots._delete(tmp_path)
    assert len(attempts) == 3


def _sleeping(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / name).write_text("#!/bin/sh\nexec sleep 5\n")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("tool", "holder", "question"),
    [
        ("spirv-dis", spirv_disassembly, lambda spirv: spirv_disassembly.spirv_text(spirv)),
    ],
)
def test_tools_that_never_answer(
    tool: str, holder: object, question: Callable[[bytes], object], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _sleeping(tmp_path, tool, monkeypatch)
    monkeypatch.setattr(holder, "TIMEOUT", 0.2)
    with pytest.raises(ToolError, match="did not finish within"):
        question(bytes(SpirvWriter().build()))


def test_a_table_of_a_sweep_that_is_served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "sweep.json"
    path.write_text(json.dumps({"schema": 1, "rows": []}))
    assert served.sweep_in(str(path)) == {"schema": 1, "rows": []}
    monkeypatch.setattr(served, "_TABLE_LIMIT", 20)
    with pytest.raises(UnsupportedError, match="too much for a sweep's table"):
        served.sweep_in(str(path))


def test_a_body_that_does_not_come(monkeypatch: pytest.MonkeyPatch) -> None:

    async def receive() -> dict[str, object]:
        await asyncio.sleep(5)
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "headers": [(b"content-type", b"application/json")]}, receive)
    monkeypatch.setattr(compile_request, "BODY_TIME", 0.05)
    with pytest.raises(RefusedError) as refused:
        asyncio.run(compile_request.json_body(request))
    assert refused.value.status == 408


def test_pages_whose_serial_number_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compile_queue, "_SESSIONS", 3)

    async def many() -> int:
        compiles = compile_queue.CompileQueue(1, lambda error: None)
        for number in range(10):
            compiles.submit(f"page {number}", 1, [])
        return len(compiles._newest)

    assert asyncio.run(many()) == 3


def test_what_the_explorer_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of compiles and of chunks the newest, however large it is, and others as far as there is room."""
    results = Results()
    sizes = {"old": compile_work.KEPT - 1, "new": 1, "large": compile_work.KEPT + 1}
    for key in sizes:
        results.add(key, SimpleNamespace(size=sizes[key]))  # type: ignore[arg-type]
        assert results.get("old") is not None or key == "large"
    assert len(results.all()) == 1
    monkeypatch.setattr(Chunks, "_content", lambda self, chunk: bytes(served.KEPT // 2 - 1))
    chunks = Chunks(SimpleNamespace(document=None), results)  # type: ignore[arg-type]
    for key in "abc":
        assert chunks.content_of(key) is not None
    assert [chunks.held(key) is not None for key in "abc"] == [False, True, True]
