"""Tasks for the workers of a cluster, and their answers: bytes and JSON of kernlens' own format, no object of Python's.

A task is a parcel of files (``toolchain/sources/parcels.py``) and a document that says what to compile and measure, and under
which conditions: kernlens, the toolchain and the variables that steer compilers must be the same there, as a figure under a
wrong name is worse than none. A worker answers with the cell's rows, and the packed Build if it was wanted; or with the
reason why it is unfit, which says nothing on the cell.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernlens import __version__
from kernlens.dataclass import dataclass, replace
from kernlens.errors import KernlensError
from kernlens.model.figures import OF_FAMILIES
from kernlens.model.sweep_row import measured_figures
from kernlens.toolchain.compile_cache import open_cache, packed, unpacked
from kernlens.toolchain.compile_keys import key_of, steering_variables
from kernlens.toolchain.device_compilers import title_for
from kernlens.toolchain.ocloc import is_refused
from kernlens.toolchain.parallel_compiles import CompileJob, build_of, compile_job
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.parcels import FIXED_SETTINGS, copied_options, read_parcel
from kernlens.toolchain.toolchains import Toolchain, toolchain
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.measuring import Measured, Wanted, figures_key, measured_rows, plain_rows, rows_of

#: The largest Build, in bytes, that a worker's answer may unpack to.
_BUILD_LIMIT = 1 << 30
#: Fields of a Build that a worker tells.
_BUILD_FIELDS = {"ok", "reason", "command", "seconds", "folder", "parts"}


@dataclass(frozen=True, slots=True)
class Unfit:
    """The answer of a worker that cannot do a cell: its ``worker`` address and ``host``, the ``reason``, and the ``scope`` of
    what it cannot do: one of ``scopes`` of the cell."""

    worker: str
    host: str
    scope: str
    reason: str


def scopes(cell: Cell) -> tuple[str, str, str]:
    """Return the names of what a worker may be unfit for that concerns a cell: everything, its toolchain, its source."""
    return "", f"toolchain {cell.job.toolchain.name}", f"source {cell.source}"


def own_variables() -> dict[str, str]:
    """Return the variables that steer compilers here, but for those of the loader, which are for one machine. Raises
    KernlensError if one has an effect beside the result."""
    try:
        return {name: value for name, value in steering_variables().items() if not name.startswith("LD_")}
    except ValueError as error:
        raise KernlensError(f"the compiler would do more than compile on a cluster, as {error}: unset it") from error


def task_for(cell: Cell, request: Wanted) -> str:
    """Return the document of a task. Raises OSError or KernlensError for a source that cannot be read by now."""
    job = cell.job
    return json.dumps(
        {
            "version": __version__,
            "variables": own_variables(),
            "toolchain": job.toolchain.name,
            "title": title_for(job.device, job.toolchain),
            "source": cell.source,
            "path": os.fspath(job.source),
            "device": job.device,
            "options": job.options,
            "compiler_options": copied_options(job.source, job.options),
            "timeout": job.timeout,
            "request": asdict(request),
        }
    )


def answer_key(digest: str, task: str, chosen: Toolchain, device: str) -> str | None:
    """Return the key of an answer: of the parcel with this digest, the task for a device, and what compiles and measures; None
    if that cannot be told."""
    try:
        return figures_key(key_of([digest, task], chosen, device), "cluster")
    except (OSError, ValueError, KernlensError):
        return None


def done_there(parcel: bytes, task: str, has_cache: bool) -> bytes:
    """Do a task on a worker, and return its answer, also if it fails in any way."""
    try:
        return _answer(parcel, json.loads(task), task, has_cache)
    except (KernlensError, OSError) as error:
        reason = str(error)
    except Exception as error:  # Nothing may be raised here: the client would get a pickle.
        reason = f"a fault of kernlens itself, please report it: {type(error).__name__}: {error}"
    return _document(failed=f"on a worker at {os.uname().nodename}: {reason}")


def _answer(parcel: bytes, stated: dict[str, Any], task: str, has_cache: bool) -> bytes:
    """Return the answer to a task. Raises KernlensError, OSError and whatever a wrong document leads to."""
    if stated.get("version") != __version__:
        return _unfit("", f"kernlens is {__version__} there, not {stated.get('version')}: install the same version")
    reason = _difference(stated["variables"])
    if reason:
        return _unfit("", reason)
    name = stated["toolchain"]
    try:
        own = toolchain(name)
    except KernlensError as error:
        return _unfit(f"toolchain {name}", str(error))
    title = title_for(stated["device"], own)
    if title != stated["title"]:
        return _unfit(
            f"toolchain {name}", f"the toolchain {name} is {title} there, not {stated['title']}: install the same"
        )
    cache = open_cache() if has_cache else None
    key = answer_key(hashlib.sha256(parcel).hexdigest(), task, own, stated["device"]) if cache is not None else None
    entry = cache.get(key) if cache is not None and key is not None else None
    if entry is not None:
        return entry
    files = read_parcel(parcel)
    if foreign := files.foreign_header():
        return _unfit(
            f"source {stated['source']}",
            f"there is {foreign}, but not where the sweep was started: install or remove it",
        )
    job = CompileJob(Path(stated["path"]), stated["device"], own, stated["options"], stated["timeout"])
    request = Wanted(**stated["request"])
    with temporary_folder() as folder:
        job = replace(job, copy=files.unpack(folder, stated["compiler_options"]))
        build, _ = compile_job(job, None, None, lambda child: None, has_sources=False)
        build = replace(build, folder="")
        is_lasting = build.ok or is_refused(build)
    if request.order:
        build = build.with_parts(sources=files.sources)
    try:
        rows = measured_rows(Cell(0, stated["source"], stated["options"], job), build, request)
    except KernlensError as error:
        return _document(failed=str(error))
    answer = _document(packed(build) if request.build else b"", lasting=is_lasting, rows=plain_rows(rows))
    if cache is not None and key is not None and is_lasting:
        cache.put(key, answer)
    return answer


def _difference(variables: dict[str, str]) -> str:
    """Return why this worker would compile otherwise; "" if it would not."""
    if settings := next(filter(os.path.exists, FIXED_SETTINGS), ""):
        return f"the compiler reads its settings from {settings} there: remove it"
    try:
        own = own_variables()
    except KernlensError as error:
        return str(error)
    names = sorted({name for name, _ in own.items() ^ variables.items()})
    return f"other variables that steer the compiler are set there: {', '.join(names)}" if names else ""


def _unfit(scope: str, reason: str) -> bytes:
    from distributed import get_worker

    try:
        address = get_worker().address
    except ValueError:  # It runs on no worker.
        address = ""
    return _document(unfit=asdict(Unfit(address, os.uname().nodename, scope, reason)))


def _document(body: bytes = b"", **head: object) -> bytes:
    return b"\n".join((json.dumps(head).encode(), body))


def is_kept(answer: bytes) -> bool:
    """Return whether an answer holds for each equal task, too."""
    return answer.startswith(b'{"lasting": true')


def result_of(cell: Cell, answer: object, request: Wanted) -> Measured | Unfit | str:
    """Return what a worker's answer says on a cell: the result, that it is unfit, or the reason why the cell failed. What is
    no such answer is the reason too."""
    try:
        if not isinstance(answer, bytes):
            raise TypeError(f"it is {type(answer).__name__}")
        text, _, body = answer.partition(b"\n")
        head = json.loads(text)
        if "unfit" in head:
            unfit = Unfit(**{str(name): _text(value) for name, value in head["unfit"].items()})
            if unfit.scope not in scopes(cell):
                raise ValueError("it is for another cell")
            return unfit
        if "failed" in head:
            return _text(head["failed"])
        return Measured(
            cell.number, tuple(rows_of(cell, _checked_rows(head["rows"], request))), _build(cell, body, request)
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"a worker's answer cannot be read: {error}; install the same kernlens there"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is {type(value).__name__}")
    return value


def _checked_rows(rows: Any, request: Wanted) -> list[Any]:
    """Return rows as a worker of this version tells them. Raises ValueError or TypeError for any others."""
    own_count = len(measured_figures(has_pressure=request.pressure, has_waits=request.waits))
    known = {figure.key for figure in OF_FAMILIES}
    if not isinstance(rows, list) or not rows:
        raise ValueError("it has no rows")
    for kernel, values, reason, lines, own, code, warnings, loops in rows:
        if not all(value is None or type(value) is int for value in values) or len(values) not in (0, own_count):
            raise ValueError("its figures are no numbers")
        if not all(type(value) is int and key in known for key, value in own):
            raise ValueError("its own figures are no numbers")
        if loops is not None and type(loops) is not int:
            raise ValueError("its loops are no number")
        for text in (reason, "" if kernel is None else kernel, code, *warnings):
            _text(text)
        for path, line, source, cost, unit, texts, count, certain in lines:
            if not all(type(value) is int for value in (line, cost, count, certain)):
                raise ValueError("its lines are no numbers")
            for text in (path, source, unit, *texts):
                _text(text)
    return rows


def _build(cell: Cell, body: bytes, request: Wanted) -> Any:
    """Return the Build that was wanted. Raises ValueError or TypeError if it is none."""
    if not request.build:
        return None
    import zstandard

    try:
        if not 0 <= zstandard.frame_content_size(body) <= _BUILD_LIMIT:
            raise ValueError("its Build is too large")
        fields = unpacked(body)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    if (
        fields.keys() != _BUILD_FIELDS
        or type(fields["ok"]) is not bool
        or not isinstance(fields["seconds"], int | float)
    ):
        raise ValueError("its Build has other fields")
    for text in (fields["reason"] or "", fields["command"], fields["folder"], fields["parts"].log):
        _text(text)
    return build_of(cell.job, fields, has_sources=fields["ok"])
