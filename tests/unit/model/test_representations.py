"""What the nouns show of themselves at a prompt and in a notebook, and what a name that is no kernel raises."""

from __future__ import annotations

import pickle
import re
from array import array
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kernlens
from kernlens import answers
from kernlens.answers import Capture
from kernlens.dataclass import LONGEST_REPR
from kernlens.errors import FormatError, KernlensError, NotFoundError, UnknownKernelError
from kernlens.isa.devices import device
from kernlens.loading.growing import Growing
from kernlens.model.binary import Symbol
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.effects import Effect
from kernlens.model.figures import EVERY_FIGURE
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.model.kernel import Kernel, KernelParts
from kernlens.model.line_table import LineRow
from kernlens.model.module import Module
from kernlens.model.notebook import SHOWN
from kernlens.model.pressure import Pressure
from kernlens.model.program import Kernels, Program
from kernlens.model.register_links import RegisterRows
from kernlens.model.stage import Snapshot
from kernlens.model.stage_text import StageName, StageText
from kernlens.model.stages import IGC_2, STAGES, held
from kernlens.model.sweep_row import SweepRow
from kernlens.pipeline.compile_stages import Pipeline
from tests.unit.analysis.test_comparison import with_code
from tests.unit.report.test_listing import Parts, listed_program
from tests.writers.instruction_records import record

STAGE = IGC_2.stage("visa")


def named(*names: str) -> Program:
    return Program("p", "zebin", Kernels({name: Kernel(name, Parts()) for name in names}), device=device("dg2"))


def test_a_wrong_name_offers_the_nearest() -> None:
    kernels = named("sharpen_mix", "sharpen_hblur", "copy").kernels
    with pytest.raises(KeyError) as caught:
        kernels["sharpen_mx"]
    assert str(caught.value) == (
        "there is no kernel 'sharpen_mx'; the binary holds sharpen_mix, sharpen_hblur (of 3; program.kernels.keys() lists all)"
    )
    assert isinstance(caught.value, UnknownKernelError | NotFoundError)
    assert (
        str(pickle.loads(pickle.dumps(UnknownKernelError("a", ["b"])))) == "there is no kernel 'a'; the binary holds b"
    )
    assert "no kernels at all" in str(UnknownKernelError("a", ()))


def test_a_wrong_attribute_offers_the_nearest() -> None:
    program, kernel = listed_program()
    assert kernel.source_map is not None
    for value, name, message in (
        (kernel, "resource", "Kernel has no attribute 'resource'; did you mean resources?"),
        (kernel.resources, "spills", "KernelResources has no attribute 'spills'; did you mean spill_bytes"),
        (kernel.instructions, "opcode", "Instructions has no attribute 'opcode'; did you mean opcodes?"),
        (kernel.source_map, "place_of", "SourceMap has no attribute 'place_of'; did you mean place"),
        (program, "kernel", "Program has no attribute 'kernel'; did you mean kernels?"),
        (kernlens, "compyle", "module 'kernlens' has no attribute 'compyle'; did you mean compile?"),
        (kernel, "quux", "Kernel has no attribute 'quux'"),
    ):
        with pytest.raises(AttributeError, match=re.escape(message)):
            getattr(value, name)
    assert not hasattr(kernel, "_repr_markdown_")
    assert pickle.loads(pickle.dumps(kernel.resources)) == kernel.resources


def test_kernels_are_a_view_of_any_mapping() -> None:
    class Lazy(Mapping[str, Kernel]):
        """Makes a kernel when it is asked for one, and counts."""

        def __init__(self) -> None:
            self.created: list[str] = []

        def __getitem__(self, name: str) -> Kernel:
            if name not in ("a", "b"):
                raise KeyError(name)
            self.created.append(name)
            return Kernel(name, Parts())

        def __iter__(self):  # type: ignore[no-untyped-def]
            return iter(("a", "b"))

        def __len__(self) -> int:
            return 2

    lazy = Lazy()
    program = Program("p", "zebin", Kernels(lazy))
    assert (len(program.kernels), list(program.kernels.keys()), program.kernels.get("c")) == (2, ["a", "b"], None)
    assert repr(program.kernels) == "<Kernels count=2: a, b>"
    assert lazy.created == []
    assert program.kernels["b"].name == "b"
    assert lazy.created == ["b"]
    assert "a" in program.kernels
    assert "c" not in program.kernels


def test_iterating_over_kernels_gives_kernels_which_stand_for_their_names() -> None:
    kernels = named("a", "b").kernels
    assert [kernel.name for kernel in kernels] == ["a", "b"]
    assert list(kernels) == list(kernels.values()) == list(dict(kernels).values())
    assert all(kernel in kernels and kernels[kernel] is kernel for kernel in kernels)
    assert [(name, kernel.name) for name, kernel in kernels.items()] == [("a", "a"), ("b", "b")]
    assert Kernel("c", Parts()) not in kernels


def test_programs_and_kernels() -> None:
    assert repr(named("a")) == "<Program 'p' format=zebin device=dg2 kernels=1>"
    assert repr(listed_program()[0]) == "<Program 'p' format=raw device=None kernels=1>"
    assert repr(listed_program()[1]) == "<Kernel 'k': SIMD16, 128 GRFs available, no spill, 80 bytes of code>"
    assert repr(Kernels({})) == "<Kernels count=0>"
    assert repr(named(*"abcdefghij").kernels) == "<Kernels count=10: a, b, c, d, e, f, g, h, ...>"
    assert repr(device("dg2")).startswith("<Device dg2: ")


def test_instructions_lines_and_maps() -> None:
    kernel = listed_program()[1]
    assert repr(kernel.instructions) == "<Instructions count=5 bytes=80>"
    assert repr(kernel.instructions[1]) == "<Instruction 0x0010: mov r1>"
    assert repr(kernel.line_table) == "<LineTable rows=6 files=1 version=4>"
    assert kernel.line_table is not None
    assert [repr(kernel.line_table.rows[index]) for index in (0, 5)] == [
        "<LineRow 0x0000: line 10:1 of file 1, statement>",
        "<LineRow 0x0050: line 0 of file 1, end of sequence>",
    ]
    assert repr(LineRow(0, 1, 7, 0)) == "<LineRow 0x0000: line 7 of file 1>"
    assert repr(kernel.source_map) == "<SourceMap instructions=5 lines=3 files=1>"


def test_snapshots_and_pipelines() -> None:
    snapshot = held(STAGE, b"12345", "text", "k")
    assert repr(snapshot) == "<Snapshot visa of k: text, 5 bytes>"
    failed = Snapshot("llvm", None, "binary", ".bc", lambda: b"", failure="the disk is full")
    assert repr(failed) == "<Snapshot llvm: the disk is full>"
    assert repr(Snapshot("llvm", None, "binary", ".bc", lambda: b"", attempt=2)) == "<Snapshot llvm: binary, attempt 2>"

    def pipeline(ok: bool, *snapshots: Snapshot) -> Pipeline:
        reason = None if ok else "1 error"
        return Pipeline(Build("a", "dg2", ok=ok, reason=reason, path="a.cl", parts=HeldParts(snapshots=snapshots)))

    assert repr(pipeline(True, snapshot)) == "<Pipeline source='a.cl' device=dg2 snapshots=1>"
    assert repr(pipeline(False)) == "<Pipeline source='a.cl' device=dg2 snapshots=0 reason='1 error'>"


class Damaged(Parts):
    def resources(self):  # type: ignore[no-untyped-def]
        raise FormatError("it <ends> early", format="ze_info")


def test_a_damaged_kernel_has_a_name_all_the_same() -> None:
    parts: KernelParts = Damaged()
    kernel = Kernel("k", parts)
    assert repr(kernel) == "<Kernel 'k': ze_info: it <ends> early>"
    assert kernel._repr_html_() == "<strong>k</strong> ze_info: it &lt;ends&gt; early"
    assert "ze_info: it &lt;ends&gt; early" in Kernels({"k": kernel})._repr_html_()


def markup(html: str) -> tuple[set[str], str]:
    """The elements of a piece of HTML, and its text; every element that opens must close."""
    opened: list[str] = []
    names: set[str] = set()
    texts: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            opened.append(tag)
            names.add(tag)
            assert {name for name, _ in attrs} <= {"title", "colspan", "style"}

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

        def handle_data(self, data: str) -> None:
            texts.append(data)

    reader = Reader()
    reader.feed(html)
    reader.close()
    assert opened == []
    return names, " ".join(texts)


def test_a_notebook_shows_figures_and_instructions_with_their_lines() -> None:
    program, kernel = listed_program()
    names, text = markup(kernel._repr_html_())
    assert names == {"strong", "details", "summary", "pre"}
    assert re.sub(" +", " ", text).startswith(
        "k SIMD16, 128 GRFs available, no spill Instructions (5) 0x0000 mov r0\n0x0010 11 mov r1"
    )
    assert "0x0040            mov r4" in text, "of no line"
    assert markup(kernel.instructions._repr_html_())[1].splitlines()[1] == "0x0010    mov r1"
    assert isinstance(program.kernels, Kernels)
    names, text = markup(program.kernels._repr_html_())
    assert names == {"div", "table", "thead", "tbody", "tr", "th", "td"}
    assert text.startswith(
        "kernel SIMD GRF count spill bytes scratch SLM barriers code size instructions sends memory bytes"
    )
    assert " k 16 128 0 - - - 80 5 0 0 " in text
    for html in (program.kernels._repr_html_(), kernel.instructions._repr_html_(), kernel._repr_html_()):
        assert all("font-family: monospace" in style for style in re.findall("<(?:pre|div)([^>]*)>", html)), html[:200]
        assert "font-family: monospace" in html


def test_what_a_binary_says_is_text_and_never_markup() -> None:
    evil = "<script>alert(1)</script>"
    kernel = Kernel(evil, Parts())
    vars(kernel)["instructions"] = IntelInstructions(record(), ["mov"], lambda: [f"mov {evil}"])
    vars(kernel)["source_map"] = None
    for html in (kernel._repr_html_(), kernel.instructions._repr_html_(), Kernels({evil: kernel})._repr_html_()):
        names, text = markup(html)
        assert "script" not in names
        assert evil in text


def test_a_long_listing_is_cut() -> None:
    records = b"".join(record(offset=index * 16) for index in range(SHOWN + 3))
    lines = markup(IntelInstructions(records, ["mov"], lambda: ["mov"] * (SHOWN + 3))._repr_html_())[1].splitlines()
    assert (len(lines), lines[-1]) == (SHOWN + 1, "... and 3 more")
    kernel = listed_program()[1]
    html = Kernels({str(number): kernel for number in range(SHOWN + 2)})._repr_html_()
    assert html.count("<tr>") == SHOWN + 1
    assert html.endswith("<p>and 2 more</p></div>")


def public_objects(roots: Iterable[object]) -> Iterator[object]:
    """Every object of a public class that can be reached from others through their attributes, a few of each kind."""
    seen: set[int] = set()
    counts: Counter[type] = Counter()
    held: list[object] = []  # So that no two of them share an id.
    waiting = deque(roots)
    while waiting:
        value = waiting.popleft()
        if isinstance(value, list | tuple | Growing) and not hasattr(value, "_fields"):
            waiting += value[:3]
        elif isinstance(value, Mapping) and not isinstance(value, Kernels):
            waiting += list(value.values())[:3]
        elif type(value).__module__.startswith("kernlens") and id(value) not in seen and counts[type(value)] < 5:
            seen.add(id(value))
            held.append(value)
            counts[type(value)] += 1
            if type(value).__module__.startswith("kernlens.model") or type(value).__name__ in answers.__all__:
                yield value
            names = [name for name in dir(value) if not name.startswith(("_", "find_")) and name not in ("parts",)]
            for name in names:
                with suppress(KernlensError, AssertionError, NotImplementedError, AttributeError):
                    waiting.append(getattr(value, name))


def test_no_public_object_fills_the_screen(tmp_path: Path) -> None:
    (tmp_path / "small.bin").write_bytes(with_code(48))
    (tmp_path / "large.bin").write_bytes(with_code(80, simd=8))
    small, large = tmp_path / "small.bin", tmp_path / "large.bin"
    verdict = kernlens.check([small, large], max_code_size=64, min_simd=16, max_spill=0, max_instructions=4)
    difference = kernlens.diff(small, large)
    listed, kernel = listed_program()
    row = SweepRow("a.cl", "dg2", "system", "NEO", "-cl-fast-relaxed-math " * 9, "k", tuple(range(40)))
    capture = Capture(Path("a.klens"), 0, (), 4, 1, 0, ("x" * 500,))
    line = StageText(StageName("visa", 1, "kernel", False), rows=["mov"] * 9000)
    roots = [verdict, difference, listed, kernel, row, capture, line, *EVERY_FIGURE, *STAGES, *MORE]
    shown: dict[str, str] = {}
    for value in public_objects(roots):
        text = shown.setdefault(type(value).__name__, repr(value))
        assert len(repr(value)) <= LONGEST_REPR, f"{type(value).__name__}: {len(text)} characters: {text}"
        assert "\n" not in repr(value)
    assert len(shown) > 30
    assert shown["Verdict"] == "<Verdict not ok: 3 failed, 5 passed>"
    assert shown["Difference"].startswith("<Difference '")
    assert shown["Difference"].endswith("large.bin': 1 of 1 kernels differ>")
    assert shown["Finding"] == "<Finding 'scale' min-simd: 16 against 16, passed>"
    assert shown["Figure"].startswith("<Figure ")
    assert shown["Capture"] == "<Capture 'a.klens': 4 builds, 1 failed, 0 kernels>"


#: What no file here holds.
MORE = (
    Pressure(array("H", range(5000)), 4999, 4999, 40, 32, False, False),
    RegisterRows(list(range(5000)), list(range(5000))),
    Effect(((2048, (1 << 512) - 1),) * 9, ((2048, (1 << 512) - 1),)),
    Module("m" * 300, "zebin", (), (), (), tuple("kernel" * 90), options="-g " * 100),
    Source("a.cl" * 80, "text" * 900),
    Symbol("s" * 900, 0, 8, "global", "func", ".text", 1, 2),
    named("k" * 900),
    named("k" * 900).kernels,
    Kernel("k" * 900, Parts()),
)
