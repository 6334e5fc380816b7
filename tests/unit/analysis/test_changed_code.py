"""Code that is no longer what its binary describes."""

from __future__ import annotations

from array import array
from dataclasses import replace

import pytest

from kernlens.analysis.changed_code import change_of
from kernlens.isa.intel.raw_code import nops_at_end
from kernlens.loading.program_kernels import ProgramKernels
from kernlens.model.hash_trailer import HashTrailer
from kernlens.model.intel_instructions import END_OF_THREAD, ILLEGAL, LABEL, IntelInstructions
from kernlens.model.line_table import InlinedCall, LineTable, SourceFile
from kernlens.model.stated_code import StatedCode
from tests.writers.instruction_records import record

NAMES = ["mov", "send", "goto", "join", "nop", "ret", "jmpi"]
MOV, SEND, GOTO, JOIN, NOP, RET, JMPI = range(7)
#: Six instructions: a branch over two others to the join, and the end of the thread in the last; 88 bytes.
SIZE = 88
CODE = memoryview(b"\x11" * SIZE)
TABLE = LineTable(
    files=(SourceFile(""), SourceFile("a.cl")),
    offsets=array("I", (0, 16, 40, SIZE)),
    files_of=array("I", (1,) * 4),
    lines=array("I", (1, 2, 3, 3)),
    columns=array("I", (0,) * 4),
    flags=bytes((1, 1, 1, 2)),
    find_code_ends=lambda: {"the debug data's unit": SIZE},
)
STATED = StatedCode(end=SIZE, sites=((28, (12,)),))


def code(
    *more: bytes, end: int = END_OF_THREAD, target: int = 56, joined: int = JOIN, trailer: int | None = None
) -> IntelInstructions:
    records = [
        record(0),
        record(16),
        record(32, size=8, opcode=GOTO, flags=LABEL, targets=(target,)),
        record(40),
        record(56, opcode=joined),
        record(72, opcode=SEND, flags=end),
    ]
    held = None if trailer is None else HashTrailer(trailer, 1, 1)
    return IntelInstructions(b"".join([*records, *more]), NAMES, list, trailer=held)


def change(
    instructions: IntelInstructions, held: memoryview = CODE, stated: StatedCode = STATED, table: LineTable = TABLE
) -> str | None:
    return change_of(held, stated, table, lambda: instructions)


def test_code_as_the_compiler_left_it() -> None:
    assert change(code()) is None
    padded = memoryview(bytes(CODE) + bytes(40))
    assert change(code(), padded) is None, "zeros behind it are padding"
    assert change(code(), padded, StatedCode()) is None, "a symbol of no size tells nothing"


def test_more_code_than_the_table_describes() -> None:
    longer = memoryview(bytes(CODE) + b"\x22" * 32)
    spliced = code(record(88), record(104, opcode=SEND, flags=END_OF_THREAD), end=0)
    words = "the line table describes 88 bytes, the kernel has 120"
    assert change(spliced, longer) == words
    assert change(spliced, longer, StatedCode(end=120)) == words, "though the symbol was told"
    assert change_of(longer, STATED, TABLE, lambda: None) == words, "and though nothing decodes it"


def test_code_behind_the_end_of_a_thread_changes_nothing_before_it() -> None:
    longer = memoryview(bytes(CODE) + b"\x22" * 32)
    behind = code(record(88), record(104, opcode=NOP))
    assert change(behind, longer) is None
    assert change(behind, longer, StatedCode(end=120)) is None
    crossing = code(record(88, opcode=JOIN), record(104), target=88)
    assert change(crossing, longer) == "the line table describes 88 bytes, the kernel has 120"


@pytest.mark.parametrize(("behind", "trailer"), [([NOP], None), ([], 88), ([NOP], 104)])
def test_what_belongs_to_the_end_is_not_behind_it(behind: list[int], trailer: int | None) -> None:
    """As much padding was put in before it as it is long."""
    size = 16 * len(behind) + (64 if trailer else 0)
    held = code(*(record(88, opcode=opcode) for opcode in behind), trailer=trailer)
    words = f"the line table describes 88 bytes, the kernel has {88 + size}"
    assert change(held, memoryview(bytes(CODE) + b"\x22" * size)) == words


@pytest.mark.parametrize(("end", "words"), [(152, None), (120, "the code that is described ends within")])
def test_the_hash_of_the_compiler_is_described_whole(end: int, words: str | None) -> None:
    longer, table = memoryview(bytes(CODE) + b"\x22" * 64), replace(TABLE, offsets=array("I", (0, 16, 88, end)))
    told = change_of(longer[:end], StatedCode(end=end), ending_at(end, table), lambda: code(trailer=88))
    assert (told and told[: len(words or "")]) == words


def test_less_code_than_the_table_describes() -> None:
    assert change(code(), CODE[:72]) == "the line table describes 88 bytes, the kernel has 72"


@pytest.mark.parametrize(
    ("stated", "ends", "words"),
    [
        (StatedCode(end=72), {}, "the line table describes 88 bytes, the kernel's symbol 72"),
        (STATED, {"the debug data's unit": 104}, "the line table describes 88 bytes, the debug data's unit 104"),
        (STATED, {"the unwind data": 72}, "the line table describes 88 bytes, the unwind data 72"),
    ],
)
def test_sizes_that_are_not_equal(stated: StatedCode, ends: dict[str, int], words: str) -> None:
    assert change(code(), CODE, stated, replace(TABLE, find_code_ends=lambda: ends)) == words


@pytest.mark.parametrize(
    ("instructions", "table", "stated", "words"),
    [
        (
            code(),
            replace(TABLE, offsets=array("I", (0, 24, 40, SIZE))),
            STATED,
            "a row of the line table begins at 0x18",
        ),
        (code(), replace(TABLE, find_inlined=lambda: (InlinedCall("f", 16, 48, 1, 1, 0),)), STATED, "ends at 0x30"),
        (code(), TABLE, replace(STATED, sites=((24, (12,)),)), "the driver fills in the bytes at 0x18"),
        (code(), TABLE, replace(STATED, sites=((36, (4,)),)), "the driver fills in the bytes at 0x24"),
        (code(target=60), TABLE, STATED, "the goto at 0x20 leads to 0x3c"),
        (code(target=40), TABLE, STATED, "the goto at 0x20 leads to 0x28"),
        (code(target=200), TABLE, STATED, "the goto at 0x20 leads to 0xc8"),
        (code(end=0), TABLE, STATED, "no thread ends at 0x58"),
    ],
)
def test_what_the_instructions_contradict(
    instructions: IntelInstructions, table: LineTable, stated: StatedCode, words: str
) -> None:
    assert words in (change(instructions, CODE, stated, table) or "")


def test_the_debug_datas_copy_tells_where_the_code_differs() -> None:
    changed = memoryview(bytes(CODE[:42]) + b"\x33" + bytes(CODE[43:]))
    assert change(code(), changed, StatedCode(copy=CODE)) == "it differs from 0x2a on from the copy in the debug data"
    refused = lambda: pytest.fail("code that is its copy needs no decoder")  # noqa: E731
    assert change_of(CODE, StatedCode(copy=CODE), TABLE, refused) is None


def test_a_table_that_only_ends_names_no_line() -> None:
    assert TABLE.has_lines
    only_end = replace(TABLE, offsets=[16], files_of=[1], lines=[1], columns=[0], flags=bytes((2,)))
    assert not only_end.has_lines
    assert not replace(TABLE, lines=[0, 0, 0, 3]).has_lines
    assert not replace(TABLE, offsets=[8, 8, 8, 8]).has_lines


def test_what_generators_put_behind_the_end_of_a_thread() -> None:
    nops = [record(88 + 16 * number, opcode=NOP) for number in range(9)]
    assert code(*nops).ends_thread(15, 9)
    assert not code(*nops).ends_thread(15, 8)
    assert not code(*nops, end=0).ends_thread(15, 9)


def test_what_compilers_put_behind_the_end_of_a_thread() -> None:
    nop = record(88, opcode=NOP)
    assert code(nop).ends_thread(7, 1)
    assert not code(nop).ends_thread(7, 0), "not on each device"
    assert not code(nop, nop).ends_thread(8, 1), "never two"


@pytest.mark.parametrize("opcode", [RET, JMPI])
def test_nothing_stands_behind_the_end_of_a_function(opcode: int) -> None:
    """Functions stand behind the kernel: then padding behind the last tells that instructions before it were cut out."""
    end = record(88, opcode=opcode)
    assert code(end).ends_thread(7, 1)
    assert not code(end, record(104, opcode=NOP)).ends_thread(8, 1)
    assert not code(record(88, opcode=opcode, predicate=1)).ends_thread(7, 1)


SEND_EOT, PLAIN_SEND, NOP_CODE, MOVE, ZERO = (
    bytes.fromhex(text)
    for text in (
        "31010380040000000c7f207000000000",
        "31010380000000000c7f207000000000",
        "60000000000000000000000000000000",
        "61000480204201000000000001000000",
        "61000480204201000000000000000000",
    )
)
HASH = MOVE + MOVE + ZERO + MOVE


@pytest.mark.parametrize(
    ("tail", "number"),
    [
        (SEND_EOT, 0),
        (SEND_EOT + NOP_CODE, 1),
        (SEND_EOT + NOP_CODE + HASH, 1),
        (SEND_EOT + HASH, 0),
        (SEND_EOT + NOP_CODE * 2, 2),
        (PLAIN_SEND, None),
        (PLAIN_SEND + NOP_CODE, None),
        (SEND_EOT + HASH[16:], None),
        (NOP_CODE, None),
        (b"", None),
    ],
)
def test_nops_behind_the_end_of_a_thread(tail: bytes, number: int | None) -> None:
    assert nops_at_end(memoryview(tail)) == number
    assert nops_at_end(memoryview(PLAIN_SEND + tail)) == number


def test_kernels_of_one_binary_that_end_differently() -> None:
    differing = ProgramKernels(codes=lambda: map(memoryview, (SEND_EOT, SEND_EOT + NOP_CODE, PLAIN_SEND)))
    alike = ProgramKernels(codes=lambda: map(memoryview, (SEND_EOT, SEND_EOT, PLAIN_SEND + NOP_CODE)))
    assert (differing.ends_differ, alike.ends_differ, ProgramKernels().ends_differ) == (True, False, False)
    words = "some of the binary's kernels have a nop behind the end of the thread, others none"
    assert change(code(), stated=replace(STATED, ends_differ=True)) == words


def ending_at(end: int, table: LineTable = TABLE) -> LineTable:
    return replace(table, offsets=array("I", (*table.offsets[:3], end)), find_code_ends=dict)


def test_what_is_described_ends_between_instructions() -> None:
    words = "the line table describes 80 bytes, the kernel has 88"
    assert change(code(), CODE, StatedCode(end=80), ending_at(80)) == words


def test_what_no_device_runs_is_no_compilers() -> None:
    illegal = [record(0), record(16, flags=ILLEGAL), record(32, size=56, opcode=SEND, flags=END_OF_THREAD)]
    table = replace(TABLE, offsets=array("I", (0, 16, 32, SIZE)))
    held = IntelInstructions(b"".join(illegal), NAMES, list)
    assert change(held, CODE, StatedCode(end=SIZE), table) == "what stands at 0x10 is no instruction"


def test_padding_behind_a_copy_needs_no_decoder() -> None:
    refused = lambda: pytest.fail("zeros are not decoded")  # noqa: E731
    padded = memoryview(bytes(CODE) + bytes(40))
    assert change_of(padded, StatedCode(copy=CODE), TABLE, refused) is None


def test_generators_put_more_behind_the_end_of_a_thread_than_compilers() -> None:
    nops = [record(88 + 16 * number, opcode=NOP) for number in range(9)]
    longer, end = memoryview(bytes(CODE) + b"\x60" * 144), SIZE + 144
    assert change_of(longer, StatedCode(end=end), None, lambda: code(*nops)) is None
    assert "no thread ends" in str(change_of(longer, StatedCode(end=end), ending_at(end), lambda: code(*nops)))
