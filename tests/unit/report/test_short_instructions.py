"""Instructions on terminals, shortened as the explorer shortens them (viewer/tests/operands.test.ts has the same cases)."""

from __future__ import annotations

import pytest

from kernlens.report.short_instructions import short_instructions, short_operand
from tests.limits import processor_time

ADD = "        add (16|M0)              r4.0<1>:f     r2.0<1;1,0>:f     -r3.0<0;1,0>:f    {Compacted,I@1} // a comment"


@pytest.mark.parametrize(
    ("operand", "channels", "short"),
    [
        ("r4.0<1>:f", 16, "r4:f"),
        ("r4.2<1;1,0>:f", 16, "r4.2:f"),
        ("-r3.0<0;1,0>:f", 16, "-r3<0>:f"),
        ("-r3.0<0;1,0>:f", 1, "-r3:f"),
        ("r3.0<2;1,0>:w", 8, "r3<2;1,0>:w"),
        ("(abs)r3.0<8;8,1>:f", 8, "(abs)r3:f"),
        ("null<1>:ud", 8, "null"),
        ("(lt)f0.0", 8, "(lt)f0.0"),
        ("0x3f800000:f", 8, "0x3f800000:f"),
        ("r[a0.0, 32]<0;1,0>:f", 8, "r[a0.0, 32]<0>:f"),
    ],
)
def test_an_operand(operand: str, channels: int, short: str) -> None:
    assert short_operand(operand, channels) == short


def test_rows_stand_in_columns_with_what_they_wait_for() -> None:
    texts = [ADD, "(W)     mov (8|M0)  r2.0<1>:ud  r0.0<1;1,0>:ud  {$3.dst}", "(W&~f0.0) jmpi L0", ""]
    assert short_instructions(texts) == [
        "    add       (16|M0) r4:f    r2:f    -r3<0>:f  {I@1}",
        "(W) mov       (8|M0)  r2:ud   r0:ud  {$3.dst}",
        "(W&~f0.0) jmpi         L0",
        "",
    ]
    assert short_instructions([]) == []


def test_no_text_takes_long() -> None:
    with processor_time(5):
        for text in ("(" * 100_000, "a/" * 50_000, "{" * 100_000, "r1.0<" * 50_000, "[" * 100_000, "<1;" * 50_000):
            short_instructions([text])
