"""The inputs that the fuzzer starts from, and those that once found something, without the fuzzer."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from kernlens.errors import KernlensError
from tests.fuzz.inputs import SEPARATOR, Choices, parts
from tests.fuzz.rendering import check_document, check_lines
from tests.fuzz.targets import CORPUS, TARGETS
from tests.fuzz.verdict import fault_of

#: Bytes of the whole corpus, at most.
ROOM = 2 << 20


@pytest.mark.parametrize("name", TARGETS)
def test_kept_inputs_are_taken_as_they_should_be(name: str) -> None:
    paths = TARGETS[name].kept_inputs()
    assert paths, f"the fuzzer has nothing to start {name} from"
    faults = {path.name: fault.story for path in paths if (fault := fault_of(TARGETS[name].run, path.read_bytes()))}
    assert not faults, "\n".join(f"{path}:\n{story}" for path, story in faults.items())


def test_the_corpus_is_small_and_belongs_to_the_targets() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    assert sum(path.stat().st_size for path in CORPUS.rglob("*")) < ROOM


def _escape(data: bytes) -> None:
    raise IndexError(data)


def _endless(data: bytes) -> None:
    for _ in itertools.count():
        pass


def _large(data: bytes) -> None:
    bytearray(1 << 30)


def _refused(data: bytes) -> None:
    raise KernlensError("it is damaged")


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (_escape, "IndexError-test_fuzz_corpus-_escape"),
        (_endless, "AssertionError-limits-stop"),
        (_large, "MemoryError-test_fuzz_corpus-_large"),
        (_refused, None),
        (bytes, None),
    ],
)
def test_what_no_input_may_do_is_a_fault(run: Callable[[bytes], None], name: str | None) -> None:
    fault = fault_of(run, b"input", seconds=0.2)
    assert (fault.name if fault else None) == name


def test_printed_texts_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    check_lines(["a\tb\x1b]0;title\x07\n"])
    check_document({"a": "\x7f\x9b\u2028"})
    monkeypatch.setattr("tests.fuzz.rendering.rendered", lambda line: line)
    with pytest.raises(AssertionError, match="x1b"):
        check_lines(["a\x1b[2J"])


def test_parts_and_choices() -> None:
    assert parts(b"a" + SEPARATOR + b"b" + SEPARATOR + b"c", 2) == [b"a", b"b" + SEPARATOR + b"c"]
    assert parts(b"a", 3) == [b"a", b"", b""]
    chosen = Choices(b"\x05\x02ab")
    assert (chosen.one_of("xyz"), chosen.content(chosen.number()), chosen.is_empty) == ("z", b"ab", True)
    assert (chosen.number(), chosen.one_of("xyz")) == (0, "x")
