"""Second builds of what an application has built, in processes of their own, once it has ended.

They yield what the application's own build does not: the compile stages, and the machine code without the options that
were added. The application is neither slowed nor changed by them.
"""

from __future__ import annotations

import os
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from kernlens.dataclass import dataclass, field, replace
from kernlens.errors import KernlensError, UnsupportedError
from kernlens.formats.spirv.magic import is_spirv
from kernlens.loading import open_build
from kernlens.model.build import Build, HeldParts
from kernlens.processors import processors
from kernlens.runtime.driver_environment import WORKER_VARIABLES
from kernlens.toolchain.cached_code import CachedCode, cached_snapshots
from kernlens.toolchain.confinement import Children, confinement
from kernlens.toolchain.device_compilers import why_not_compiled
from kernlens.toolchain.driver_stages import IN_BINARIES
from kernlens.toolchain.foreign_text import foreign_text
from kernlens.toolchain.loaders.vendor_file import led_elsewhere
from kernlens.toolchain.sources.includes import include_folders
from kernlens.toolchain.sources.source_reading import is_wide
from kernlens.verbs.capture.replacing import codes, listed
from kernlens.verbs.capture.spool import FOLDER, OPTIONS, REPLACE, BuildEvent, BuiltDevice, Given
from kernlens.verbs.capture.spooled import Identity

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from kernlens.model.stage import Snapshot
    from kernlens.pipeline.second_build import SecondBuild

#: Layers are for the application, and second builds are not recorded.
_NOT_INHERITED = ("OPENCL_LAYERS", FOLDER, OPTIONS, REPLACE)
#: Seconds that the main thread waits without looking whether a signal came.
_LONGEST_WAIT = 0.5


@dataclass(frozen=True, slots=True)
class SecondBuildPlan:
    """The second builds to do, in the application's ``environment``, with the command that starts Python beside its
    driver. ``stages`` are to be saved; with ``compare`` what got more options is built without. ``unconfined``: the
    builds can read all files, rather than those of the toolchain, the working folder and the folders of ``-I`` alone."""

    environment: Mapping[str, str]
    python: tuple[str, ...] = ()
    stages: bool = False
    compare: bool = False
    unconfined: bool = False


@dataclass(slots=True)
class SecondBuildResult:
    """The second builds of one build and device: that with stages, and that with the application's own options; an
    error if it cannot be done, None if it was not to be."""

    staged: Build | KernlensError | None = None
    plain: Build | KernlensError | None = None


@dataclass(slots=True)
class _SecondBuilds:
    plan: SecondBuildPlan
    compiled: dict[Identity, BuildEvent] = field(default_factory=dict)
    children: Children = field(default_factory=Children)

    def start(self, event: BuildEvent, pool: ThreadPoolExecutor) -> list[Future[SecondBuildResult]]:
        if event.program is not None:
            self.compiled[event.program] = event
        inputs = [self.compiled.get(identity) for identity in event.inputs]
        return [pool.submit(self._build, event, device, inputs) for device in event.devices]

    def _build(self, event: BuildEvent, device: BuiltDevice, inputs: list[BuildEvent | None]) -> SecondBuildResult:
        from kernlens.pipeline.live_stages import second_build_stages
        from kernlens.pipeline.second_build import second_build

        result = SecondBuildResult()
        if event.operation not in ("build", "link", "module") or not event.has_ended:
            return result  # A compile's stages are those of what it is linked into.
        try:
            if self.plan.stages and device.platform not in IN_BINARIES:
                build = self._second(event, device, inputs, plain=False)
                with self._confined(build):
                    result.staged = second_build_stages(build, device.driver_version)
        except KernlensError as error:
            result.staged = error
        parts = [each for each in (event, *inputs) if each is not None]
        if self.plan.compare and device.built and any(each.got_more_options for each in parts):
            try:
                build = self._second(event, device, inputs, plain=True)
                with self._confined(build):
                    result.plain, _ = second_build(build, {})
                    result.plain = _with_cached_code(result.plain, build)
            except KernlensError as error:
                result.plain = error
        return result

    def _confined(self, build: SecondBuild) -> AbstractContextManager[None]:
        """Confine the builds to the files that the application's own build could include without a whole path."""
        options = [build.options, *(str(part.get("options", "")) for part in build.parts)]
        folders = [os.getcwd(), *(folder for each in options for folder in include_folders(each))]
        shown = [folder for folder in folders if os.path.isdir(folder) and not is_wide(folder)]
        return foreign_text(shown, unconfined=self.plan.unconfined)

    def _second(
        self, event: BuildEvent, device: BuiltDevice, inputs: list[BuildEvent | None], *, plain: bool
    ) -> SecondBuild:
        has_il = event.spirv or any(is_spirv(each.spirv) for each in event.static_inputs)
        if event.operation != "link" and event.source is None and not has_il:
            raise UnsupportedError("the program was created from a binary")
        if event.operation == "link" and not (inputs and all(inputs)):
            raise UnsupportedError("the recorder has not seen how an input of the link was made")
        from kernlens.pipeline.second_build import SecondBuild

        own = self.plan.environment
        variables: dict[str, str | None] = {name: None for name in os.environ if name not in own} | dict(own)
        for name in WORKER_VARIABLES:
            variables.pop(name, None)
        return SecondBuild(
            platform=device.platform,
            options=event.own_options if plain else event.options,
            text=event.source,
            spirv=event.spirv or None,
            variables={**variables, **dict.fromkeys(_NOT_INHERITED), **led_elsewhere(own)},
            device=device.name,
            device_name=device.name,
            parts=[_part(each, plain=plain) for each in inputs if each is not None],
            constants=_constants(event),
            modules=_modules(event, plain=plain) if event.operation == "module" else (),
            linked=bool(event.static_inputs),
            python=self.plan.python,
            children=self.children,
        )


def _with_cached_code(built: Build, asked: SecondBuild) -> Build:
    """Return a build with the machine code that the driver kept in its cache: in its own folder, where it is confined."""
    confined = confinement()
    variables = {name: value for name, value in asked.variables.items() if value is not None}
    cached = CachedCode(variables if confined is None or confined.shown is None else {"HOME": confined.folder})
    snapshots = cached_snapshots(built.binary, cached)
    return built.with_parts(snapshots=snapshots) if snapshots else built


def _modules(event: BuildEvent, *, plain: bool) -> list[dict[str, Any]]:
    sources: list[Given] = [*event.static_inputs] or [event]
    return [
        {"spirv": each.spirv, "flags": each.own_options if plain else each.options, "constants": each.constants}
        for each in sources
    ]


def _part(event: BuildEvent, *, plain: bool) -> dict[str, Any]:
    if event.operation != "compile" or (event.source is None and not event.spirv):
        binary = next((device.binary for device in event.devices if device.binary), b"")
        if not binary:
            raise UnsupportedError("an input of the link has neither source nor binary")
        return {"binary": binary}
    options = event.own_options if plain else event.options
    constants = _constants(event)
    return {
        "text": event.source,
        "spirv": event.spirv,
        "options": options,
        "headers": event.headers,
        "constants": constants,
    }


def _constants(source: Given) -> list[tuple[int, int, int]]:
    """Return each specialization constant's number, bits and size in bytes."""
    known = source.known_constants()
    return [(number, bits, (known[number].width + 7) // 8) for number, bits in source.constants if number in known]


def second_builds(
    events: Iterable[BuildEvent], plan: SecondBuildPlan
) -> Iterator[tuple[BuildEvent, list[SecondBuildResult]]]:
    """Yield each event with what came of its second builds, one for each device; as many at once as there are processors.

    When the caller stops early, the builds that run are ended, and those that wait are dropped.
    """
    if not plan.stages and not plan.compare:
        yield from ((event, [SecondBuildResult() for _ in event.devices]) for event in events)
        return
    from concurrent.futures import ThreadPoolExecutor

    workers = processors()
    builds = _SecondBuilds(plan)
    started: deque[tuple[BuildEvent, list[Future[SecondBuildResult]]]] = deque()
    pool = ThreadPoolExecutor(workers)
    try:
        for event in events:
            started.append((event, builds.start(event, pool)))
            if len(started) > workers:
                earliest, results = started.popleft()
                yield earliest, _results(results)
        for earliest, results in started:
            yield earliest, _results(results)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        builds.children.stop()
        pool.shutdown(wait=True)


def _results(futures: list[Future[SecondBuildResult]]) -> list[SecondBuildResult]:
    from concurrent.futures import wait

    # A signal that comes just before a wait begins is obeyed when the wait ends: none may last long.
    while wait(futures, _LONGEST_WAIT).not_done:
        pass
    return [future.result() for future in futures]


@dataclass(slots=True)
class Findings:
    """The results of second builds: the builds, by the reason, whose stages are not kept or whose code was not compared.
    ``has_fresh_caches``: the application got empty caches."""

    has_fresh_caches: bool = False
    without_stages: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    not_compared: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self, build: Build, result: SecondBuildResult, cached: Sequence[Snapshot] = ()
    ) -> tuple[Build, dict[str, bool]]:
        """Return the build with its stages, behind them those that the driver ``cached`` or gave out, and of each kernel
        whether its machine code is the same without added options. For kernels that are missing there it is unknown."""
        if isinstance(result.staged, Build):
            if build.ok and not _are_alike(build, result.staged):
                self.without_stages[self._other_code(build.device)].append(build.name)
            else:
                build = build.with_parts(snapshots=result.staged.snapshots)
        elif result.staged is not None and not cached:
            self.without_stages[str(result.staged)].append(build.name)
        if cached:
            build = build.with_parts(snapshots=(*build.snapshots, *cached))
        return build, self._compared(build, result.plain)

    def _other_code(self, device: str) -> str:
        reason = "built again, it has other machine code"
        if self.has_fresh_caches or why_not_compiled(device) is None:
            return reason
        return f"{reason}; the driver may have taken it from its cache: the same capture with --fresh-cache"

    def _compared(self, build: Build, plain: Build | KernlensError | None) -> dict[str, bool]:
        if plain is None:
            return {}
        same: dict[str, bool] = {}
        reason = ""
        if isinstance(plain, Build) and plain.ok:
            try:
                reason = _why_no_code(build, plain)
                same = {} if reason else _same_code(build, plain, plain.snapshots)
            except KernlensError as error:
                reason = str(error)
        elif isinstance(plain, Build):
            reason = f"the compiler refused it when it was built again without them: {plain.reason}"
        else:
            reason = f"kernlens did not build it again without them: {plain}"
        if reason:
            self.not_compared[reason].append(build.name)
        return same

    def sentences(self, same: Iterable[tuple[str, bool | None]]) -> list[str]:
        """Return the findings as sentences; ``same`` are all kernels that were compared."""
        told = [f"no stages of {listed(names)}: {reason}" for reason, names in self.without_stages.items()]
        compared = list(same)
        other = [name for name, is_same in compared if not is_same]
        if other:
            told.append(
                f"with the added options the machine code of {len(other)} of {len(compared)} kernels is another:"
                f" {listed(other)}"
            )
        elif compared:
            all_of_them = f"all {len(compared)} kernels" if len(compared) > 1 else f"the kernel {compared[0][0]}"
            told.append(f"with the added options the machine code of {all_of_them} is the same as without")
        told += [
            f"whether the added options changed the machine code of {listed(names)} is not known: {reason}"
            for reason, names in self.not_compared.items()
        ]
        return told


def _are_alike(build: Build, other: Build) -> bool:
    """Return whether both hold the same machine code, as far as kernlens reads it."""
    try:
        return other.ok and all(_same_code(build, other).values())
    except KernlensError:
        return other.ok


def _same_code(build: Build, other: Build, cached: tuple[Snapshot, ...] = ()) -> dict[str, bool]:
    from kernlens.pipeline.igc_dump import stands_in

    theirs = codes(replace(build, parts=HeldParts(binary=other.binary, snapshots=cached)))
    return {
        name: len(code) == len(theirs.get(name, b"")) and stands_in(theirs[name], code)
        for name, code in codes(build).items()
    }


def _why_no_code(build: Build, other: Build) -> str:
    """Return why there is no machine code to compare; "" if there is, or if the program has no kernels."""
    programs = [program for each in (build, other) for program in open_build(each)]
    if any(not program.kernels and any(symbol.kind == "kernel" for symbol in program.symbols) for program in programs):
        return "the driver kept no machine code of it in its cache, or several"
    return "kernlens does not read it" if all(program.format == "spirv" for program in open_build(build)) else ""
