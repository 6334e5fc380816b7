"""What the server of ``kernlens serve`` refuses of requests and of its own command."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from kernlens.errors import NotFoundError
from kernlens.explorer.compile_request import checked_object, checked_text
from kernlens.explorer.responses import RefusedError
from kernlens.explorer.served import open_served


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("\x1b[2", "contains a control character"),
        ("a\nb", "contains a control character"),
        ("", "is no text of 1 to 4 characters"),
        ("abcde", "is no text of 1 to 4 characters"),
        (5, "is no text of 1 to 4 characters"),
    ],
)
def test_texts_that_are_refused(value: object, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        checked_text(value, "'name'", 4)
    assert checked_text("abcd", "'name'", 4) == "abcd"
    assert checked_text("a\nb" * 9, "'text'", None) == "a\nb" * 9


def test_objects_have_the_keys_that_they_need_and_no_others() -> None:
    assert checked_object({"a": 1, "b": 2}, "it", {"a"}, {"b"}) == {"a": 1, "b": 2}
    for value, words in (
        ([], "it must be a JSON object"),
        ({"b": 2}, "it lacks 'a'"),
        ({"a": 1, "c": 3}, "it has an unknown key 'c'"),
    ):
        with pytest.raises(RefusedError, match=words):
            checked_object(cast(Any, value), "it", {"a"}, {"b"})


def test_a_folder_to_include_from_that_is_not_there(tmp_path: Path) -> None:
    source = tmp_path / "a.cl"
    source.write_text("kernel void a() {}\n")
    nothing = cast(Any, None)
    with pytest.raises(NotFoundError, match=r"there is no folder .*absent to include files from"):
        open_served(
            [str(source)],
            source_build=nothing,
            include=[str(tmp_path / "absent")],
            limits=nothing,
            source_roots=(),
            unconfined=True,
        )
