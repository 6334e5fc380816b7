"""One compile of what a page sent: in a child process with limits, decoded here, and kept for whoever asks again."""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Generic, TypeVar

import orjson

from kernlens import __version__
from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError, ToolError, UnsupportedError
from kernlens.explorer.compile_queue import Tell, no_result
from kernlens.explorer.compile_request import Configuration
from kernlens.loading import open_build
from kernlens.model.build import Build, HeldParts, Source
from kernlens.model.program import Program
from kernlens.pipeline.second_build_of_recording import second_build_of_recording
from kernlens.report.explore import ExploreDocument, explore_document
from kernlens.toolchain.confinement import Confinement, Limits
from kernlens.toolchain.diagnostics import error_lines
from kernlens.toolchain.foreign_text import shown_to_compilers
from kernlens.toolchain.process import temporary_folder
from kernlens.toolchain.sources.directives import inclusions, joined_lines
from kernlens.toolchain.sources.includes import with_lines
from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.compile import compiler_name

Item = TypeVar("Item")

#: Bytes of what compiles left that are kept, before they are packed; the newest stays in any case.
KEPT = 256 << 20
#: Messages of a build that are listed; the log has all of them.
_MESSAGES = 200
#: What a compile goes through: the compiler, and what is made of what it left.
_STEPS = 2


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a compile. ``folders`` are the temporary ones of the compile, the innermost first, which answers
    leave out; ``document`` is None if there is no binary, and ``ids`` are those of its programs. ``size`` is in bytes,
    of all that the build holds."""

    build: Build
    folders: tuple[str, ...]
    document: ExploreDocument | None
    ids: tuple[str, ...]
    size: int

    def event(self) -> dict[str, Any]:
        """Return what the page is told."""
        build = self.build
        return {
            "event": "result",
            "ok": build.ok,
            "reason": build.reason,
            "log": build.log,
            "seconds": round(build.seconds, 3),
            "command": build.command,
            "diagnostics": diagnostics(build),
            "index": orjson.loads(self.without_folders(orjson.dumps(self.document.index))) if self.document else None,
        }

    def without_folders(self, content: bytes) -> bytes:
        """Return JSON without the temporary folders: paths read as they were sent."""
        for folder in self.folders:
            content = content.replace(orjson.dumps(folder)[1:-1], b"")
        return content

    def programs(self) -> tuple[Program, ...]:
        """Return the programs, without their stages."""
        return tuple(as_asked(open_build(self.build.with_parts(snapshots=())), self.build.options))


class Newest(Generic[Item]):
    """The newest items by a key, at least one, of ``most`` bytes together; usable from several threads."""

    def __init__(self, most: int, size: Callable[[Item], int]) -> None:
        self._most = most
        self._size_of = size
        self._size = 0
        self._items: OrderedDict[str, Item] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Item | None:
        """Return the item with this key, if it is still there."""
        with self._lock:
            if key in self._items:
                self._items.move_to_end(key)
            return self._items.get(key)

    def add(self, key: str, item: Item) -> None:
        """Take an item, and let the oldest go."""
        with self._lock:
            if key in self._items:
                self._size -= self._size_of(self._items.pop(key))
            self._items[key] = item
            self._size += self._size_of(item)
            while self._size > self._most and len(self._items) > 1:
                self._size -= self._size_of(self._items.popitem(last=False)[1])

    def all(self) -> list[Item]:
        """Return what is there, the newest first."""
        with self._lock:
            return list(reversed(self._items.values()))


class Results(Newest[Result]):
    """The newest results by what they were made from."""

    def __init__(self, most: int = KEPT) -> None:
        super().__init__(most, lambda result: result.size)

    def of(self, program: str) -> Result | None:
        """Return the kept result that has the program of this id; None if there is none."""
        return next((result for result in self.all() if program in result.ids), None)

    def program(self, program: str) -> Program | None:
        """Return the program of this id, without its stages; None if no kept result has it."""
        result = self.of(program)
        return None if result is None else result.programs()[result.ids.index(program)]


@contextmanager
def confined(limits: Limits, shown: Sequence[str] = (), *, unconfined: bool = False) -> Iterator[Confinement]:
    """Confine the children of a block to a folder that is removed after it; they can open only ``shown`` beside the toolchain,
    or all files if they are ``unconfined``."""
    with (
        temporary_folder() as folder,
        Confinement(folder, limits, None if unconfined else shown_to_compilers(shown)) as confinement,
    ):
        yield confinement


@dataclass(eq=False)
class ConfinedWork:
    """A compile of ``sources``, the first of which is the main one, that waits to be run. ``include`` are folders whose files
    it may include too; ``unconfined``: all that there are."""

    configuration: Configuration
    sources: Sequence[Source]
    include: Sequence[str]
    limits: Limits
    unconfined: bool

    def __post_init__(self) -> None:
        self._confinement: Confinement | None = None
        self._stopped = False

    def stop(self) -> None:
        """End the compiler, if it runs already, and let none begin otherwise."""
        self._stopped = True
        if self._confinement is not None:
            self._confinement.stop()

    @contextmanager
    def folder(self) -> Iterator[str]:
        """Confine what a block compiles to a folder, which is removed after it."""
        with confined(self.limits, self.include, unconfined=self.unconfined) as confinement:
            self._confinement = confinement
            if self._stopped:
                confinement.stop()
            yield confinement.folder


@dataclass(eq=False)
class CompileWork(ConfinedWork):
    """A compile whose result is kept."""

    results: Results
    own_roots: Sequence[str] = ()

    def run(self, tell: Tell) -> None:
        """Compile, or take what is kept of the same, and tell the result."""
        tell({"event": "stage", "done": 0, "of": _STEPS})
        with self.folder() as folder:
            try:
                key = self._key()
                earlier = None if self._includes_files else self.results.get(key)
                result = earlier or self._compiled(tell, folder)
            except KernlensError as error:
                log, command = (error.log, error.command) if isinstance(error, ToolError) else ("", None)
                tell(no_result(str(error), log, command))
                return
        if self._stopped:
            return
        if result.build.ok:  # A compiler that failed may have been killed, and is asked again.
            self.results.add(key, result)
        tell(result.event())

    @property
    def _includes_files(self) -> bool:
        """True if files of the machine may be included, which may change: then it is compiled each time."""
        return bool(self.include) and any(next(inclusions(joined_lines(source.text)), None) for source in self.sources)

    def _key(self) -> str:
        """Return what says that two compiles have the same result: all that goes into them, and the compiler that does them."""
        chosen, configuration = toolchain(self.configuration.toolchain), self.configuration
        words = [
            configuration.device,
            chosen.name,  # Of toolchains without ocloc the title is the same.
            chosen.title,
            configuration.options,
            str(configuration.all_passes),
            *self.include,
        ]
        words += [str(chosen.ocloc), *(word for source in self.sources for word in (source.path, source.text))]
        digest = hashlib.sha256()
        for word in words:
            content = word.encode("utf-8", "surrogatepass")
            digest.update(len(content).to_bytes(8, "little") + content)
        return digest.hexdigest()

    def _compiled(self, tell: Tell, folder: str) -> Result:
        configuration = self.configuration
        chosen = toolchain(configuration.toolchain)
        source = self.sources[0]
        build = Build(
            name=source.path.rpartition("/")[2].rpartition(".")[0] or source.path,
            device=compiler_name(configuration.device, chosen),
            options=with_lines(configuration.options),
            parts=HeldParts(sources=tuple(self.sources)),
        )
        try:
            pipeline = second_build_of_recording(
                build,
                toolchain=chosen.name,
                all_passes=configuration.all_passes,
                include=self.include,
                unconfined=self.unconfined,
            )
        except UnsupportedError as error:
            raise UnsupportedError(f"{error}; kernlens serve --include DIR allows what lies below DIR") from error
        tell({"event": "stage", "done": 1, "of": _STEPS})
        outside = os.path.realpath(folder)
        # The server's own folders are no options of whoever asked: versions would seem to differ in them.
        pipeline = replace(pipeline, build=replace(_by_hand(pipeline.build, outside), options=build.options))
        built = pipeline.build
        document = None
        if built.ok:
            document = explore_document(
                as_asked(pipeline.programs, build.options),
                title=built.source,
                version=__version__,
                own_roots=self.own_roots,
            )
        tell({"event": "stage", "done": _STEPS, "of": _STEPS})
        size = len(built.binary) + len(built.debug) + len(built.spirv) + len(built.log)
        size += sum(snapshot.size or 0 for snapshot in built.snapshots) + sum(len(each.text) for each in built.sources)
        ids = tuple(entry["id"] for entry in document.index["programs"]) if document else ()
        return Result(built, (pipeline.written_below, outside), document, ids, size)


def as_asked(programs: Iterable[Program], options: str | None) -> list[Program]:
    """Return the programs with the options that they were asked for with: binaries name the server's own folders, too."""
    return [replace(program, build=replace(program.build, options=options)) for program in programs]


def diagnostics(build: Build) -> list[dict[str, Any]]:
    """Return the compiler's messages about a build's sources, ready for JSON."""
    messages = error_lines(build.log, build.source)[:_MESSAGES]
    return [
        {
            **{name: getattr(each, name) for name in ("path", "line", "column", "severity")},
            "message": each.words,
            "fix": each.fix and each.fix._asdict(),
        }
        for each in messages
    ]


def _by_hand(build: Build, folder: str) -> Build:
    """Return the build with a command that can be run by hand: the compiler writes to a folder of its own below
    ``folder``, which whoever runs it chooses."""
    written = re.compile(re.escape(folder) + r"/[^/\s']+")
    command, reason, log = (written.sub("OUTPUT", text) for text in (build.command, build.reason or "", build.log))
    return replace(build.with_parts(log=log), command=command, reason=reason or None)
