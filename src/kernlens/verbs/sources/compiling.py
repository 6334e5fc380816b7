"""The compiles of the sources of two trees: each in a temporary folder with all that it may read, and nothing else."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from kernlens.dataclass import dataclass
from kernlens.errors import OutputError
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.compiler_options import LINE_OPTIONS
from kernlens.runtime.temporary import try_to_remove
from kernlens.toolchain.child import Child
from kernlens.toolchain.compile_cache import CompileCache
from kernlens.toolchain.folders import make_folder
from kernlens.toolchain.ocloc import TIMEOUT
from kernlens.toolchain.parallel_compiles import CompileJob, compile_job, do_many
from kernlens.toolchain.sources.includes import include_folders, source_options
from kernlens.toolchain.sources.source_copy import SourceCopy
from kernlens.toolchain.toolchains import Toolchain
from kernlens.verbs.sources.scope import SourceText

#: Called with the number of finished compiles, that of all, and the newest source's name.
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class SourceCompile:
    """A compile of a source for a device, as its toolchain calls it."""

    text: SourceText
    device: str
    toolchain: Toolchain

    @property
    def input(self) -> tuple[object, ...]:
        """All that its result depends on: equal ones are done once."""
        return (
            self.text.name,
            *sorted(self.text.closure.files.items()),
            self.text.options,
            self.device,
            self.toolchain.name,
        )


@dataclass(frozen=True, slots=True)
class _Task:
    """A compile with the contents of its files, by name, the source's first."""

    number: int
    compile: SourceCompile
    contents: Mapping[str, bytes]


def compiled(
    compiles: Sequence[SourceCompile],
    folder: str,
    cache: CompileCache | None,
    *,
    workers: int | None = None,
    timeout: float = TIMEOUT,
    unconfined: bool = False,
    on_progress: Progress | None = None,
) -> list[Build]:
    """Do the compiles side by side below ``folder``, an empty temporary one, and return their Builds, a failed one where a
    source does not compile. Equal ones are done once. A compiler sees nothing of this machine but its source's files and the
    folders of ``-I`` that the user has named elsewhere, unless it is ``unconfined``."""
    inputs: dict[tuple[object, ...], int] = {}
    for each in compiles:
        inputs.setdefault(each.input, len(inputs))
    distinct = list({each.input: each for each in reversed(compiles)}.values())
    order = {number: each for each in distinct for number in [inputs[each.input]]}
    results: dict[int, Build] = {}

    def tasks() -> Iterator[_Task]:
        # In the caller's thread, shortly before each begins: contents are not held for long.
        for number in sorted(order):
            text = order[number].text
            yield _Task(number, order[number], {name: text.tree.read(id) for name, id in text.closure.files.items()})

    def work(task: _Task, on_start: Callable[[Child], None]) -> tuple[int, Build]:
        place = os.path.realpath(os.path.join(folder, str(task.number)))
        try:
            return task.number, _built(task, place, cache, timeout, unconfined, on_start)
        finally:
            try_to_remove(place)

    with closing(do_many(tasks(), work, workers)) as finished:
        for count, (number, build) in enumerate(finished, start=1):
            results[number] = build
            if on_progress is not None:
                on_progress(count, len(order), build.path)
    return [results[inputs[each.input]] for each in compiles]


def _built(
    task: _Task,
    place: str,
    cache: CompileCache | None,
    timeout: float,
    unconfined: bool,
    on_start: Callable[[Child], None],
) -> Build:
    text, chosen = task.compile.text, task.compile.toolchain
    try:
        for name, content in task.contents.items():
            path = Path(place, name)
            make_folder(path.parent)
            path.write_bytes(content)
        for folder in include_folders(text.options):
            if not os.path.isabs(folder):
                make_folder(Path(place, folder))
    except OSError as error:
        raise OutputError(f"a source cannot be written below {place}: {error.strerror}") from error
    source = Path(text.name)
    options = source_options(source, text.options, naming=LINE_OPTIONS[:1], folder=place)
    copy = SourceCopy(place, text.name, options)
    job = CompileJob(source, task.compile.device, chosen, text.options, timeout, is_foreign=not unconfined, copy=copy)
    build, _ = compile_job(job, cache, job.key if cache is not None else None, on_start)
    sources = tuple(Source(name, content.decode("utf-8", "replace")) for name, content in task.contents.items())
    return _named(build, os.path.splitext(text.name)[0], sources)


def _named(build: Build, name: str, sources: tuple[Source, ...]) -> Build:
    """Return a Build under the name of its source in the tree, without the temporary folder's in what the compiler says."""
    # That of the compile, which may have been an earlier one.
    folder = build.folder

    def plain(words: str) -> str:
        return words.replace(f"{folder}/", "").replace(folder, ".") if folder else words

    assert isinstance(build.parts, HeldParts)
    return replace(
        build,
        name=name,
        command=plain(build.command),
        reason=plain(build.reason) if build.reason else None,
        parts=replace(build.parts, log=plain(build.parts.log), sources=sources),
    )


def check_confinement(*, unconfined: bool) -> None:
    """Raise UnsupportedError, which says what to do, if compilers cannot be confined on this machine and shall be."""
    from kernlens.toolchain.shown_files import mechanism

    if not unconfined:
        mechanism()
