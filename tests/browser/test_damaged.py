"""Documents that somebody made by hand: what is wrong in one part is said there, and all the others are shown."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from kernlens.report.explore.explore_document import ExploreDocument
from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels

Chunk = dict[str, Any]
HUGE = 1 << 40


class Raw(ExploreDocument):
    """A document whose index is what it is said to be."""

    @property
    def index(self) -> dict[str, Any]:
        return self._index


def code(**changed: Any) -> Callable[[Chunk], None]:
    return lambda chunk: chunk["code"].update(changed)


def places(**changed: Any) -> Callable[[Chunk], None]:
    return lambda chunk: chunk["places"].update(changed)


def stage(**changed: Any) -> Callable[[Chunk], None]:
    return lambda chunk: chunk["stages"][0].update(changed)


def deep(chunk: Chunk) -> None:
    """A chain of calls so long that to walk each of its ends would take hours."""
    count = 200_000
    chunk["places"] = {
        "file": [0] * count,
        "line": [1] * count,
        "column": [0] * count,
        "caller": [*range(-1, count - 1)],
    }
    chunk["code"]["place"] = [count - 1, 0, 0, 0, 0]


#: What is wrong, and how; five rows of code and one place are right.
WRONG: dict[str, Callable[[Chunk], None]] = {
    "no code object": lambda chunk: chunk.update(code=[1]),
    "files are no list": lambda chunk: chunk.update(files="add.cl"),
    "missing is a number": lambda chunk: chunk.update(missing=3),
    "no stages": lambda chunk: chunk.pop("stages"),
    "sizes are texts": code(size=["16"] * 5),
    "a huge size": code(size=[HUGE] * 5),
    "a negative size": code(size=[-16] * 5),
    "text is a number": code(text=12),
    "more lines than instructions": code(text="mov\n" * 100),
    "places beyond the last": code(place=[HUGE, 0, 0, 0, 0]),
    "places below none": code(place=[-7, 0, 0, 0, 0]),
    "places of another length": code(place=[0]),
    "halves of places": code(place=[0.5, 0, 0, 0, 0]),
    "an opcode that there is not": code(op=[9] * 5),
    "blocks that go back": code(block=[0, 4, -4, 4, -4], depth=[0] * 5),
    "blocks beyond the end": code(block=[0, HUGE], depth=[0, 0]),
    "no first block": code(block=[2], depth=[0]),
    "a branch out of the kernel": code(targets=[[3, 99]]),
    "a branch without a row": code(targets=[[]]),
    "a distance before the beginning": code(distance=[1, [2, 3]]),
    "a distance too many": code(distance=[1] * 9),
    "a distance that is a text": code(distance=["1", "1"]),
    "a wait for nobody": code(wait={"row": [4], "back": [77]}),
    "a message of no kind": code(message={"row": [2], "kind": [5], "kinds": []}),
    "words that are a list": code(message={"row": [2], "kind": [0], "kinds": [{"words": [], "bytes": 1}]}),
    "bytes that are a text": code(message={"row": [2], "kind": [0], "kinds": [{"words": "", "bytes": "many"}]}),
    "live registers of one row": code(live=[1]),
    "a peak beyond the end": code(peak={"row": 77, "registers": 3}),
    "a use of nothing": code(use={"row": [4], "back": [-99], "register": [2]}),
    "a register that is a text": code(use={"row": [4], "back": [1], "register": ["r2"]}),
    "a file that there is not": places(file=[4]),
    "a negative line": places(line=[-3]),
    "a line past all numbers": places(line=[1e300]),
    "a place that calls itself": places(caller=[0]),
    "calls without an end": deep,
    "a stage's line too many": stage(line=[1, 1, 1, 1, 1]),
    "a stage's row of no line": stage(row=[0, 9, 0]),
    "a stage's place beyond the last": stage(place=[5, 0, 0]),
    "a stage without a name": stage(stage=None),
    "functions of nothing": stage(functions=[[]]),
}  # fmt: skip
#: Opcodes, options, types and pipes that every object of JavaScript has something of.
NAMED = [
    "        constructor (8|M0)       r2.0<1>:constructor  r0.0<1;1,0>:toString {constructor,__proto__}",
    "        valueOf (8|M0) (valueOf)f0.0  r2.0<1>:f  r0.0<1;1,0>:f {X@1}",
    "        cmp (8|M0)   (constructor)f0.0  null<1>:f  r2.0<1;1,0>:f  r0.0<1;1,0>:f",
]


def test_a_damaged_kernel_is_an_error_of_its_own(open_report: Open) -> None:
    right = chunk_of(small_document())
    kernels: dict[str, Chunk] = {}
    for name, change in WRONG.items():
        kernels[name] = deepcopy(right)
        change(kernels[name])
    kernels["named"] = chunk_of(small_document(rows=NAMED))
    kernels["named"]["code"]["opcode"] = ["__proto__"]
    # Nobody tells who is waited for: that is nothing wrong.
    kernels["untold"] = deepcopy(right)
    kernels["untold"]["code"]["distance"] = []
    kernels["right"] = right
    viewer = open_report(with_kernels(kernels, opcodes={"mov": "Copies."}), at="#k=right")
    assert viewer.line("gen", "add").is_visible()
    for name in WRONG:
        viewer.kernel(name).click()
        viewer.find(".code-pane .message p", has_text="damaged").wait_for()
        assert viewer.text(".pick .name") == name
    viewer.kernel("named").click()
    for opcode in ("constructor", "valueOf", "cmp"):
        viewer.pin("gen", opcode)
        viewer.find("aside b", has_text=opcode).wait_for()
        assert "function" not in viewer.text("aside")
        assert "native code" not in viewer.text("aside")
    for name in ("untold", "right"):
        viewer.kernel(name).click()
        viewer.find(".pick .name", has_text=name).wait_for()
        viewer.line("gen", "add").wait_for()
    assert viewer.line("source", "a[0] += 1").is_visible()


def test_a_damaged_program_is_listed_as_one(open_report: Open) -> None:
    document = with_kernels({"right": chunk_of(small_document())})
    index = document.index
    columns = deepcopy(index["programs"][0]["kernels"])
    index["programs"] += [
        index["programs"][0] | {"id": "1", "kernels": columns | {"simd": [1, 2, 3]}},
        index["programs"][0] | {"id": "2", "versions": "many"},
        7,
    ]
    viewer = open_report(Raw(index, document.chunks))
    assert viewer.line("gen", "add").is_visible()
    assert viewer.text("nav h2") == "1 kernel\n3 failed"
    failed = viewer.find("nav .k", has_text="failed")
    assert failed.count() == 3
    failed.nth(1).click()
    viewer.find(".source-pane .message p", has_text="versions is no list").wait_for()
    viewer.tab.go_back()
    viewer.line("gen", "add").wait_for()


def test_an_index_that_is_none_is_said(open_report: Open) -> None:
    document = small_document()
    for change, words in (({"schema": 3}, "schema 3"), ({"programs": {}}, "programs is no list")):
        viewer = open_report(Raw(document.index | change, document.chunks))
        assert words in viewer.text(".source-pane .message")
