"""Link modules for real: on a driver, or here without one. The forecast is ``kernlens.analysis.linking.forecast``'s.

::

    found = [module for path in paths for module in modules_in(path)]
    live = link_on_driver(found, simulated_driver("bmg", "newest"))
    merged = link_offline(found)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernlens.errors import KernlensError, LinkError, UnsupportedError
from kernlens.model.module import Module
from kernlens.model.program import Program

if TYPE_CHECKING:
    from kernlens.formats.zebin.merge import LinkedZebin
    from kernlens.runtime.driver_environment import DriverEnvironment
    from kernlens.runtime.isolation import IsolatedDriver

#: A program and the module that it is, as ``loading.linkable.modules_in`` gives them.
Linkable = tuple[Program, Module]


@dataclass(frozen=True, slots=True)
class KernelState:
    """Whether the driver creates a kernel after the link; ``reason`` says why not."""

    module: str
    kernel: str
    reason: str | None


@dataclass(frozen=True)
class DriverLink:
    """What a driver made of modules. ``kind`` is ``dynamic`` or ``static``.

    ``words`` is what the driver says of a failure beside its log; ``build_logs`` are (module, text) of modules whose
    build had something to say. ``unresolved`` are imports that nobody provides. ``binary`` is the linked module's
    native binary, None after a dynamic link, which leaves none.
    """

    kind: str
    linked: bool
    code_name: str
    log: str = field(repr=False)
    words: str
    build_logs: tuple[tuple[str, str], ...]
    unresolved: tuple[str, ...]
    kernels: tuple[KernelState, ...]
    binary: bytes | None = field(default=None, repr=False)


def link_on_driver(modules: Sequence[Linkable], place: DriverEnvironment, *, static: bool = False) -> DriverLink:
    """Link on a driver in a process of its own.

    SPIR-V is built with its module's options; a static link takes the SPIR-V of binaries that keep it. Raises
    RefusedCallError, before the call, for what is known to crash the driver; LevelZeroError with the log for a module
    that does not build; DriverDiedError if the driver crashed all the same.
    """
    from kernlens.runtime.isolation import IsolatedDriver

    if not modules:
        raise LinkError("there is nothing to link: the list of modules is empty")
    with IsolatedDriver(place) as driver:
        return _static(modules, driver) if static else _dynamic(modules, driver)


def _dynamic(modules: Sequence[Linkable], driver: IsolatedDriver) -> DriverLink:
    names = _unique([module.name for _, module in modules])
    logs = []
    for name, (program, module) in zip(names, modules, strict=True):
        if program.format == "spirv":
            made = driver.build_spirv(name, bytes(program.spirv), module.options or "")
        else:
            made = driver.load_native(name, bytes(program.binary))
        logs.append((name, str(made["log"]).strip()))
    answer = driver.dynamic_link(names)
    kernels = [(name, kernel) for name, (_, module) in zip(names, modules, strict=True) for kernel in module.kernels]
    return DriverLink(
        kind="dynamic",
        linked=answer.linked,
        code_name=answer.code_name,
        log=answer.log,
        words=answer.words,
        build_logs=tuple(one for one in logs if one[1]),
        unresolved=tuple(dict.fromkeys(one.symbol for one in answer.missing)),
        kernels=tuple(_kernel_state(driver, name, kernel) for name, kernel in kernels),
    )


def _static(modules: Sequence[Linkable], driver: IsolatedDriver) -> DriverLink:
    from kernlens.runtime.level_zero.module_links import StaticInput

    _check_types([module for _, module in modules])
    inputs = []
    for program, module in modules:
        if not len(program.spirv):
            raise UnsupportedError(f"{module.name} holds no SPIR-V, which is what a static link takes")
        inputs.append(StaticInput(bytes(program.spirv), module.options or "", module.name))
    name = "linked module"
    made = driver.static_link(name, inputs)
    unresolved = driver.inspect_linkage([name])[0].unresolved if made["has_imports"] else ()
    return DriverLink(
        kind="static",
        linked=not made["has_imports"],
        code_name="ZE_RESULT_SUCCESS",
        log=str(made["log"]).strip(),
        words="",
        build_logs=(),
        unresolved=unresolved,
        kernels=tuple(_kernel_state(driver, name, kernel) for kernel in made["kernel_names"]),
        binary=driver.live_builds(name)[0].binary,
    )


def _check_types(modules: Sequence[Module]) -> None:
    """Compilers crash, or call with the wrong arguments, where importer and exporter disagree on a function's type."""
    from kernlens.analysis.linking.forecast import foretell_static

    for one in foretell_static(modules).mismatches:
        raise LinkError(
            f"{modules[one.importer].name} declares {one.symbol} as {one.wanted}, {modules[one.provider].name} defines it "
            f"as {one.given}, and the compilers crash on that in a static link: make the declarations agree",
            (one.symbol,),
        )


def _kernel_state(driver: IsolatedDriver, module: str, kernel: str) -> KernelState:
    try:
        driver.kernel(module, kernel)
    except KernlensError as error:
        return KernelState(module, kernel, str(error))
    return KernelState(module, kernel, None)


def _unique(names: Sequence[str]) -> list[str]:
    """The worker knows modules by name: a name that comes again gets a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def link_offline(modules: Sequence[Linkable]) -> LinkedZebin:
    """Merge zebin modules into one, without a driver. Imports that nobody exports stay imports.

    Raises UnsupportedError for modules that are not zebin, LinkError for what cannot be merged.
    """
    from kernlens.formats.zebin.merge import link_zebins

    for _, module in modules:
        if module.format != "zebin":
            raise UnsupportedError(
                f"{module.name} is {module.format}, and the offline linker merges zebins: compile it with a newer compiler "
                "(kernlens compile --toolchain newest), or with IGC_EnableZEBinary=1 in 22.43"
            )
    names = _unique([module.name for _, module in modules])
    return link_zebins([(name, program.binary) for name, (program, _) in zip(names, modules, strict=True)])
