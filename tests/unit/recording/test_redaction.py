"""What is overwritten of source text, and what is not."""

from __future__ import annotations

import struct

import pytest

from kernlens.formats.spirv.embedded_text import embedded_texts, without_embedded_texts
from kernlens.recording.redaction import Redaction
from tests.limits import processor_time
from tests.writers.spirv import SpirvWriter, instruction, literal


def test_a_line_wherever_it_stands() -> None:
    line = '\tprintf("%d\\n",\tvalue); // Größe'
    written = b"\x00\xff" + line.strip().encode() + b"\x01"
    left = Redaction([f"int a;\n{line}\n"]).apply(b"before " + written + b" after")
    assert left == b"before \x00\xff" + b"*" * (len(written) - 3) + b"\x01 after"


@pytest.mark.parametrize("line", ["int x[3];", "a  =  b +c;", "/*********/", "unsigned long", "\x01 a b c\x02 d e f g"])
def test_a_line_without_a_word_to_find_it_by(line: str) -> None:
    content = b"x" + line.encode() + b"y"
    assert line.strip().encode() not in Redaction([line]).apply(content)


def test_names_and_short_lines_stay() -> None:
    content = b"vector_add int x; float"
    assert Redaction(["vector_add\nint x;\nfloat\n"]).apply(content) == content


#: Lines that share all words, of which few differ: each place of a text could be any of them.
ALIKE = [f"float4 value_{n} = read_imagef(input, (int2)(x + {n}, y)) * weight + accumulate;" for n in range(4000)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (ALIKE, "".join(f"// Line {n}:  {ALIKE[n % 4000]}\n(W) mad (16|M0) r{n % 128}.0\n" for n in range(8000))),
        (ALIKE, "".join(f"  %{n} = call @read_imagef(ptr %input, (int2)(x + 1, y)) * weight\n" for n in range(15_000))),
        ([f"float x{n:04}" for n in range(4000)], "float y = weight[x0001] + accumulate;\n" * 20_000),
        ([f"q x{'+1' * n}" for n in range(450)], f"q x{'+1' * 450}\nq x+2 q x+2 q x+2\n" * 100),
        ([f"{'(' * n}x + 1;" for n in range(4, 900)], f"{'(' * 900}x + 2\n" * 200),
        ([f"q x {'q x ' * n}," for n in range(2, 200)], "q x " * 40_000),
        ([f"/*{'*' * n}/" for n in range(8, 900)], "*" * 90_000),
        (["*" * n for n in range(8, 1000)], "********x" * 16_000),
        ([f"{'!' * n}word x \\" for n in range(8, 900)], f"{'!' * 900}word x {' ' * 900}\n" * 400),
    ],
    ids=[
        *("listing", "ir", "two words", "nested", "nested before", "repeated", "rulers"),
        *("shorter rulers", "nested after"),
    ],
)
def test_many_lines_that_are_nearly_there_cost_no_more(lines: list[str], text: str) -> None:
    """What each line cost a search of its own for took minutes, and one of backslashes for ever."""
    with processor_time(20):
        left = Redaction(["\n".join(lines)]).apply(text.encode())
    assert len(left) == len(text)
    assert b"= read_imagef(input" not in left


@pytest.mark.slow
def test_a_very_long_line() -> None:
    line = "float a = " + " + ".join(f"value_{number}" for number in range(20_000)) + ";"
    with processor_time(20):
        left = Redaction([line]).apply(b"\0" + line.encode() + b"\0")
    assert b"value_" not in left


@pytest.mark.parametrize(
    "log",
    [
        b"a.h:3:5: error: x\n    int secret = y;\n        ^~~~~~\ndone\n",
        b"a.h:3:5: error: x\r\n    int secret = y;\r\n        ^\r\ndone\r\n",
        b"a.h:3:5: error: x\n    3 |     int secret = y;\n      |     ~~~ ^~~~~~\ndone\n",
    ],
)
def test_what_logs_quote_of_sources_that_nobody_knows(log: bytes) -> None:
    left = Redaction().apply_to_log(log)
    assert len(left) == len(log)
    assert b"secret" not in left
    assert left.startswith(b"a.h:3:5: error: x")
    assert b"done" in left
    assert b"   3 |*" in left or b"|" not in log


TEXT = "kernel void f()\n{\n}\n"


def module(order: str) -> bytes:
    writer = SpirvWriter().add(7, 1, "/src/f.cl").add(7, 2, "//__CSK_MD5:0123").add(7, 3, TEXT * 2)
    writer.add(11, 9, "OpenCL.DebugInfo.100").add(3, 3, 102000, 1, TEXT).add(2, "// continued\n")
    writer.words += [*instruction(12, 5, 6, 9, 35, 1, 2), *instruction(12, 5, 7, 9, 35, 1, 3)]
    return bytes(writer.add(54, 1, 2, 0, 3).add(56).build(order))


@pytest.mark.parametrize("order", ["<", ">"])
def test_texts_in_spirv_wherever_it_lies(order: str) -> None:
    content = b"\x07\x23\x02\x03\x03\x02\x23" + module(order) + b"tail" + module(order)
    assert list(embedded_texts(content)) == [f"{TEXT}// continued\n".encode(), (TEXT * 2).encode()] * 2
    left = without_embedded_texts(content, b"*")
    assert len(left) == len(content)
    assert (
        list(embedded_texts(left))
        == [
            b"***************\n*\n*\n************\n",
            b"***************\n*\n*\n***************\n*\n*\n",
        ]
        * 2
    )
    assert Redaction().apply(left) == left
    spirv = left if order == "<" else bytes(swapped(left[7 : 7 + len(module(order))]))
    assert b"/src/f.cl" in spirv
    assert b"//__CSK_MD5:0123" in spirv


def swapped(content: bytes) -> bytes:
    words = struct.unpack(f">{len(content) // 4}I", content)
    return struct.pack(f"<{len(words)}I", *words)


@pytest.mark.slow
def test_many_beginnings_of_modules_cost_no_more() -> None:
    with processor_time(5):
        assert not list(embedded_texts(struct.pack("<5I", 0x07230203, 0x10000, 0, 9, 0) * 50_000))
        assert not list(embedded_texts(b"\x03\x02\x23\x07" * 200_000))


def test_a_module_that_ends_early() -> None:
    content = module("<")
    for end in range(0, len(content), 3):
        cut = content[:end]
        assert len(without_embedded_texts(cut, b"*")) == end
    assert literal("x") == (0x78,)
