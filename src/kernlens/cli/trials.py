"""``kernlens advise --try``: the options that the command has for it, and the compiles of all programs' sources."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kernlens.cli.output import Progress
from kernlens.errors import UnsupportedError

if TYPE_CHECKING:
    from kernlens.model.trial import Tried
    from kernlens.toolchain.compile_cache import CompileCache
    from kernlens.verbs.programs import Selection


def check_sources(paths: Sequence[str]) -> None:
    """Raise UnsupportedError for paths that cannot be tried."""
    from kernlens.verbs.programs import is_source

    for path in paths:
        if os.path.lexists(path) and not is_source(path):
            raise UnsupportedError(f"--try compiles sources, and {path} is not one: give the source, and --device D")


def tried_programs(
    selection: Selection,
    options: str,
    macros: Sequence[str],
    *,
    jobs: int | None,
    timeout: float,
    cache: CompileCache | None,
    quiet: bool,
) -> list[Tried]:
    """Return the trials of the kernels of a selection, program by program, with a bar on a terminal."""
    from kernlens.toolchain.sources.source_settings import settings_for
    from kernlens.toolchain.toolchains import DEFAULT
    from kernlens.verbs.tried import tried

    answers = []
    for program, kernels in selection:
        build = program.build
        with Progress("trying", quiet=quiet) as progress:
            answers.append(
                tried(
                    build.source,
                    build.device or "",
                    toolchain=build.toolchain.name if build.toolchain else DEFAULT,
                    options=settings_for(build.source).options(options),
                    macros=macros,
                    kernels=[kernel.name for kernel in kernels if kernel.name in program.entry_kernels],
                    jobs=jobs,
                    timeout=timeout,
                    cache=cache,
                    on_progress=progress.show,
                )
            )
    return answers
