"""Registers as a picture: who wrote a value, who reads it, over which instructions it is held; and the walk over spills."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import kernlens
from kernlens.analysis.flow.live_ranges import live_ranges
from kernlens.analysis.flow.register_uses import register_uses
from kernlens.model.kernel import Kernel
from kernlens.model.register_links import BEFORE_THE_CODE
from kernlens.report.explore import explore_document
from kernlens.toolchain.toolchains import SYSTEM
from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels
from tests.browser.viewer import Viewer

DASH = "\N{EN DASH}"
#: Registers of real kernels that are clicked.
CLICKS = 24


def click(viewer: Viewer, row: int, register: int, *, last: bool = False) -> str:
    """Click a register of an instruction, its first or last word there, and return what is said of it."""
    words = viewer.find(f".gen .cm-line.R{row} .t-r.g{register}")
    (words.last if last else words.first).click()
    return re.sub(r"\n+", "\n", viewer.text("aside .register"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_source_says_who_wrote_it(open_report: Open, theme: str) -> None:
    viewer = open_report(small_document(), theme=theme)
    words = click(viewer, 2, 4)
    assert words.split("\n") == [
        "Register r4", "Written at 0x0010 some.", "Read once: 0x0020.", "Holds its value over 2 instructions.",
    ]  # fmt: skip
    # It lights where it is written and where it is read, and a bar is beside the rows that hold it.
    writer = viewer.find(".gen .cm-line.R1 .t-r.g4")
    reader = viewer.find(".gen .cm-line.R2 .t-r.g4")
    accent = viewer.background(writer)
    assert accent not in (viewer.background(reader), "rgba(0, 0, 0, 0)")
    assert reader.evaluate("element => getComputedStyle(element).outlineStyle") == "solid"
    assert [viewer.find(f".held .{shape}").count() for shape in ("span", "writer", "reader")] == [1, 1, 1]
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    # To its writer, where it stays lit.
    viewer.find("aside .register .link", has_text="0x0010").click()
    assert "&i=0x10" in viewer.address
    assert "Written at 0x0010 some." in viewer.text("aside .register")
    # Clicked again there: all registers of the instruction, a bar for each operand.
    writer.click()
    assert viewer.find("aside .register").count() == 0
    assert viewer.find(".held").count() == 3


def test_what_was_there_before_and_what_nobody_reads(open_report: Open) -> None:
    viewer = open_report(small_document())
    words = click(viewer, 1, 3)
    assert "Not written in this code: it was set before it, as the arguments of the kernel are." in words
    assert "Read once: 0x0010." in words
    words = click(viewer, 4, 127)
    assert "Written at 0x0040 some.\nNobody reads it.\nHolds its value over 1 instruction." in words


def test_several_writers(open_report: Open) -> None:
    """Of other bytes, by a predicate, and on other ways."""
    chunk = chunk_of(small_document())
    use = chunk["code"]["use"]
    # Row 4 reads r6 of rows 1 and 2.
    use |= {
        "row": [1, 1, 2, 0],
        "back": [1, 1, 2, 3],
        "register": [2, 4, 6, 6],
        "value": [1, 3, 4, 4],
        "part": [0, 0, 1, 2],
    }
    use["parts"] = [[0, 31], [0, 3], [4, 7]]
    parts = {**chunk["code"], "use": use}
    ways = {**parts, "use": use | {"part": [0, 0, 1, 1]}}
    predicate = {**parts, "use": use | {"part": [0, 0, 1, 1], "partial": [2]}, "is_lower_bound": True}
    viewer = open_report(with_kernels({name: chunk | {"code": code} for name, code in
                                       {"parts": parts, "ways": ways, "predicate": predicate}.items()}))  # fmt: skip
    for name, words in {
        "parts": f"Written at 0x0010 some (bytes 4{DASH}7) and 0x0020 some (bytes 0{DASH}3).\nRead once: 0x0040.",
        "ways": "Written at 0x0010 some or 0x0020 some. Which of them came last depends on the way that the lanes took.",
        "predicate": "Written at 0x0010 some or 0x0020 some (by a predicate). "
        "Lanes that a predicate leaves out keep what was there before.",
    }.items():
        viewer.find("nav li button", has_text=name).click()
        viewer.find(".pick .name", has_text=name).wait_for()
        shown = click(viewer, 4, 6)
        assert words in shown
        assert ("More may read and write it" in shown) == (name == "predicate")


def test_registers_are_those_of_the_model(open_report: Open, darktable_kernels: Path) -> None:
    """What the page says of registers of a real kernel, with loops, against ``Kernel.register_links`` and the live ranges."""
    stages = kernlens.stages(darktable_kernels / "sharpen.cl", "dg2", toolchain=SYSTEM)
    (program,) = (each for each in stages.programs if each.kernels)
    kernel = program.kernels["sharpen_hblur"]
    viewer = open_report(explore_document([program], has_stages=False), at="#k=sharpen_hblur")
    instructions = kernel.instructions
    named = [
        (row, int(register), place == 0)
        for row, text in enumerate(instructions.texts)
        for place, operand in enumerate(operands(text))
        if (register := re.sub(r"^[-~(abs)]*r(\d+)(?!\[).*|.*", r"\1", operand))
    ]
    several = 0
    for row, number, is_written in random.Random(24).sample(named, CLICKS):
        viewer.tab.evaluate("at => { location.hash = at }", f"k=sharpen_hblur&i={instructions.offsets[row]:#x}")
        viewer.find(f".gen .cm-line.R{row} .t-r.g{number}").first.wait_for()
        # The same register may be destination and source.
        words = click(viewer, row, number, last=not is_written)
        expected = held(kernel, row, number, is_written)
        assert words.split("\n")[1:] == expected, (row, number, is_written)
        several += " or " in expected[0] or " and " in expected[0]
    assert several > 0


def operands(text: str) -> list[str]:
    """Return the destination and the sources of an instruction as IGA writes it."""
    text = re.sub(r"\{[^}]*\}|//.*", "", text)
    words = re.sub(r"^\s*(\([^)|]*\))?\s*[\w.]+\s*(\(\d+\|M\d+\))?", "", text).split()
    return [word for word in words if not re.match(r"\([a-z]+\)f\d", word)]


def held(kernel: Kernel, row: int, register: int, is_written: bool) -> list[str]:
    """Return what the page says, by the model."""
    links = kernel.register_links(row)
    instructions = kernel.instructions
    uses = list(register_uses(instructions))
    known = live_ranges(instructions, uses)
    assert known is not None
    writers = [row] if is_written else sorted({writer for number, writer in links.sources if number == register})
    is_before = BEFORE_THE_CODE in writers
    pairs = [use for use in uses if use.register == register and use.writer in writers]
    values = {known.values[use.writer, register] for use in pairs if is_written or use.reader == row}
    rows = {each for number, run, value in known.ranges for each in run if number == register and value in values}
    if not pairs:
        rows = {each for number, run, _ in known.ranges for each in run if number == register and run[0] == row}
    readers = sorted(
        {use.reader for use in pairs if use.writer != BEFORE_THE_CODE or known.values[-1, register] in values}
    )
    at = [f"{offset:#06x}" for offset in instructions.offsets]
    read = {
        writer: {
            each.read for each in uses if each.writer == writer and each.register == register and each.reader == row
        }
        for writer in writers
    }
    written = [writer for writer in writers if writer != BEFORE_THE_CODE]
    words = [_writers(kernel, written, read, at, is_before=is_before)]
    count = {0: "Nobody reads it.", 1: "Read once: ", 2: "Read twice: "}.get(
        len(readers), f"Read {len(readers)} times: "
    )
    more = f" and {len(readers) - 6} more" if len(readers) > 6 else ""
    words.append(count + ", ".join(at[reader] for reader in readers[:6]) + more + "." * bool(readers))
    runs = [run for number, run, value in known.ranges if number == register and value in values]
    places = f" in {len(runs)} places of the code" if len(runs) > 1 else ""
    words.append(f"Holds its value over {len(rows)} instruction{'s' * (len(rows) != 1)}{places}.")
    return words


def _writers(
    kernel: Kernel, written: Sequence[int], read: dict[int, set[int]], at: Sequence[str], *, is_before: bool
) -> str:
    if not written:
        return "Not written in this code: it was set before it, as the arguments of the kernel are."
    effects = kernel.instructions.effects
    assert effects is not None
    masks = [next(iter(read[writer]), 0) for writer in written]
    names = []
    for writer, bits in zip(written, masks, strict=True):
        notes = []
        if len(set(masks)) > 1:
            runs = [match.span() for match in re.finditer("1+", f"{bits:b}"[::-1])]
            spans = [f"{first}" if end - first == 1 else f"{first}{DASH}{end - 1}" for first, end in runs]
            single = len(spans) == 1 and DASH not in spans[0]
            notes.append(f"{'byte' if single else 'bytes'} {', '.join(spans[:4])}{', …' if len(spans) > 4 else ''}")
        if effects.effects[writer].is_partial:
            notes.append("by a predicate")
        in_brackets = f" ({', '.join(notes)})" if notes else ""
        names.append(f"{at[writer]} {kernel.instructions.opcodes[writer]}{in_brackets}")
    choice = is_before or any(left & right for place, left in enumerate(masks) for right in masks[place + 1 :])
    glue = " or " if choice else " and "
    shown = ", ".join(names[:-1]) + glue + names[-1] if len(names) > 1 else names[0]
    text = f"Written at {shown}{', or before the code.' if is_before else '.'}"
    partial = any(effects.effects[writer].is_partial for writer in written)
    if len(written) == 1 and partial and not is_before:
        return text + (" Lanes that its predicate leaves out keep what was there." if not read[written[0]] else "")
    if choice and partial:
        return f"{text} Lanes that a predicate leaves out keep what was there before."
    return f"{text} Which of them came last depends on the way that the lanes took." if choice else text


def spilling() -> dict[str, Any]:
    """Return a kernel whose second instruction spills, and whose last fills."""
    chunk = chunk_of(small_document())
    (kind,) = chunk["code"]["message"]["kinds"]
    chunk["code"]["message"] = {"row": [1, 3], "kind": [0, 0], "kinds": [kind | {"spill": True, "memory": "scratch"}]}
    return chunk


def test_from_spill_to_spill(open_report: Open) -> None:
    viewer = open_report(with_kernels({"spills": spilling(), "none": chunk_of(small_document())}))
    viewer.find("nav li button", has_text="spills").click()
    viewer.find(".step", has_text="Next spill").wait_for()
    assert viewer.text(".step >> text=Next spill") == "Next spill 2"
    addresses = []
    for key in ("s", "s", "s", "S"):
        viewer.press(key)
        addresses.append(re.findall(r"i=(0x\w+)", viewer.address)[0])
    assert addresses == ["0x10", "0x40", "0x10", "0x40"]
    viewer.find(".step", has_text="Next spill").click()
    assert "&i=0x10" in viewer.address
    assert viewer.axe() == []
    viewer.find("nav li button", has_text="none").click()
    viewer.find(".pick .name", has_text="none").wait_for()
    assert viewer.find(".step", has_text="Next spill").count() == 0
    viewer.press("s")
    viewer.find("footer .told", has_text="Nothing is spilled").wait_for()
