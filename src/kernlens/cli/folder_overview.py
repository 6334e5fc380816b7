"""The overview that ``inspect`` prints of a folder, one file at a time: all containers, then all programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryFile

from kernlens.cli.answers.overview import container_overview, program_overview
from kernlens.cli.output import printable
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.loading.decoded_kernels import with_line_tables
from kernlens.loading.open import Folder
from kernlens.model.binary import Container
from kernlens.model.failed_builds import FailedBuilds
from kernlens.model.figure import Figure
from kernlens.model.program import Program
from kernlens.report.failure_lines import failed_documents, failed_section
from kernlens.report.json_text import encoded
from kernlens.report.program_document import SCHEMA, inspected_container, inspected_program
from kernlens.report.style import style
from kernlens.verbs.absent import whole_of
from kernlens.verbs.programs import containers_for, for_device, names_in, narrowed


@dataclass(frozen=True, slots=True)
class Form:
    """A way to show a folder: the texts of its containers and programs, and what stands around them. The first of each
    list begins with a separator of so many characters that is left out. ``has_programs_first``: ``middle`` stands
    behind them."""

    begin: str
    container: Callable[[Container], str]
    middle: str
    program: Callable[[Program], str]
    end: str
    separator: int
    has_programs_first: bool = False


def lines_form(path: str, order: Figure | None, failed: FailedBuilds, *, has_sections: bool = False) -> Form:
    """Return the form of the lines that ``inspect`` prints: all programs, then all containers."""

    def lines(program: Program) -> str:
        return printable(["", *program_overview(with_line_tables(program, keeps=order is not None), order)])

    return Form(
        begin=printable([style(path, bold=True)]),
        container=lambda container: printable(container_overview(container, has_sections=has_sections)),
        middle="\n",
        program=lines,
        end=printable(failed_section(failed)),
        separator=0,
        has_programs_first=True,
    )


def json_form(order: Figure | None, failed: FailedBuilds) -> Form:
    """Return the form of the document that ``inspect`` prints."""

    def document(program: Program) -> str:
        return f",{encoded(inspected_program(with_line_tables(program, keeps=order is not None), order))}"

    return Form(
        f'{{"schema":{SCHEMA},"failed_builds":{encoded(failed_documents([failed]))},"containers":[',
        lambda container: f",{encoded(inspected_container(container))}",
        '],"programs":[',
        document,
        "]}\n",
        separator=1,
    )


def folder_overview(folder: Folder, kernel_names: Sequence[str], device: str | None, form: Form) -> Iterator[str]:
    """Yield the text in pieces: of programs with these kernels, if any are named, and then of no containers. What comes
    second waits in a file until the last of the first is shown.

    Damaged files are left out, for ``folder.check`` to tell. Raises NotFoundError if no program is for ``device``.
    """
    _check_device(folder, device)
    names = frozenset(names_in(folder, kernel_names, device)) if kernel_names else None
    before, skipped = form.begin, form.separator
    with TemporaryFile("w+", prefix="kernlens-", encoding="utf-8", newline="") as waiting:
        for contents in folder.files():
            try:
                containers = containers_for(contents.containers, device) if names is None else ()
                programs = for_device(contents.programs, device, must_be=False)
                if names is not None:
                    programs = [narrowed(each, names) for each in programs if not names.isdisjoint(each.kernels.keys())]
                above, below = "".join(map(form.container, containers)), "".join(map(form.program, programs))
                if form.has_programs_first:
                    above, below = below, above
            except KernlensError as error:
                folder.note_damage(contents.path, error)
                continue
            yield before + above[skipped:]
            before, skipped = "", 0
            waiting.write(below)
        if before:
            return  # If nothing can be read, nothing is printed.
        yield form.middle
        waiting.seek(0)
        skipped = form.separator
        while chunk := waiting.read(1 << 16):
            yield chunk[skipped:]
            skipped = 0
    yield form.end


def _check_device(folder: Folder, device: str | None) -> None:
    """Raise NotFoundError if a device is chosen that no program of the folder, and no failed build, is for."""
    if device is None or folder.failed_builds(device):
        return
    if any(for_device(contents.programs, device, must_be=False) for contents in folder.files()):
        return
    for_device(folder.programs, device, whole=whole_of(folder))
