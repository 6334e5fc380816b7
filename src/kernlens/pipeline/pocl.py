"""The build for PoCL in a child process, with every stage kept.

``lib/CL/pocl_cache.c`` of pocl says what PoCL leaves in its cache folder; it keeps what
lies between bitcode and shared object if POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES is set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from kernlens.errors import NotFoundError, UnsupportedError
from kernlens.model.build import Build
from kernlens.model.stage import BINARY, KERNEL, TEXT, Snapshot
from kernlens.model.stages import FROM_COMPILER, POCL, Stage, held
from kernlens.pipeline.second_build import SecondBuild, second_build, source_text
from kernlens.toolchain.host_texts import bitcode_text, object_text
from kernlens.toolchain.packages import how_to_get
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.source_reading import read_beside

#: The folder of the kernels that a program's binary holds, which are compiled for any work-group size.
ANY_SIZE = "0-0-0"


def dump_environment(folder: Path) -> dict[str, str]:
    """Return the variables that make PoCL keep its stages in ``folder``, which must be empty."""
    return {"POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES": "1", "POCL_CACHE_DIR": str(folder), "POCL_KERNEL_CACHE": "1"}


def snapshots(source: str | Path, options: str = "") -> Build:
    """Build ``source`` (OpenCL C) for PoCL's first device and keep every stage. A source that does not build gives a
    Build that is not ``ok``, with its ``source`` stage alone. Raises UnsupportedError if PoCL is not installed."""
    path = Path(source)
    text = source_text(path)
    include = f"-I {path.resolve().parent}" if path.resolve().parent != Path.cwd() else ""
    build = SecondBuild(
        POCL.platform, " ".join(filter(None, [options, include])), text, source=str(source), device=POCL.device
    )
    try:
        return snapshots_of(build)
    except NotFoundError as error:
        raise UnsupportedError(f"PoCL is not installed ({error}); to get it: {how_to_get('pocl')}") from error


def snapshots_of(build: SecondBuild) -> Build:
    """Do ``build`` on PoCL's platform and keep every stage."""
    with temporary_folder() as name:
        folder = Path(name)
        result, start_time = second_build(build, dump_environment(folder))
        snapshots = tuple(_read(folder, start_time)) if result.ok else ()
    source = (held(POCL.stage("source"), build.text.encode(), TEXT),) if build.text is not None else ()
    return result.with_parts(snapshots=source + snapshots)


def _read(folder: Path, start_time: int) -> Iterator[Snapshot]:
    """Yield the stages below the cache folder, in which each program has a folder (``LETTERS/HASH``)."""
    for stage in POCL.stages:
        pattern = f"*/*/*/{ANY_SIZE}/*" if stage.scope == KERNEL else "*/*/*"
        for path in sorted(folder.glob(pattern)) if stage.origin == FROM_COMPILER else ():
            if str(path).endswith(stage.dump):
                yield from _forms(stage, path, path.parent.parent.name if stage.scope == KERNEL else None, start_time)


def _forms(stage: Stage, path: Path, kernel: str | None, start_time: int) -> Iterator[Snapshot]:
    content = read_beside(path, path.parent)
    if not content:
        why = "its file is empty; is the disk of the dump folder full?"
        yield Snapshot(stage.name, kernel, BINARY, stage.binary or "", bytes, failure=why)
        return
    disassemble = partial(bitcode_text if stage.text == ".ll" else object_text, content)
    yield from both_forms(stage, content, disassemble, kernel, max(path.stat().st_mtime_ns - start_time, 0) / 1e9)


def both_forms(
    stage: Stage, content: bytes, disassemble: Callable[[], bytes], kernel: str | None, seconds: float
) -> tuple[Snapshot, Snapshot]:
    """Return both forms of one file; a disassembler makes the text when it is read."""
    text = Snapshot(stage.name, kernel, TEXT, stage.text or "", disassemble, seconds=seconds)
    return held(stage, content, BINARY, kernel, seconds), text
