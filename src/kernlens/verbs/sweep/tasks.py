"""Tasks for the workers of a cluster, and their answers: JSON of kernlens' own format, no object of Python's.

A task says what to compile and measure, in which folder, and under which conditions: kernlens, the toolchain and the variables
that steer compilers must be the same there, as a figure under a wrong name is worse than none. A worker answers with the
cell's rows, and the packed Build if it was wanted; or with the reason why it did not do it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kernlens import __version__
from kernlens.dataclass import replace
from kernlens.errors import KernlensError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.model.compiler_options import LINE_TABLES
from kernlens.toolchain.compile_cache import packed, unpacked
from kernlens.toolchain.compile_keys import steering_variables
from kernlens.toolchain.device_compilers import title_for
from kernlens.toolchain.ocloc import first_bytes
from kernlens.toolchain.parallel_compiles import CompileJob, build_of, compile_job
from kernlens.toolchain.sources.includes import (
    join_options,
    options_with_values,
    source_files,
    source_options,
    split_options,
)
from kernlens.toolchain.sources.source_copy import SourceCopy
from kernlens.toolchain.toolchains import Toolchain, toolchain
from kernlens.verbs.sweep.cells import Cell
from kernlens.verbs.sweep.measuring import Measured, Wanted, measured_rows, plain_rows, rows_of

#: The largest Build, in bytes, that a worker's answer may unpack to.
_BUILD_LIMIT = 1 << 30


def conditions(chosen: Toolchain, device: str) -> dict[str, str]:
    """Return what a compile depends on beside its files: versions, and the variables that steer compilers, but for those of
    the loader, which are for one machine. Raises KernlensError if a variable has an effect beside the result."""
    try:
        variables = steering_variables()
    except ValueError as error:
        raise KernlensError(f"the compiler would do more than compile on a cluster, as {error}: unset it") from error
    own = {f"the variable {name}": value for name, value in variables.items() if not name.startswith("LD_")}
    return {"kernlens": __version__, f"the toolchain {chosen.name}": title_for(device, chosen), **own}


def task_for(cell: Cell, request: Wanted) -> str:
    """Return the document of a task. Raises OSError or KernlensError for a source that cannot be read by now."""
    job = cell.job
    is_text = not is_spirv(first_bytes(job.source))
    return json.dumps(
        {
            "conditions": conditions(job.toolchain, job.device),
            "toolchain": job.toolchain.name,
            "source": cell.source,
            "path": os.fspath(job.source),
            "device": job.device,
            "options": job.options,
            "compiler_options": source_options(job.source, job.options, naming=(LINE_TABLES,))
            if is_text
            else job.options,
            "timeout": job.timeout,
            "request": asdict(request),
        }
    )


def done_there(task: str) -> bytes:
    """Do a task on a worker, and return its answer, also if it fails in any way."""
    try:
        return _answer(json.loads(task))
    except (KernlensError, OSError) as error:
        reason = str(error)
    except Exception as error:  # Nothing may be raised here: the client would get a pickle.
        reason = f"a fault of kernlens itself, please report it: {type(error).__name__}: {error}"
    return _document(failed=f"on a worker at {os.uname().nodename}: {reason}")


def _answer(stated: dict[str, Any]) -> bytes:
    """Return the answer to a task. Raises KernlensError, OSError and whatever a wrong document leads to."""
    own = toolchain(stated["toolchain"])
    here, there = conditions(own, stated["device"]), stated["conditions"]
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            raise KernlensError(
                f"{name} is {here.get(name, 'not set')} there, not {there.get(name, 'set')}: make both the same"
            )
    request, path = Wanted(**{**stated["request"], "trips": tuple(stated["request"]["trips"])}), stated["path"]
    copy = SourceCopy(request.folder, path, stated["compiler_options"])
    job = CompileJob(Path(path), stated["device"], own, stated["options"], stated["timeout"], copy=copy)
    build, _ = compile_job(job, None, None, lambda child: None, has_sources=False)
    build = replace(build, folder="")
    if request.build and not is_spirv(first_bytes(copy.path)):
        build = build.with_parts(sources=source_files(copy.path, _from_folder(job.options, request.folder)))
    rows = measured_rows(Cell(0, stated["source"], stated["options"], job), build, request)
    return _document(packed(build) if request.build else b"", rows=plain_rows(rows))


def _from_folder(options: str, folder: str) -> str:
    """Return options whose folders to include from are full paths, the working folder among them."""
    words = ["-I", folder]
    for word, value in options_with_values(split_options(options)):
        words += [word, os.path.join(folder, value) if word == "-I" else value] if value else [word]
    return join_options(words)


def _document(body: bytes = b"", **head: object) -> bytes:
    return b"\n".join((json.dumps(head).encode(), body))


def result_of(cell: Cell, answer: object, request: Wanted) -> Measured | str:
    """Return what a worker's answer says on a cell: the result, or the reason why it failed. What is no answer of a worker is
    the reason too."""
    try:
        if not isinstance(answer, bytes):
            raise TypeError(f"it is {type(answer).__name__}")
        text, _, body = answer.partition(b"\n")
        head = json.loads(text)
        if "failed" in head:
            return str(head["failed"])
        if not head["rows"]:
            raise ValueError("it has no rows")
        return Measured(cell.number, tuple(rows_of(cell, head["rows"])), _build(cell, body) if request.build else None)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"a worker's answer cannot be read: {error}; install the same kernlens there"


def _build(cell: Cell, body: bytes) -> Any:
    """Return the Build that was wanted. Raises ValueError, KeyError or TypeError if it is none."""
    import zstandard

    try:
        if not 0 <= zstandard.frame_content_size(body) <= _BUILD_LIMIT:
            raise ValueError("its Build is too large")
        fields = unpacked(body)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from error
    return build_of(cell.job, fields, has_sources=fields["ok"])
