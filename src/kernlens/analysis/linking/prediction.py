"""The prediction of a link: what zeModuleDynamicLink will return and log, and what in the modules makes it so.

The rules are those of the driver's own linker (compute-runtime, ``ModuleImp::performDynamicLink``), in which the
generations agree but for what ``driver_rules`` lists:

* modules are taken in the order given; each site that needs an import is filled from the first module that exports it;
* a module counts as linked as soon as its own imports are met, and is passed over from then on;
* the first module with an import that nobody exports ends the call, and later modules are not looked at;
* only names are compared: neither types nor a second exporter make a difference;
* a module whose code has no site to fill cannot be linked at all if its data needs an import.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence

from kernlens.analysis.linking import graph as module_graph
from kernlens.analysis.linking.driver_rules import BUILD_FAILURE, LATEST, LINK_FAILURE, SUCCESS, DriverRules
from kernlens.analysis.linking.graph import Clash, Duplicate, Edge, Mismatch
from kernlens.dataclass import dataclass
from kernlens.model.device import Device
from kernlens.model.module import EXPORT_FUNCTIONS, ImportUse, Module

CODE_NAMES = {
    SUCCESS: "ZE_RESULT_SUCCESS",
    LINK_FAILURE: "ZE_RESULT_ERROR_MODULE_LINK_FAILURE",
    BUILD_FAILURE: "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
}


#: The first graphics IP version for which 22.43 builds every library module.
_XE_HP = (12, 50)

#: Kernels that a sentence names.
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Resolution:
    """One use of an import. ``module`` and ``provider`` are positions in the call; the latter is None if none exports it."""

    module: int
    use: ImportUse
    provider: int | None


@dataclass(frozen=True)
class Forecast:
    """The outcome of one dynamic link on one generation of the driver.

    ``code`` is the call's result, None if the driver would take the process down; ``crash`` then says why.
    ``resolutions`` are the uses that the driver gets to and logs, in its order; ``unresolved`` are all uses of imports
    that no module exports, those in modules that the driver no longer looks at included. ``linked`` holds the modules
    whose kernels can be created afterwards. ``words`` is the driver's text for its last error, empty if it has none.
    ``doubtful`` are the unresolved uses of SPIR-V that decide about the result and may be gone from the machine code: all
    else is said as if they stayed. ``clashes`` are calls that link and go wrong.
    """

    modules: tuple[Module, ...]
    rules: DriverRules
    code: int | None
    resolutions: tuple[Resolution, ...]
    unresolved: tuple[Resolution, ...]
    linked: frozenset[int]
    duplicates: tuple[Duplicate, ...]
    mismatches: tuple[Mismatch, ...]
    cycles: tuple[tuple[int, ...], ...]
    edges: tuple[Edge, ...]
    crash: str | None = None
    words: str = ""
    doubtful: tuple[Resolution, ...] = ()
    clashes: tuple[Clash, ...] = ()

    @property
    def links(self) -> bool:
        """True if the call succeeds."""
        return self.code == SUCCESS

    @property
    def result_name(self) -> str:
        """The result as the Level Zero headers call it."""
        return "the process ends" if self.code is None else CODE_NAMES[self.code]

    def log(self, names: Sequence[str] | None = None) -> Iterator[str]:
        """Yield the lines of the driver's link log. ``names`` replace the addresses by which the driver calls modules
        (default: the modules' names).

        SPIR-V has no sites yet: the driver will write a line for each site, and a use may become several.
        """
        shown = names if names is not None else [module.name for module in self.modules]
        for resolution in self.resolutions:
            line = f"Module <{shown[resolution.module]}>:  Unresolved Symbol <{resolution.use.symbol}>"
            if resolution.provider is not None:
                line += f" Successfully Resolved Thru Dynamic Link to Module <{shown[resolution.provider]}>"
            yield line


def predict(modules: Sequence[Module], rules: DriverRules = LATEST, linked_before: Collection[int] = ()) -> Forecast:
    """Predict a dynamic link of these modules, in this order. The time is linear in uses and exports.

    ``linked_before`` are the positions of modules that an earlier call has linked. An object that occurs twice is one
    module named twice.
    """
    call = _Call(modules, rules, linked_before)
    call.run()
    without = [
        dataclasses.replace(module, uses=tuple(use for use in module.uses if not use.in_doubt)) for module in modules
    ]
    alternative = _Call(without, rules, linked_before)
    alternative.run()
    arrows = module_graph.edges(modules, call.provider_of)
    return Forecast(
        modules=tuple(modules),
        rules=rules,
        code=call.code,
        resolutions=tuple(call.resolutions),
        unresolved=tuple(call.unresolved()),
        linked=frozenset(call.linked),
        duplicates=module_graph.duplicates(modules),
        mismatches=module_graph.mismatches(modules, call.provider_of),
        cycles=module_graph.cycles(len(modules), [(edge.importer, edge.provider) for edge in arrows]),
        edges=arrows,
        crash=call.crash,
        words=call.words(),
        clashes=module_graph.clashes(modules, call.provider_of),
        doubtful=tuple(unresolved for unresolved in call.unresolved() if unresolved.use.in_doubt)
        if alternative.code != call.code
        else (),
    )


def notes(modules: Sequence[Module], rules: DriverRules = LATEST, device: Device | None = None) -> tuple[str, ...]:
    """Return sentences on modules without code, and, where it is not known for which device the modules are, on what will go
    wrong on some."""
    empty = tuple(_emptiness(module) for module in modules if module.lost_kernels)
    if device is not None or any(module.device is not None for module in modules):
        return empty
    return empty + tuple(_work_item_crash(module, rules) for module in modules if _crashes(module, rules))


def _emptiness(module: Module) -> str:
    names = ", ".join(module.lost_kernels[:_NAMED])
    more = f" and {len(module.lost_kernels) - _NAMED:,} more" if len(module.lost_kernels) > _NAMED else ""
    return (
        f"{module.name} has no machine code, but its SPIR-V holds {names}{more}: kernlens compile {module.name} --device D"
        " builds it"
    )


def obstacles(modules: Sequence[Module], rules: DriverRules = LATEST, device: Device | None = None) -> tuple[str, ...]:
    """Return sentences that say what keeps the driver from even making these modules side by side; none if it can.
    ``device`` is the one that SPIR-V will be built for, if it is known."""
    device = device or next((module.device for module in modules if module.device is not None), None)
    sentences = []
    devices: dict[str, str] = {}
    for module in modules:
        if module.device is not None:
            devices.setdefault(module.device.name, module.name)
        if module.format == "patch-tokens" and not rules.loads_patch_tokens:
            sentences.append(
                f"{module.name} is a patch-token program, which NEO {rules.name} does not load: compile it anew, "
                "or ask for the link on an older driver (--driver 22.43)"
            )
    if len(devices) > 1:
        targets = ", ".join(f"{name} for {device}" for device, name in devices.items())
        sentences.append(
            f"the modules are for different devices ({targets}), and a link is for one: a driver builds a binary of "
            "another device anew from the SPIR-V in it, or refuses it"
        )
    if device is not None and device.ip is not None and (device.ip.architecture, device.ip.release) < _XE_HP:
        sentences += [_work_item_crash(module, rules) for module in modules if _crashes(module, rules)]
    return tuple(sentences)


def _crashes(module: Module, rules: DriverRules) -> bool:
    return rules.crashes_on_work_items and bool(module.work_item_exports)


def _work_item_crash(module: Module, rules: DriverRules) -> str:
    return (
        f"for devices before Xe-HP (skl, icllp, tgllp) NEO {rules.name} crashes when it builds {module.name} with "
        f"{EXPORT_FUNCTIONS[0]}, as an exported function asks for its work-item's id or size "
        f"({', '.join(module.work_item_exports[:5])}): pass it as an argument, or link statically without that flag"
    )


class _Call:
    """One call of zeModuleDynamicLink, played through."""

    def __init__(self, modules: Sequence[Module], rules: DriverRules, linked_before: Collection[int]) -> None:
        self.modules = modules
        self.rules = rules
        self.provider_of = module_graph.providers(modules)
        self.resolutions: list[Resolution] = []
        self.code: int | None = SUCCESS
        self.crash: str | None = None
        self.sites = [self._sites(position) for position in range(len(modules))]
        # Modules without imports are linked from the start.
        self.linked = {position for position, sites in enumerate(self.sites) if not sites} | set(linked_before)

    def _sites(self, position: int) -> list[Resolution]:
        return [
            Resolution(position, use, self.provider_of.get(use.symbol))
            for use in self.modules[position].uses
            if use.segment is not None or self.rules.reads_data_imports
        ]

    def run(self) -> None:
        finished = {id(self.modules[position]) for position in self.linked}
        for position, module in enumerate(self.modules):
            if id(module) not in finished:
                self._link(position)
                if self.code != SUCCESS:
                    return
                finished.add(id(module))
            self.linked.add(position)

    def _link(self, position: int) -> None:
        sites = self.sites[position]
        if not self.modules[position].patches_code:
            self.code = LINK_FAILURE
            return
        for site in sites:
            if self.rules.crashes_on_data_imports and site.use.segment is None and site.provider is not None:
                self.code = None
                self.crash = (
                    f"a global initialiser of {self.modules[position].name} takes the address of variable "
                    f"{site.use.symbol}, which {self.modules[site.provider].name} exports: this driver crashes on it; "
                    "link statically, or set the pointer in a kernel"
                )
                return
            self.resolutions.append(site)
        if any(site.provider is None for site in sites):
            self.code = LINK_FAILURE

    def unresolved(self) -> Iterator[Resolution]:
        for position, sites in enumerate(self.sites):
            if position not in self.linked:
                yield from (site for site in sites if site.provider is None)

    def words(self) -> str:
        """Return the driver's text for its last error. If no module was built with the library flag, 26.27 blames that.
        Native binaries count as built with it."""
        if self.code != LINK_FAILURE or not self.rules.names_missing_flag:
            return ""
        if any(module.format != "spirv" or module.has_flag(EXPORT_FUNCTIONS) for module in self.modules):
            return ""
        return f"Dynamic Link Not Supported Without Compiler flag {EXPORT_FUNCTIONS[0]}"
