"""The join of instructions with rows, the prologue, and the frames of inlined calls."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kernlens.analysis.correlate import correlate, functions_of
from kernlens.model.line_code import LineCode
from kernlens.model.line_table import (
    END_SEQUENCE,
    IS_STMT,
    PROLOGUE_END,
    DebugFunction,
    InlinedCall,
    LineTable,
    SourceFile,
)
from kernlens.model.source_map import (
    FROM_STAGE,
    FROM_TABLE,
    IN_PROLOGUE,
    INHERITED,
    LINE_LOST,
    NO_LINE,
    NO_ROW,
    UNCERTAIN,
    SourceMap,
    SourcePlace,
    StatedPlace,
)  # fmt: skip

Row = tuple[int, int, int, int, int]
"""(offset, file, line, column, flags)"""


def table(*rows: Row, inlined: tuple[InlinedCall, ...] = ()) -> LineTable:
    offsets, files, lines, columns, flags = zip(*rows, strict=True) if rows else ((),) * 5
    return LineTable(
        files=(SourceFile(""), SourceFile("a.cl"), SourceFile("b.h")),
        offsets=array("I", offsets),
        files_of=array("I", files),
        lines=array("I", lines),
        columns=array("I", columns),
        flags=array("B", flags),
        find_inlined=lambda: inlined,
    )


def lines_of(source_map: SourceMap) -> list[int]:
    return [0 if place is None else place.line for place in map(source_map.place, range(len(source_map.offsets)))]


def certain_counts(source_map: SourceMap) -> dict[tuple[str, int], int]:
    return {line: code.certain for line, code in source_map.lines.items()}


def test_a_row_covers_up_to_the_next() -> None:
    rows = table((0, 1, 3, 0, 1), (16, 1, 5, 2, 1), (40, 2, 7, 1, 0), (64, 2, 7, 1, END_SEQUENCE))
    source_map = correlate(array("I", (0, 8, 16, 24, 40, 56)), rows)
    assert list(source_map.row_of) == [0, 0, 1, 1, 2, 2]
    assert source_map.place(2) == SourcePlace("a.cl", 5, 2)
    assert source_map.place(5) == SourcePlace("b.h", 7, 1)


def test_places_by_offset_also_of_a_slice_of_the_instructions() -> None:
    rows = table((0, 1, 3, 0, 1), (16, 1, 5, 2, 1), (32, 1, 5, 2, END_SEQUENCE))
    source_map = correlate(array("I", (0, 8, 16, 24)), rows)
    assert source_map.place_at(16) == SourcePlace("a.cl", 5, 2)
    assert source_map.place_at(12) == SourcePlace("a.cl", 3, 0), "within the instruction at 8"
    assert source_map.place_at(31) == SourcePlace("a.cl", 5, 2)
    assert source_map.place_at(32) is None
    assert source_map.place_at(-1) is None
    assert source_map.place_at(99) is None


def test_of_rows_at_one_offset_the_last_counts() -> None:
    rows = table((0, 1, 3, 0, 1), (16, 1, 4, 0, 1), (16, 1, 5, 0, 1), (32, 1, 5, 0, END_SEQUENCE))
    assert lines_of(correlate(array("I", (0, 16, 24)), rows)) == [3, 5, 5]


def test_nothing_before_the_first_row_behind_the_end_or_in_line_0() -> None:
    rows = table((16, 1, 3, 0, 1), (32, 1, 0, 0, 1), (48, 1, 3, 0, END_SEQUENCE))
    source_map = correlate(array("I", (0, 16, 32, 48, 64)), rows)
    assert list(source_map.row_of) == [NO_ROW, 0, 1, NO_ROW, NO_ROW]
    assert lines_of(source_map) == [0, 3, 0, 0, 0]


def test_sequences_in_any_order() -> None:
    rows = table((32, 1, 9, 0, 1), (48, 1, 9, 0, END_SEQUENCE), (0, 1, 3, 0, 1), (32, 1, 3, 0, END_SEQUENCE))
    assert lines_of(correlate(array("I", (0, 16, 32, 40, 48)), rows)) == [3, 3, 9, 9, 0]


def test_an_empty_table_and_a_kernel_without_instructions() -> None:
    assert list(correlate(array("I", (0, 8)), table()).row_of) == [NO_ROW, NO_ROW]
    assert correlate(array("I"), table((0, 1, 3, 0, 1))).lines == {}


def reference(offsets: Sequence[int], rows: LineTable) -> list[int]:
    """The definition, one instruction at a time, for one ascending sequence."""
    expected = []
    for offset in offsets:
        covering = [row for row, start in enumerate(rows.offsets) if start <= offset]
        row = covering[-1] if covering else NO_ROW
        expected.append(NO_ROW if row == NO_ROW or rows.flags[row] & END_SEQUENCE else row)
    return expected


@given(
    sizes=st.lists(st.sampled_from((8, 16)), max_size=40),
    starts=st.lists(st.integers(0, 50).map(lambda step: 8 * step), min_size=1, max_size=20),
    end=st.integers(0, 60).map(lambda step: 8 * step),
)
def test_the_fast_join_is_the_definition(sizes: list[int], starts: list[int], end: int) -> None:
    offsets = array("I", (sum(sizes[:index]) for index in range(len(sizes))))
    starts.sort()
    rows: list[Row] = [(start, 1, number + 1, 0, IS_STMT) for number, start in enumerate(starts)]
    rows.append((max(end, starts[-1]), 1, 1, 0, END_SEQUENCE))
    whole = table(*rows)
    source_map = correlate(offsets, whole)
    assert list(source_map.row_of) == reference(offsets, whole)
    spread = {index for ranges in source_map.lines.values() for run in ranges for index in run}
    assert spread == {index for index, row in enumerate(source_map.row_of) if row != NO_ROW}


def test_a_line_has_all_its_runs_and_neighbouring_rows_of_one_line_are_one() -> None:
    rows = table((0, 1, 3, 1, 1), (16, 1, 3, 9, 1), (32, 1, 4, 0, 1), (48, 1, 3, 1, 1), (64, 1, 3, 1, END_SEQUENCE))
    source_map = correlate(array("I", range(0, 64, 16)), rows)
    assert source_map.lines == {
        ("a.cl", 3): LineCode((range(0, 2), range(3, 4)), 2),
        ("a.cl", 4): LineCode((range(2, 3),), 1),
    }


def test_the_prologue_ends_at_the_row_that_says_so_if_all_before_is_of_one_line() -> None:
    end = IS_STMT | PROLOGUE_END
    assert table((0, 1, 3, 0, 1), (16, 1, 3, 0, 0), (32, 1, 5, 2, end), (48, 1, 6, 0, end)).prologue_end == 32
    assert table((0, 1, 3, 0, 1), (16, 1, 4, 0, 0), (32, 1, 5, 2, end)).prologue_end == 0
    assert table((0, 1, 3, 0, 1), (16, 2, 3, 0, 0), (32, 1, 5, 2, end)).prologue_end == 0
    assert table((0, 1, 3, 0, 1), (32, 1, 3, 0, END_SEQUENCE), (32, 1, 5, 2, end)).prologue_end == 0
    assert table((0, 1, 3, 0, 1)).prologue_end == table().prologue_end == 0


def test_the_prologue_is_no_lines_work() -> None:
    rows = table((0, 1, 3, 0, 1), (0xD0, 1, 5, 2, 5), (0x100, 1, 5, 2, END_SEQUENCE))
    source_map = correlate(array("I", range(0, 0x100, 16)), rows, 11)
    assert source_map.prologue == 11
    assert [source_map.origin(index) for index in (0, 10, 11, 13)] == [
        IN_PROLOGUE, IN_PROLOGUE, UNCERTAIN, FROM_TABLE,
    ]  # fmt: skip
    assert source_map.place(10) is None
    assert source_map.lines == {("a.cl", 3): LineCode((range(11, 13),), 0), ("a.cl", 5): LineCode((range(13, 16),), 1)}


#: What Debian 12's compiler writes for dg2 of a kernel (0x00, its set-up up to 0x60) that calls two functions, at 0xa0 and
#: 0xc0: the last one's rows begin at 0x60, the others' are lost.
LOST_ROWS: tuple[Row, ...] = (
    (0, 1, 15, 0, 1), (0x60, 1, 1, 0, 1), (0x60, 1, 6, 5, 5), (0xD0, 1, 4, 5, 1), (0xF0, 1, 6, 5, 0),
    (0x100, 1, 6, 5, END_SEQUENCE),
)  # fmt: skip
NAMES = (DebugFunction("k", 0), DebugFunction("middle", 0x60), DebugFunction("last", 0x60))


def joined(
    *rows: Row, functions: tuple[DebugFunction, ...] = NAMES, called: tuple[int, ...] = (0xA0, 0xC0)
) -> SourceMap:
    joined_table = replace(table(*rows), find_functions=lambda: functions)
    offsets = array("I", range(0, 0x100, 16))
    return correlate(offsets, joined_table, 3, (9, 11, 15), functions_of(offsets, 0x100, called, stated=functions))


def test_rows_that_the_compiler_lost_are_not_another_functions() -> None:
    source_map = joined(*LOST_ROWS)
    assert lines_of(source_map) == [0, 0, 0, 15, 15, 15, 0, 0, 0, 0, 0, 0, 0, 4, 4, 6]
    origins = [IN_PROLOGUE] * 3 + [UNCERTAIN] * 3 + [LINE_LOST] * 7 + [FROM_TABLE, UNCERTAIN, FROM_TABLE]
    assert [source_map.origin(index) for index in range(16)] == origins
    assert [(function.name, function.code) for function in source_map.functions] == [
        ("k", range(10)), ("middle", range(10, 12)), ("last", range(12, 16)),
    ]  # fmt: skip
    assert "4 in k, 2 in middle, 1 in last" in str(source_map.warning)


def test_two_rows_at_one_offset_alone_show_that_rows_are_lost() -> None:
    assert lines_of(joined(*LOST_ROWS, functions=())) == lines_of(joined(*LOST_ROWS))


def test_functions_whose_rows_begin_where_they_do_are_whole() -> None:
    rows = (
        LOST_ROWS[0],
        (0x90, 1, 23, 1, 0),
        (0xA0, 1, 9, 0, 1),
        (0xA0, 1, 11, 1, 5),
        (0xC0, 1, 1, 0, 1),
        *LOST_ROWS[3:],
    )
    functions = (DebugFunction("k", 0), DebugFunction("middle", 0xA0), DebugFunction("last", 0xC0))
    source_map = joined(*rows, functions=functions)
    assert source_map.warning is None
    assert lines_of(source_map)[3:] == [15] * 6 + [23, 11, 11, 1, 4, 4, 6]


def test_a_function_of_the_compilers_library_has_no_name() -> None:
    functions = (DebugFunction("k", 0), DebugFunction("last", 0xC0))
    assert [function.name for function in joined(*LOST_ROWS, functions=functions).functions] == ["k", None, "last"]


def test_symbols_name_functions_and_tell_those_that_nothing_calls_directly() -> None:
    offsets = array("I", range(0, 0x100, 16))
    functions = functions_of(offsets, 0xF8, (0xA0,), {0: "k", 0xC0: "taken", 0xE0: None, 0x100: "outside"}, NAMES)
    assert [(function.name, function.code, function.offset, function.size) for function in functions] == [
        ("k", range(10), 0, 0xA0),
        (None, range(10, 12), 0xA0, 0x20),
        ("taken", range(12, 14), 0xC0, 0x20),
        (None, range(14, 16), 0xE0, 0x18),
    ]


def test_a_kernel_without_calls_loses_nothing() -> None:
    source_map = joined(*LOST_ROWS, called=())
    assert source_map.functions == ()
    assert source_map.warning is None
    assert lines_of(source_map)[6:10] == [6] * 4


def test_where_stages_were_kept_they_tell_what_the_table_lost_and_what_it_guessed() -> None:
    told, call = SourcePlace("a.cl", 21, 7), SourcePlace("a.cl", 22, 1)
    stated: list[StatedPlace | None] = [None] * 16
    stated[6], stated[7], stated[14] = StatedPlace(told, (call,)), StatedPlace(None), StatedPlace(None)
    stated[3] = StatedPlace(SourcePlace("a.cl", 15, 9))
    stated[4] = StatedPlace(SourcePlace("a.cl", 16))
    source_map = replace(joined(*LOST_ROWS), stated=stated)
    assert [source_map.origin(index) for index in (3, 4, 5, 6, 7, 8, 13, 14)] == [
        FROM_TABLE, UNCERTAIN, UNCERTAIN, FROM_STAGE, NO_LINE, LINE_LOST, FROM_TABLE, INHERITED,
    ]  # fmt: skip
    assert certain_counts(source_map) == {("a.cl", 15): 1, ("a.cl", 21): 1, ("a.cl", 4): 1, ("a.cl", 6): 1}
    assert "4 of 6 instructions" in str(source_map.uncertainty)
    assert "neither the line table nor the compile stages tell" in str(source_map.uncertainty)
    assert source_map.place(6) == told
    assert source_map.inlined_at(6) == (call,)
    assert source_map.lines["a.cl", 21] == LineCode((range(6, 7),), 1)
    assert source_map.lines["a.cl", 4] == LineCode((range(13, 14),), 1)
    assert source_map.inherited == {("a.cl", 4): (range(14, 15),)}
    assert "tell the line of 1 of them" in str(source_map.warning)


def test_the_first_instruction_of_a_row_is_certain_but_for_a_functions_first_row() -> None:
    rows = table(
        (0, 1, 3, 0, 1), (16, 1, 5, 2, 1), (48, 1, 0, 0, 0), (64, 1, 5, 2, 0), (72, 2, 7, 1, 0), (96, 2, 7, 1, END_SEQUENCE),
        (96, 1, 9, 0, 1), (112, 1, 9, 4, 0), (144, 1, 9, 4, END_SEQUENCE),
    )  # fmt: skip
    source_map = correlate(array("I", range(0, 144, 16)), rows)
    # The row at 72 begins within an instruction, so that no instruction is certainly of its line.
    expected = [UNCERTAIN, FROM_TABLE, UNCERTAIN, NO_LINE, FROM_TABLE, UNCERTAIN, UNCERTAIN, FROM_TABLE, UNCERTAIN]
    assert source_map.origins == [source_map.origin(index) for index in range(9)] == expected
    assert list(source_map.certain) == [origin in (FROM_TABLE, NO_LINE) for origin in expected]
    assert certain_counts(source_map) == {("a.cl", 3): 0, ("a.cl", 5): 2, ("b.h", 7): 0, ("a.cl", 9): 1}
    lines = [source_map.line_of(index) for index in range(9)]
    assert [each.is_certain for each in lines] == [origin == FROM_TABLE for origin in expected]
    assert [each.line for each in lines[:4]] == [("a.cl", 3), ("a.cl", 5), ("a.cl", 5), None]
    assert str(source_map.uncertainty).startswith(
        "3 of 8 instructions under source lines are certain, as the compiler gave them this line; the others may be"
    )


def test_of_a_compiler_whose_rows_are_not_known_nothing_is_certain() -> None:
    source_map = correlate(array("I", (0, 16)), table((0, 1, 3, 0, 1), (16, 1, 5, 2, 1)), begins_own=False)
    assert source_map.origins == [UNCERTAIN, UNCERTAIN]
    assert "0 of 2 instructions" in str(source_map.uncertainty)
    assert "kernlens stages" not in str(source_map.uncertainty)


def test_inlined_frames_innermost_first() -> None:
    calls = (
        InlinedCall("outer", 16, 64, 1, 10, 2, 0),
        InlinedCall("outer", 80, 96, 1, 10, 2, 0),
        InlinedCall("inner", 32, 48, 2, 20, 3, 1),
        InlinedCall("gone", 50, 50, 2, 99, 3, 1),
    )
    source_map = correlate(array("I", range(0, 112, 16)), table((0, 1, 3, 0, 1), inlined=calls))
    outer, inner = SourcePlace("a.cl", 10, 2), SourcePlace("b.h", 20, 3)
    frames = [source_map.inlined_at(index) for index in range(7)]
    assert frames == [(), (outer,), (inner, outer), (outer,), (), (outer,), ()]


def test_a_call_from_a_file_that_is_not_there_has_no_path() -> None:
    calls = (InlinedCall("f", 0, 16, 7, 10, 2, 0),)
    source_map = correlate(array("I", (0, 8)), table((0, 1, 3, 0, 1), inlined=calls))
    assert source_map.inlined_at(1) == (SourcePlace("", 10, 2),)


CALLS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda span: (8 * span[0], 8 * (span[0] + span[1]))), max_size=8
)  # fmt: skip


@given(spans=CALLS)
def test_frames_of_nested_calls_are_those_whose_range_holds_the_instruction(spans: list[tuple[int, int]]) -> None:
    nested: list[InlinedCall] = []
    low, high = 0, 1 << 12
    for depth, (start, end) in enumerate(spans):
        low, high = max(low, start), min(high, end)
        nested.append(InlinedCall("f", low, high, 1, depth + 1, 0, depth))
    offsets = array("I", range(0, 400, 8))
    source_map = correlate(offsets, table((0, 1, 3, 0, 1), inlined=tuple(nested)))
    for index, offset in enumerate(offsets):
        around = [call.call_line for call in nested if call.low <= offset < call.high]
        assert [place.line for place in source_map.inlined_at(index)] == around[::-1]


def test_what_follows_an_end_of_thread_in_the_same_row_has_no_row() -> None:
    rows = table((0, 1, 3, 0, 1), (64, 1, 9, 0, 1), (96, 1, 9, 0, 3))
    source_map = correlate(array("I", range(0, 96, 16)), rows, stops=[1, 4])
    assert lines_of(source_map) == [3, 3, 0, 0, 9, 0]
