"""Excerpts of explore documents: which kernels, chunks and figures they keep, and what is left of the others."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from kernlens.report.explore import explore_document
from kernlens.report.explore.excerpt import Chosen, Excerpt, Part
from kernlens.report.explore.single_file import page
from tests.explore_reader import Page, referenced
from tests.unit.report.test_explore_document import built, opened
from tests.writers.programs import decoded


@pytest.fixture(autouse=True)
def no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)


def columns(index: Mapping[str, Any]) -> list[list[str]]:
    return [program["kernels"]["name"] for program in index["programs"]]


def test_an_excerpt_has_the_chosen_kernels_and_what_they_need() -> None:
    whole = explore_document([opened(built())], title="whole")
    (program,) = whole.index["programs"]
    first, second = program["kernels"]["name"]
    excerpt = Excerpt([Part(whole)], [Chosen(program["id"], [second])])
    assert columns(excerpt.index) == [[second]]
    lengths = {len(column) for column in excerpt.index["programs"][0]["kernels"].values()}
    assert lengths == {1}
    assert set(excerpt.chunks) < set(whole.chunks)
    assert program["kernels"]["chunk"][0] not in set(excerpt.chunks)
    read = Page("".join(page(excerpt, "viewer")))
    assert referenced(read.index) == set(read.index["chunks"])
    assert read.chunk(program["kernels"]["chunk"][1])["name"] == second
    assert read.index["title"] == "whole"
    assert read.index["programs"][0]["kernels"]["memory"] == [0], "the kernel was decoded, and its figure is known"
    assert first not in json.dumps(columns(read.index))


def test_programs_come_from_several_documents_in_their_order() -> None:
    old, new = (explore_document([opened(built(word))], title=word) for word in ("old", "new"))
    chosen = [Chosen(document.index["programs"][0]["id"]) for document in (new, old)]
    assert chosen[0] != chosen[1]
    excerpt = Excerpt([Part(old), Part(new), Part(old)], [*chosen, Chosen("nobody")], title="both")
    assert [program["id"] for program in excerpt.index["programs"]] == [each.program for each in chosen]
    assert excerpt.index["title"] == "both"
    needed = {chunk for document in (old, new) for chunk in document.chunks if document.chunks.kind(chunk) != "search"}
    assert set(excerpt.chunks) == needed


def test_what_is_cleaned_is_so_in_index_and_chunks() -> None:
    document = explore_document([opened(built("/tmp/secret/x"))], title="/tmp/secret")
    part = Part(document, lambda content: content.replace(b"/tmp/secret", b""))
    (program,) = document.index["programs"]
    read = Page("".join(page(Excerpt([part], [Chosen(program["id"])]), "viewer")))
    everything = json.dumps([read.index, *map(read.chunk, read.index["chunks"])])
    assert "/tmp/secret" in json.dumps(
        [document.index, *(json.loads(document.chunks.content(chunk)) for chunk in document.chunks)]
    )
    assert "/tmp/secret" not in everything


def test_without_tables_of_metadata() -> None:
    document = explore_document([opened(built())])
    (program,) = document.index["programs"]
    for has_tables in (True, False):
        excerpt = Excerpt([Part(document)], [Chosen(program["id"])], has_tables=has_tables)
        assert ("meta" in {document.chunks.kind(chunk) for chunk in excerpt.chunks}) == has_tables
        assert any(stage["meta"] for stage in excerpt.index["programs"][0]["stages"]) == has_tables
