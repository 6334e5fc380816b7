"""Parts of a document: what fits, what is left out, and the way to the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernlens.agents.cut_answer import Cut, part_at
from kernlens.errors import KernlensError

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=400),
    lambda inside: st.lists(inside, max_size=12) | st.dictionaries(st.text(max_size=6), inside, max_size=5),
    max_leaves=60,
)


def fitted(document: Any, size: int, at: str = "", start: int = 0) -> tuple[Any, list[dict[str, Any]]]:
    cut = Cut()
    return cut.fitted(part_at(document, at, start), size, at, start), cut.left_out


def test_a_list_is_cut_and_goes_on() -> None:
    document = {"name": "k", "rows": [{"number": number} for number in range(100)]}
    shown, left_out = fitted(document, 200)
    assert len(json.dumps(shown)) < 300
    (rest,) = left_out
    count = len(shown["rows"])
    assert rest == {"at": "/rows", "start": count, "of": 100}
    assert 5 < count < 20
    shown, left_out = fitted(document, 200, **{"at": rest["at"], "start": rest["start"]})
    assert shown[0] == {"number": count}
    assert left_out == [{"at": "/rows", "start": count + len(shown), "of": 100}]


def test_a_text_is_cut_and_goes_on() -> None:
    document = {"a/b~c": "0123456789" * 100}
    shown, left_out = fitted(document, 300)
    assert left_out == [{"at": "/a~1b~0c", "start": len(shown["a/b~c"]), "of": 1000}]
    shown, left_out = fitted(document, 10_000, "/a~1b~0c", 995)
    assert (shown, left_out) == ("56789", [])


def test_texts_of_sources_make_room_for_all_else() -> None:
    document = {"sources": [{"path": "a.cl", "text": "x" * 5000}], "rows": list(range(1000))}
    shown, left_out = fitted(document, 5000)
    assert shown["rows"] == list(range(1000))
    assert [each["at"] for each in left_out] == ["/sources/0/text"]


def test_of_a_large_item_the_first_part_is_shown() -> None:
    document = {"kernels": [{"rows": list(range(1000))}, {"rows": []}]}
    shown, left_out = fitted(document, 500)
    assert [each["at"] for each in left_out] == ["/kernels/0/rows", "/kernels"]
    assert left_out[1] == {"at": "/kernels", "start": 1, "of": 2}
    assert shown["kernels"][0]["rows"] == list(range(len(shown["kernels"][0]["rows"])))


@given(DOCUMENTS, st.integers(20, 2000))
def test_what_was_left_out_completes_every_document(document: Any, size: int) -> None:
    """Nothing is lost, whatever the document is, and a document that fits is whole."""
    shown, left_out = fitted(document, size)
    if len(json.dumps(document, ensure_ascii=True, separators=(",", ":"))) <= size:
        assert (shown, left_out) == (document, [])
    for each in sorted(left_out, key=lambda each: -each["at"].count("/")):
        rest, more = fitted(document, 1 << 20, each["at"], each["start"])
        assert more == []
        if each["at"] == "":
            shown = shown + rest
            continue
        parent, _, name = each["at"].rpartition("/")
        holder = part_at(shown, parent, 0)
        key = int(name) if isinstance(holder, list) else name.replace("~1", "/").replace("~0", "~")
        holder[key] = holder[key] + rest
    assert shown == document


@pytest.mark.parametrize(
    ("at", "start"), [("/no", 0), ("rows", 0), ("/rows/3", 0), ("/rows/-1", 0), ("/rows/x", 0), ("/rows", 3), ("", 1)]
)
def test_a_place_that_is_not_there(at: str, start: int) -> None:
    with pytest.raises(KernlensError, match="left_out"):
        part_at({"rows": [1, 2, 3]}, at, start)
