"""The report that a page saves: the request for it, and the file, which the browser writes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from kernlens.dataclass import dataclass
from kernlens.explorer.compile_request import checked_object, checked_text
from kernlens.explorer.compile_work import Results
from kernlens.explorer.responses import RefusedError, unknown_program
from kernlens.explorer.served import Served
from kernlens.report.explore.excerpt import Chosen, Excerpt, Part
from kernlens.report.explore.single_file import page, viewer_script
from kernlens.verbs.report import own_paths

#: Programs of one request, and kernels of each, at most.
PROGRAMS, KERNELS = 64, 64
#: Characters of a page's address, of a name, and of what a version is called, at most.
_STATE, _NAME, _VERSION = 16 << 10, 4096, 200
#: Bytes of a file, at most.
SIZE_LIMIT = 128 << 20


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """The kernels of a report, and the ``state`` of the page that it begins with; ``only_size``: only its size is asked for."""

    state: str
    chosen: tuple[Chosen, ...]
    only_size: bool


def report_request(document: object) -> ReportRequest:
    """Return the request in a body. Raises RefusedError 400, which names the key, if it is none."""
    top = checked_object(document, "the request", {"state", "programs", "only_size"})
    if not isinstance(top["only_size"], bool):
        raise RefusedError(400, "only_size must be true or false")
    chosen = []
    for number, item in enumerate(_list(top["programs"], "programs", PROGRAMS)):
        where = f"programs[{number}]"
        fields = checked_object(item, where, {"id", "kernels"}, {"version"})
        names = _list(fields["kernels"], f"{where}.kernels", KERNELS, least=0)
        version = fields.get("version")
        chosen.append(
            Chosen(
                checked_text(fields["id"], f"{where}.id", 128),
                frozenset(checked_text(name, f"{where}.kernels", _NAME) for name in names),
                None if version is None else checked_text(version, f"{where}.version", _VERSION),
            )
        )
    return ReportRequest(checked_text(top["state"], "state", _STATE, least=0), tuple(chosen), top["only_size"])


def _list(value: object, where: str, most: int, least: int = 1) -> list[object]:
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise RefusedError(400, f"{where} must be a list of {least} to {most}")
    return value


def _title(index: Mapping[str, Any]) -> str:
    """Return the title of a report: of the files that a server shows, which its own title lists, those that are in it."""
    title = str(index["title"])
    paths = {os.path.basename(file["path"]) for program in index["programs"] for file in program["files"]}
    return ", ".join(name for name in title.split(", ") if name in paths) or title


def report_bytes(served: Served, results: Results, asked: ReportRequest) -> bytes:
    """Return the file. Raises RefusedError 404 if a program is not there, 413 if the file would be too large."""
    parts = [Part(served.document)]
    for result in results.all():
        if result.document is not None:
            parts.append(Part(result.document, result.without_folders))
    known = {*served.failed_ids, *served.ids, *(program for result in results.all() for program in result.ids)}
    for program, _, _ in asked.chosen:
        if program not in known:
            raise unknown_program(program)
    excerpt = Excerpt(parts, asked.chosen)
    content = bytearray()
    shown = Excerpt(parts, asked.chosen, title=_title(excerpt.index))
    for piece in page(shown, viewer_script(), state=asked.state, paths=own_paths(shown.index)):
        content += piece.encode()
        if len(content) > SIZE_LIMIT:
            raise RefusedError(
                413, f"the report is larger than {SIZE_LIMIT >> 20} MB", "kernlens report writes one of any size"
            )
    return bytes(content)
