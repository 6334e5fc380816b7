"""The instructions of an edited text: which old one each is, and the bytes that each becomes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import AssemblyError, bounded
from kernlens.formats.listings.editable_code import EditedCode, EditedLine
from kernlens.isa.intel.assembler_process import AssemblerMessage
from kernlens.isa.intel.assembly_text import CodeText, mnemonic_of, spans
from kernlens.model.code_moves import CodeMoves

#: What stands for an instruction of 16 bytes whose own are known.
_STAND_IN = "nop"
#: How far behind the line before an old instruction is looked for that a line without an offset may be.
_NEAR = 32
#: Messages of the assembler that an error repeats.
_MOST_TOLD = 20
#: The characters of each of them, and of its line.
_MOST_QUOTED = 200
#: Of the options in braces those of the scoreboard, and the syncs that wait for nothing but it.
_BRACES = re.compile(r"\{([^{}]*)\}\s*$")
_SCOREBOARD = re.compile(r"(?:\$\d+(?:\.(?:src|dst|inst))?|[AFILMSP]?@\d+|NoAccSBSet)$")
_SYNC = re.compile(r"(?:\([^()]*\)\s*)*sync\.(?:nop|allrd|allwr)\b")
#: Bytes of an instruction that is not compacted, and where the distances begin in a branch of so many.
_WHOLE_SIZE, _BRANCH = 16, 8
#: What waits for everything before it.
_WAIT_FOR_ALL = ("sync.nop null {A@1}", "sync.allwr null")


@dataclass(frozen=True, eq=False)
class OldCode:
    """The code that was edited: its bytes, its text, and of each row that branches where to. ``relocated`` are the rows that
    the driver fills something into; ``fixed`` is the size of the code at its start that loads the payload."""

    code: bytes = field(repr=False)
    text: CodeText
    branches: Mapping[int, tuple[int, ...]] = field(repr=False)
    relocated: Collection[int] = field(repr=False)
    fixed: int = 0


@dataclass(frozen=True, eq=False)
class NewCode:
    """The code of an edited text. ``unchanged`` says of each new row whether it has its old words; ``lines`` are the numbers of
    the rows' lines in the text, 0 for an instruction that the assembler added. ``warnings`` are sentences."""

    code: bytes = field(repr=False)
    moves: CodeMoves
    unchanged: Sequence[bool] = field(repr=False)
    lines: Sequence[int] = field(repr=False)
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Matched:
    """A line, the old row that it is or was changed from, and whether its words are that row's."""

    line: EditedLine
    origin: int | None
    is_unchanged: bool


def assemble_edit(old: OldCode, edit: EditedCode, *, reuses: bool = True, sets_scoreboard: bool = False) -> NewCode:
    """Return the code of an edited text. ``reuses``: lines that were not changed keep their bytes; without, all are the
    assembler's. ``sets_scoreboard``: the library says anew who waits for whom, behind the code that loads the payload.

    Raises AssemblyError for a text that the library refuses, with its lines and columns; ToolError if it crashes on it.
    """
    matched = _matched(old, edit.instructions)
    if sets_scoreboard:
        return _with_scoreboard(old, edit, matched)
    code, messages, stand_ins = _assembled(old, edit, matched, reuses=reuses)
    pieces = _pieces(code)
    if len(matched) != len(pieces):
        raise AssemblyError(
            f"the assembler made {len(pieces)} instructions of {len(matched)} lines; write one instruction in each line"
        )
    return _joined(old, matched, pieces, messages, stand_ins, reused=len(matched) if reuses else 0)


def _with_scoreboard(old: OldCode, edit: EditedCode, matched: Sequence[_Matched]) -> NewCode:
    """Return the code with tokens and distances set anew. Threads begin at fixed places in the code that loads their payload:
    it stays as it is written, and behind its first instruction that all threads run, all of it is waited for."""
    count = _fixed_count(old, matched)
    begin = matched[count].line.number if count < len(matched) else len(edit.lines) + 1
    fixed, rest = matched[:count], [each for each in matched[count:] if not _SYNC.match(each.line.words)]
    # Labels right before the first line of the rest belong to it.
    while begin > 1 and (not edit.lines[begin - 2].strip() or edit.lines[begin - 2].rstrip().endswith(":")):
        begin -= 1
    head = replace(edit, lines=[*edit.lines[: begin - 1], *(_WAIT_FOR_ALL if count else ())])
    code, messages, stand_ins = _assembled(old, head, fixed, reuses=True)
    lines = ["" for _ in edit.lines[: begin - 1]] + list(edit.lines[begin - 1 :])
    for each in matched[count:]:
        line = each.line
        is_wait = _SYNC.match(line.words)
        lines[line.number - 1] = line.label if is_wait else _without_scoreboard(lines[line.number - 1])
    answer = old.text.assemble("\n".join(lines) + "\n", sets_scoreboard=True)
    if answer.code is None:
        raise AssemblyError(_refusal(edit, answer.messages))
    pieces, more = _pieces(code), _pieces(answer.code)
    rows: list[_Matched | None] = [*fixed, *(None for _ in pieces[count:])]
    left = iter(rest)
    for text in old.text.texts_of(answer.code):
        rows.append(None if _SYNC.match(" ".join(text.split())) else next(left, None))
    if len(rows) != len(pieces) + len(more) or next(left, None) is not None:
        raise AssemblyError("the assembler made other instructions of the lines; write one instruction in each line")
    return _joined(old, rows, [*pieces, *more], (*messages, *answer.messages), stand_ins, reused=count)


def _fixed_count(old: OldCode, matched: Sequence[_Matched]) -> int:
    """Return how many lines are of the code that loads the payload, and the first behind it."""
    if not old.fixed:
        return 0
    rows = [row for row, offset in enumerate(old.text.offsets) if offset <= old.fixed]
    inside = [number for number, each in enumerate(matched) if each.origin is not None and each.origin in rows]
    return inside[-1] + 1 if inside else 0


def _pieces(code: bytes) -> list[bytes]:
    return [code[offset : offset + size] for offset, size in spans(code)]


def _matched(old: OldCode, lines: Sequence[EditedLine]) -> list[_Matched]:
    offsets, texts = old.text.offsets, [" ".join(text.split()) for text in old.text.texts]
    rows = {offset: row for row, offset in enumerate(offsets)}
    named = {rows[line.offset] for line in lines if line.offset in rows}
    unchanged_rows = {
        rows[line.offset] for line in lines if line.offset in rows and texts[rows[line.offset]] == line.words
    }
    matched = []
    taken: set[int] = set()
    behind = 0
    for line in lines:
        row = rows.get(line.offset) if line.offset is not None else None
        if row is None:
            near = range(behind, min(behind + _NEAR, len(texts)))
            row = next((each for each in near if each not in named | taken and texts[each] == line.words), None)
        is_unchanged = row is not None and texts[row] == line.words
        if row is not None and not is_unchanged and (row in unchanged_rows or row in taken or _loses(old, row, line)):
            row = None  # A copy of a line that was changed.
        if row is not None:
            taken.add(row)
            behind = row + 1
        matched.append(_Matched(line, row, is_unchanged))
    return matched


def _loses(old: OldCode, row: int, line: EditedLine) -> bool:
    """Return whether a changed line has no place for what the driver fills into the old instruction."""
    return row in old.relocated and mnemonic_of(old.text.texts[row]) != mnemonic_of(line.words)


def _size(old: OldCode, matched: _Matched) -> int:
    assert matched.origin is not None
    ends = [*old.text.offsets[1:], len(old.code)]
    return min(_WHOLE_SIZE, ends[matched.origin] - old.text.offsets[matched.origin])


def _keeps_bytes(old: OldCode, matched: _Matched) -> bool:
    return matched.is_unchanged and matched.origin is not None and matched.origin not in old.branches


def _assembled(
    old: OldCode, edit: EditedCode, matched: Sequence[_Matched], *, reuses: bool
) -> tuple[bytes, tuple[AssemblerMessage, ...], set[int]]:
    """Return the assembler's code, its warnings, and the lines that others stand for, as their bytes are known: unchanged
    ones of 16 bytes, also branches if it refuses them."""
    stand_ins = {
        number
        for number, each in enumerate(matched)
        if reuses and _keeps_bytes(old, each) and _size(old, each) == _WHOLE_SIZE
    }
    while True:
        lines = list(edit.lines)
        for number in stand_ins:
            line = matched[number].line
            lines[line.number - 1] = f"{line.label} {_STAND_IN}".lstrip()
        answer = old.text.assemble("\n".join(lines) + "\n")
        if answer.code is not None:
            return answer.code, answer.messages, stand_ins
        wrong = {message.line for message in answer.messages if not message.is_warning}
        more = {
            number
            for number, each in enumerate(matched)
            if each.line.number in wrong and each.is_unchanged and _size(old, each) == _WHOLE_SIZE
        }
        if not reuses or not more - stand_ins:
            raise AssemblyError(_refusal(edit, answer.messages))
        stand_ins |= more


def _without_scoreboard(text: str) -> str:
    match = _BRACES.search(text)
    if match is None:
        return text
    options = [option.strip() for option in match[1].split(",")]
    others = [option for option in options if not _SCOREBOARD.match(option)]
    return text[: match.start()] + (f"{{{','.join(others)}}}" if others else "")


def _refusal(edit: EditedCode, messages: Sequence[AssemblerMessage]) -> str:
    """Return the words of an error: each message with its line and column, and the line."""
    errors = [message for message in messages if not message.is_warning]
    told = []
    for message in errors[:_MOST_TOLD]:
        line = edit.lines[message.line - 1].strip() if 0 < message.line <= len(edit.lines) else ""
        text = bounded(" ".join(message.text.split()), _MOST_QUOTED)
        below = f"\n    {bounded(line, _MOST_QUOTED)}" if line else ""
        told.append(f"line {message.line}, column {message.column}: {text}{below}")
    more = len(errors) - len(told)
    return (
        "\n".join(told + ([f"and {more} more"] if more > 0 else []))
        or "the assembler refuses the text and gives no reason"
    )


def _joined(
    old: OldCode,
    rows: Sequence[_Matched | None],
    pieces: Sequence[bytes],
    messages: Sequence[AssemblerMessage],
    stand_ins: set[int],
    *,
    reused: int,
) -> NewCode:
    """Return the code of the rows, of which the first ``reused`` keep their bytes where they were not changed."""
    starts = [*old.text.offsets, len(old.code)]
    code, offsets = bytearray(), []
    for number, (each, piece) in enumerate(zip(rows, pieces, strict=True)):
        offsets.append(len(code))
        if each is None:
            code += piece
            continue
        new = old.text.repaired(piece, mnemonic_of(each.line.words))
        if number < reused and each.is_unchanged and each.origin is not None:
            before = old.code[starts[each.origin] : starts[each.origin + 1]]
            if each.origin not in old.branches or number in stand_ins:
                new = before[: len(piece)]
            elif len(before) >= len(piece) == _WHOLE_SIZE:
                # The distances may have changed, and nothing else.
                new = before[:_BRANCH] + piece[_BRANCH:]
        code += new
    trailing = old.code[_end(old) :]
    code += trailing
    offsets.append(len(code))
    moves = CodeMoves(starts, offsets, [None if each is None else each.origin for each in rows])
    told = [
        f"line {message.line}, column {message.column}: {bounded(' '.join(message.text.split()), _MOST_QUOTED)}"
        for message in messages
    ]
    gone = [row for row in old.relocated if row not in moves.new_row_of]
    told += [
        f"the driver filled a value into the instruction at {starts[row]:#x}, which is gone" for row in sorted(gone)
    ]
    return NewCode(
        bytes(code),
        moves,
        [each is not None and each.is_unchanged for each in rows],
        [0 if each is None else each.line.number for each in rows],
        tuple(told),
    )


def _end(old: OldCode) -> int:
    """Return where the last instruction of the old code ends: behind it are bytes that are none."""
    end = 0
    for offset, size in spans(old.code):
        end = offset + size
    return end
