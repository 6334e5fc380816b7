"""Listings of kernels, as ``annotate`` and ``disasm`` print them: piece by piece, and in several processes if that pays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice, starmap
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kernlens.cli.output import is_coloured, print_message, terminal_width
from kernlens.cli.shares import in_shares
from kernlens.dataclass import NamedTuple
from kernlens.errors import KernlensError, NoCodeError, UnsupportedError
from kernlens.loading.decoded_kernels import decode_kernels
from kernlens.loading.open import Contents, Folder
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.kernel import Kernel
from kernlens.model.program import Program
from kernlens.model.source_map import SourcePlace
from kernlens.model.source_path import is_nameless
from kernlens.report.style import cut, rendered_lines
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import Selection, chosen, is_observed, names_in, select

if TYPE_CHECKING:
    from kernlens.model.line_choice import LineChoice
    from kernlens.verbs.weighed import LoopNote

#: Bytes of a folder's files that are decoded together: what is alike in them is decoded once, and no more is in memory.
_TOGETHER = 8 << 20
#: Lines of a kernel that are made printable together.
_LINES_TOGETHER = 4096
#: Files that the error for a line of another file names.
_MOST_FILES = 8
#: Kernels of a file whose addresses are followed without being asked for.
MOST_FOLLOWED = 16


class Listed(NamedTuple):
    """A kernel to list, with whether it is its program's first, and its last."""

    program: Program
    kernel: Kernel
    is_first: bool
    is_last: bool


class Damage(NamedTuple):
    """A file of a folder that cannot be listed."""

    path: str
    error: KernlensError


class _TripNote(NamedTuple):
    """The note on a weighed kernel, None if it has all the loops whose trips are stated."""

    note: LoopNote | None


class _LineNote(NamedTuple):
    """The note on a kernel of a listing by line: whether it has code of the line, or why nobody can know; whether it has code
    of the line's file, and, if it has no code of the line, which files it has code of."""

    has_code: bool
    reason: str | None
    has_file: bool
    files: tuple[str, ...]


Arrange: TypeAlias = Callable[[Selection], Selection]
_Piece: TypeAlias = "str | Damage | _LineNote | _TripNote"


class Form(Protocol):
    """A form of listings: each kernel's text in ``pieces``, between ``head`` and ``tail``; the very first begins with
    ``separator``, which is left out. ``has_texts``: it holds the instructions' texts; ``counted`` orders its kernels, with
    those that were observed and have no machine code; None: it shows none of these."""

    has_texts: bool
    counted: Arrange | None
    head: str
    tail: str
    separator: str

    def begin(self, failed: FailedBuilds) -> None:
        """Prepare, before all else, once it is known that something will be listed, beside these builds that failed."""

    def pieces(self, listed: Listed) -> Iterator[str]:
        """Yield the text of a kernel. What may raise does so before the first piece."""


class Lines:
    """A listing of lines, below a heading if there is one; with ``is_printed`` coloured and cut as terminals want it."""

    separator = tail = ""

    def __init__(
        self,
        lines: Callable[[Program, Kernel], Iterable[str]],
        heading: str | None = None,
        *,
        is_printed: bool = False,
        has_texts: bool = True,
        counted: Arrange | None = None,
        opening: Callable[[], list[str]] = list,
    ) -> None:
        self.has_texts, self.counted = has_texts, counted
        self._lines, self._opening = lines, opening
        self._is_printed, self._is_table = is_printed, heading is not None
        self.head = "" if heading is None else f"{heading}\n"

    def begin(self, failed: FailedBuilds) -> None:
        self._colours = self._is_printed and is_coloured()
        self._width = terminal_width() if self._is_printed else None
        self.head += "".join(f"{line}\n" for line in rendered_lines(self._opening(), self._colours))
        if not failed:
            return
        from kernlens.report.failure_lines import failed_lines

        lines = rendered_lines(list(failed_lines([failed])), self._colours and not self._is_table)
        if self._is_table:  # Its readers take each line for a row.
            print_message(*lines)
        elif lines:
            self.tail = "\n".join(["", *lines, ""])

    def pieces(self, listed: Listed) -> Iterator[str]:
        from kernlens._decoder import are_plain

        lines = iter(list(self._lines(listed.program, listed.kernel)))
        while some := list(islice(lines, _LINES_TOGETHER)):
            some = some if self._width is None else [cut(line, self._width) for line in some]
            yield "\n".join([*(some if are_plain(some) else rendered_lines(some, self._colours)), ""])


class Json:
    """A document of programs with their kernels, below other keys."""

    def __init__(
        self,
        document: dict[str, Any],
        program: Callable[[Program], dict[str, Any]],
        kernel: Callable[[Program, Kernel], str | Iterator[str]],
        *,
        has_texts: bool = False,
        counted: Arrange | None = None,
        opening: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        from kernlens.report.json_text import encoded

        self.has_texts, self.counted = has_texts, counted
        self._document, self._program, self._kernel, self._opening = document, program, kernel, opening
        self._encoded = encoded
        self.head = self.tail = ""
        self.separator = ","

    def begin(self, failed: FailedBuilds) -> None:
        from kernlens.report.failure_lines import failed_documents

        whole = {**self._document, **self._opening(), "failed_builds": failed_documents([failed]), "programs": []}
        self.head, after = self._split(whole)
        self.tail = f"{after}\n"

    def _split(self, document: dict[str, Any]) -> tuple[str, str]:
        """Return the text before and after the items of the list at the document's end."""
        before, after = self._encoded(document).rsplit("[]", 1)
        return f"{before}[", f"]{after}"

    def pieces(self, listed: Listed) -> Iterator[str]:
        kernel = self._kernel(listed.program, listed.kernel)
        kernel = iter([kernel]) if isinstance(kernel, str) else kernel
        first = next(kernel)
        disassembler = listed.kernel.instructions.disassembler
        opening = ""
        if listed.is_first:
            program = self._program(listed.program) | {"disassembler": disassembler, "kernels": []}
            opening, _ = self._split(program)
        yield f",{opening}{first}"
        yield from kernel
        yield "]}" if listed.is_last else ""


def follows_addresses(contents: Contents, names: Sequence[str], only: LineChoice | None) -> bool:
    """Return whether a listing says what the code says of accesses, which takes as long as all else: of kernels and lines that
    are chosen, and of a file with few kernels."""
    if names or only is not None:
        return True
    return (
        not isinstance(contents, Folder) and sum(len(program.kernels) for program in contents.programs) <= MOST_FOLLOWED
    )


def instructions_json(
    only: LineChoice | None = None, *, is_placed: bool, has_waits: bool = False, has_addresses: bool = True
) -> Json:
    """Return the document of ``annotate`` or, without places, of ``disasm``; ``has_waits``: with cycles; ``has_addresses``:
    with what the code says of accesses."""
    from kernlens.cli.answers.behaviour_document import further_document
    from kernlens.report.program_document import SCHEMA, kernel_pieces, program_document

    return Json(
        {"schema": SCHEMA},
        partial(program_document, has_sources=is_placed),
        lambda program, kernel: kernel_pieces(
            kernel,
            program.meant_line(only),
            is_placed=is_placed,
            has_waits=has_waits,
            more=further_document(program, kernel, has_addresses=has_addresses) if is_placed else None,
        ),
        has_texts=True,
        counted=list if is_placed and only is None and not has_waits else None,
    )


class Viewed:
    """Another form, of kernels as ``views`` give them, one after the other: on the user's own lines, or weighed by trips."""

    def __init__(self, form: Form, views: Sequence[Callable[[Program, Kernel], Kernel]]) -> None:
        self._form = form
        self._views = views
        self.head, self.tail, self.separator = form.head, form.tail, form.separator
        self.has_texts, self.counted = form.has_texts, form.counted

    def begin(self, failed: FailedBuilds) -> None:
        self._form.begin(failed)
        self.head, self.tail = self._form.head, self._form.tail

    def viewed(self, listed: Listed) -> Listed:
        for view in self._views:
            listed = listed._replace(kernel=view(listed.program, listed.kernel))
        return listed

    def pieces(self, listed: Listed) -> Iterator[str]:
        return self._form.pieces(listed)


def listing(
    contents: Contents, kernel_names: Sequence[str], device: str | None, form: Form, only: LineChoice | None = None
) -> Iterator[str]:
    """Yield the text of a listing in pieces. Damaged files of a folder are left out, for ``contents.check`` to tell.

    Raises what ``select`` raises, and at the end what ``check_trips`` does; with ``only`` also NoCodeError if no kernel has
    code of that line, or UnsupportedError if none has a line table to know it from.
    """
    pieces = _answers(contents, kernel_names, device, form, only)
    form.begin(contents.failed_builds(device))
    notes: list[_LineNote] = []
    trip_notes: list[LoopNote | None] = []
    is_begun = False
    for piece in pieces:
        if isinstance(piece, Damage):
            assert isinstance(contents, Folder)
            contents.note_damage(piece.path, piece.error)
        elif isinstance(piece, _LineNote):
            notes.append(piece)
        elif isinstance(piece, _TripNote):
            trip_notes.append(piece.note)
        else:
            yield piece if is_begun else form.head + piece[len(form.separator) :]
            is_begun = True
    if not is_begun:
        contents.check()  # If nothing can be read, nothing is printed.
        yield form.head
    yield form.tail
    if only is not None:
        contents.check()
        _check_line(only, notes, is_choice=bool(kernel_names) or device is not None)
    if trip_notes:
        from kernlens.verbs.weighed import check_trips

        check_trips(trip_notes)


def _answers(
    contents: Contents, kernel_names: Sequence[str], device: str | None, form: Form, only: LineChoice | None
) -> Iterator[_Piece]:
    if isinstance(contents, Folder) and not (form.counted and is_observed(contents)):
        kernel_names = names_in(contents, kernel_names, device)
        sizes = contents.sizes

        def answer_files(paths: Sequence[str], threads: int | None) -> Iterator[_Piece]:
            return _of_files(contents, paths, kernel_names, device, form, only, threads)

        return in_shares(list(sizes), list(sizes.values()), answer_files)

    def answer_kernels(share: Sequence[Listed], threads: int | None) -> Iterator[_Piece]:
        decode_kernels([(item.program, [item.kernel]) for item in share], texts=form.has_texts, threads=threads)
        for item in share:
            yield from _of_kernel(item, form, only)

    programs = contents.counted_code() if form.counted else contents.machine_code()
    listed = listed_of((form.counted or list)(select(programs, kernel_names, device, whole_of(contents))))
    from kernlens.verbs.any_path import several_programs

    if kernel_names and (sentence := several_programs((item.kernel.name, item.program.name) for item in listed)):
        print_message(f"kernlens: {sentence}")
    return in_shares(listed, [item.kernel.code_size for item in listed], answer_kernels)


def listed_of(selection: Iterable[tuple[Program, Sequence[Kernel]]]) -> list[Listed]:
    """Return the kernels of a selection in their order."""
    return [
        Listed(program, kernel, kernel is kernels[0], kernel is kernels[-1])
        for program, kernels in selection
        for kernel in kernels
    ]


def _of_files(
    folder: Folder,
    paths: Sequence[str],
    kernel_names: Sequence[str],
    device: str | None,
    form: Form,
    only: LineChoice | None,
    threads: int | None,
) -> Iterator[_Piece]:
    for some in _batches(paths, folder.sizes):
        files = [
            (contents.path, listed_of(chosen(contents.programs, kernel_names, device)))
            for contents in folder.files(some)
        ]
        with suppress(KernlensError):  # The file that is at fault raises it again below.
            together = [(item.program, [item.kernel]) for _, listed in files for item in listed]
            decode_kernels(together, texts=form.has_texts, threads=threads)
        for path, listed in files:
            try:
                whole = [piece for item in listed for piece in _of_kernel(item, form, only)]
            except KernlensError as error:
                folder.note_damage(path, error)
                continue
            yield from whole
    yield from starmap(Damage, folder.damaged.items())


def _batches(paths: Sequence[str], sizes: Mapping[str, int]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path in paths:
        if batch and size + sizes[path] > _TOGETHER:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += sizes[path]
    if batch:
        yield batch


def _of_kernel(listed: Listed, form: Form, only: LineChoice | None) -> Iterator[_Piece]:
    if isinstance(form, Viewed):
        listed = form.viewed(listed)
    yield from form.pieces(listed)
    if listed.kernel.trip_weights is not None:
        from kernlens.verbs.weighed import loop_note

        yield _TripNote(loop_note(listed.kernel, listed.kernel.trip_weights))
    if only is not None:
        yield _line_note(listed, listed.program.meant_line(only) or only)


def _line_note(listed: Listed, only: LineChoice) -> _LineNote:
    source_map = listed.kernel.source_map
    lines = [] if source_map is None else [*source_map.lines, *source_map.inherited]
    has_code = any(only.holds(SourcePlace(*line)) for line in lines)
    paths = list(dict.fromkeys(path for path, _ in lines))
    titles = [f"{path} (the source of {listed.program.name})" if is_nameless(path) else path for path in paths]
    return _LineNote(
        has_code,
        listed.kernel.line_table_reason,
        any(map(only.names, paths)),
        () if has_code else tuple(titles[: _MOST_FILES + 1]),
    )


def _check_line(only: LineChoice, notes: Sequence[_LineNote], *, is_choice: bool) -> None:
    """Raise what ``listing`` does if no kernel has code of the line."""
    if any(note.has_code for note in notes):
        return
    reasons = [note.reason for note in notes]
    of = " in the chosen kernels, and others were not looked at" if is_choice else ""
    if reasons and None not in reasons:
        first, *others = dict.fromkeys(map(str, reasons))
        more = f" (other kernels: {others[0]})" if others else ""
        raise UnsupportedError(f"there is no line information for {only}{of}: {first}{more}")
    if not any(note.has_file for note in notes):
        files = list(dict.fromkeys(title for note in notes for title in note.files))
        more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
        raise NoCodeError(
            f"no instruction came from a file {only.path}{of}; the line tables have {', '.join(files[:_MOST_FILES])}{more}"
        )
    unknown = [reason for reason in reasons if reason is not None]
    without = (
        f"; {len(unknown):,} of {len(reasons):,} kernels have no line information: {unknown[0]}" if unknown else ""
    )
    raise NoCodeError(f"no instruction came from {only}{of}; leave --line out to see the lines that have code{without}")
