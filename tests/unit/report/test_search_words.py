"""The chunk that all kernels are searched by: what it says of each, and that no kernel is decoded twice for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from kernlens.model.build import Build
from kernlens.report.explore import explore_document
from kernlens.report.explore.search_words import KernelWords, kernel_words_of, search_document
from tests.explore_reader import unpacked
from tests.unit.report.test_explore_document import built, opened
from tests.writers.programs import decoded

WORDS = KernelWords(Counter({"mov": 2, "send.ugm": 1}), 1, 0, ["blur"], {"a.cl": [3, 1, 9, 5]})


@pytest.fixture(autouse=True)
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Decode with no library, and count for how many kernels."""
    numbers: list[int] = []

    def counted(kernels: Sequence[Any], *words: Any, **others: Any) -> Any:
        numbers.append(len(kernels))
        return decoded(kernels, *words, **others)

    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", counted)
    return numbers


def programs(count: int) -> list[Any]:
    builds: list[Build] = [replace(built(), name=f"p{number}") for number in range(count)]
    return [opened(build) for build in builds]


def test_words_of_a_kernel() -> None:
    (program,) = programs(1)
    words = kernel_words_of(program.kernels["scale"].unread())
    assert sum(words.opcodes.values()) == len(program.kernels["scale"].instructions)
    assert all(name and not name.startswith("(") for name in words.opcodes)
    table = program.kernels["scale"].line_table
    assert table is not None
    ((path, runs),) = words.lines.items()
    assert path == table.files[table.files_of[0]].path
    covered = {line for first, count in zip(runs[::2], runs[1::2], strict=True) for line in range(first, first + count)}
    lines = {line for line in table.lines if line > 0}
    assert lines <= covered
    # Lines that are near to one another are one run.
    assert len(runs) == 2
    assert covered == set(range(min(lines), max(lines) + 1))


def test_lists_are_said_once() -> None:
    other = WORDS._replace(opcodes=Counter({"send.ugm": 7}), atomics=0, barriers=2, functions=["mix", "blur"], lines={})
    document = search_document([[WORDS], [], [other]])
    assert (document["opcodes"], document["functions"], document["files"]) == (
        ["mov", "send.ugm"],
        ["blur", "mix"],
        ["a.cl"],
    )
    assert document["kernels"] == [
        [{"opcodes": [0, 2, 1, 1], "lines": [[0, 3, 1, 9, 5]], "atomics": 1, "functions": [0]}],
        [],
        [{"opcodes": [1, 7], "lines": [], "barriers": 2, "functions": [1, 0]}],
    ]


def test_the_search_decodes_no_kernel_whose_chunk_was_made(calls: list[int]) -> None:
    document = explore_document(programs(20))
    assert calls == [], "the index decodes nothing"
    columns = document.index["programs"][3]["kernels"]
    unpacked(document.chunks[columns["chunk"][0]])
    assert calls == [1]
    search = unpacked(document.chunks[document.index["search"]])
    assert [len(kernels) for kernels in search["kernels"]] == [2] * 20
    assert sum(calls) == 40
    unpacked(document.chunks[document.index["search"]])
    assert sum(calls) == 40, "asked for again, it is at hand"


def test_a_document_without_kernels_has_none() -> None:
    assert explore_document([]).index["search"] is None
