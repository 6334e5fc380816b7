"""Links of modules on a driver. ``kernlens.analysis.linking`` predicts links instead.

::

    modules = [(program, module_of(program, name=name)) for name, program in linkable_in(contents, contents.programs)]
    live = link_on_driver(modules, simulated_driver("bmg", "newest"))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernlens.dataclass import dataclass, field
from kernlens.errors import KernlensError, LinkError, UnsupportedError
from kernlens.model.level_zero_results import SUCCESS, result_name
from kernlens.model.module import Module
from kernlens.model.program import Program

if TYPE_CHECKING:
    from kernlens.runtime.driver_environment import DriverEnvironment
    from kernlens.runtime.isolation import IsolatedDriver

#: A program and its module, as ``loading.linkable`` gives them.
Linkable = tuple[Program, Module]


@dataclass(frozen=True, slots=True)
class KernelState:
    """The state of a kernel after the link: ``reason`` is None if the driver creates it, else why not."""

    module: str
    kernel: str
    reason: str | None


@dataclass(frozen=True)
class DriverLink:
    """The result of a link on a driver. ``kind`` is ``dynamic`` or ``static``.

    ``words`` is the driver's description of a failure, beside its log. ``build_logs`` are (module, text) of the modules
    whose build log is not empty. ``unresolved`` are imports that no module provides. ``binary`` is the linked module's
    native binary; None after a dynamic link, which yields none.
    """

    kind: str
    linked: bool
    result_name: str
    log: str = field(repr=False)
    words: str
    build_logs: tuple[tuple[str, str], ...]
    unresolved: tuple[str, ...]
    kernels: tuple[KernelState, ...]
    binary: bytes | None = field(default=None, repr=False)

    @property
    def succeeded(self) -> bool:
        """True if the driver's call succeeded: a static link may leave imports all the same."""
        return self.result_name == result_name(SUCCESS)


def link_on_driver(modules: Sequence[Linkable], environment: DriverEnvironment, *, static: bool = False) -> DriverLink:
    """Link on a driver, which runs in a child process.

    SPIR-V is built with its module's options; a static link takes the SPIR-V of binaries that keep it. Raises
    RefusedCallError before a call that is known to crash the driver, LevelZeroError with the log for a module that does
    not build, and DriverDiedError if the driver crashes all the same.
    """
    from kernlens.runtime.isolation import IsolatedDriver

    if not modules:
        raise LinkError("there is nothing to link: the list of modules is empty")
    with IsolatedDriver(environment) as driver:
        return _static(modules, driver) if static else _dynamic(modules, driver)


def _dynamic(modules: Sequence[Linkable], driver: IsolatedDriver) -> DriverLink:
    names = _unique([module.name for _, module in modules])
    logs = []
    for name, (program, module) in zip(names, modules, strict=True):
        if program.format == "spirv":
            answer = driver.build_spirv(name, bytes(program.spirv), module.options or "", constants=module.constants)
        else:
            answer = driver.load_native(name, bytes(program.binary))
        logs.append((name, str(answer["log"]).strip()))
    link = driver.dynamic_link(names)
    kernels = [(name, kernel) for name, (_, module) in zip(names, modules, strict=True) for kernel in module.kernels]
    return DriverLink(
        kind="dynamic",
        linked=link.linked,
        result_name=link.result_name,
        log=link.log,
        words=link.words,
        build_logs=tuple((name, log) for name, log in logs if log),
        unresolved=tuple(dict.fromkeys(resolution.symbol for resolution in link.missing)),
        kernels=tuple(_kernel_state(driver, name, kernel) for name, kernel in kernels),
    )


def _static(modules: Sequence[Linkable], driver: IsolatedDriver) -> DriverLink:
    from kernlens.runtime.level_zero.module_links import StaticInput

    if are_bare(modules):
        return _static_binaries(modules, driver)
    _check_types([module for _, module in modules])
    inputs = []
    for program, module in modules:
        if not len(program.spirv):
            raise UnsupportedError(f"{module.name} contains no SPIR-V, which a static link needs")
        inputs.append(
            StaticInput(bytes(program.spirv), module.options or "", module.name, tuple(module.constants.items()))
        )
    name = "linked module"
    answer = driver.static_link(name, inputs)
    unresolved = driver.inspect_linkage([name])[0].unresolved if answer["has_imports"] else ()
    binary = driver.live_builds(name)[0].binary
    return _static_link(driver, name, answer, linked=not answer["has_imports"], unresolved=unresolved, binary=binary)


def are_bare(modules: Sequence[Linkable]) -> bool:
    """Return whether all modules are binaries, and not all of them keep their SPIR-V: a static link then takes the binaries."""
    return all(module.format == "zebin" for _, module in modules) and not all(
        len(program.spirv) for program, _ in modules
    )


def _static_binaries(modules: Sequence[Linkable], driver: IsolatedDriver) -> DriverLink:
    from kernlens.model.level_zero_results import INVALID_ENUMERATION
    from kernlens.runtime.level_zero.module_links import NativeInput
    from kernlens.runtime.level_zero.result_codes import LevelZeroError

    names = _unique([module.name for _, module in modules])
    inputs = [NativeInput(bytes(program.binary), name) for name, (program, _) in zip(names, modules, strict=True)]
    name = "linked module"
    try:
        answer = driver.static_link_natives(name, inputs)
    except LevelZeroError as error:
        if error.code != INVALID_ENUMERATION:
            raise
        bare = next(module.name for program, module in modules if not len(program.spirv))
        raise UnsupportedError(
            f"{bare} contains no SPIR-V, which a static link on this driver needs; NEO 26.27 also links binaries"
        ) from error
    exported = {symbol.name for _, module in modules for symbol in module.exports}
    unresolved = dict.fromkeys(use.symbol for _, module in modules for use in module.uses if use.symbol not in exported)
    # The driver denies that a package with imports left has some of its kernels, so that it cannot be read.
    binary = driver.live_builds(name)[0].binary if not unresolved else None
    return _static_link(driver, name, answer, linked=not unresolved, unresolved=tuple(unresolved), binary=binary)


def _static_link(driver: IsolatedDriver, name: str, answer: Mapping[str, Any], **outcome: Any) -> DriverLink:
    """Return the result of a static link that the driver did: its ``answer``, and what else there is to know."""
    return DriverLink(
        kind="static",
        result_name=result_name(SUCCESS),
        log=str(answer["log"]).strip(),
        words="",
        build_logs=(),
        kernels=tuple(_kernel_state(driver, name, kernel) for kernel in answer["kernel_names"]),
        **outcome,
    )


def _check_types(modules: Sequence[Module]) -> None:
    """Raise LinkError if importer and exporter disagree on a type: compilers crash then, or make wrong calls."""
    from kernlens.analysis.linking.static_forecast import predict_static

    for mismatch in predict_static(modules).mismatches:
        raise LinkError(
            f"{modules[mismatch.importer].name} declares {mismatch.symbol} as {mismatch.declared}, "
            f"{modules[mismatch.provider].name} defines it as {mismatch.defined}, "
            "and the compilers crash on that in a static link: make the declarations agree",
            (mismatch.symbol,),
        )


def _kernel_state(driver: IsolatedDriver, module: str, kernel: str) -> KernelState:
    try:
        driver.kernel(module, kernel)
    except KernlensError as error:
        return KernelState(module, kernel, str(error))
    return KernelState(module, kernel, None)


def _unique(names: Sequence[str]) -> list[str]:
    """Return the names with a number added to repeated ones, as the worker knows modules by name."""
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique
