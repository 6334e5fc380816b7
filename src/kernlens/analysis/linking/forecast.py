"""The link, foretold: what zeModuleDynamicLink will return and log, and what in the modules makes it so.

The rules are those of the driver's own linker (compute-runtime, ``ModuleImp::performDynamicLink``), in which the
generations agree but for what ``driver_rules`` lists:

* modules are taken in the order given; each place that needs an import is filled from the first module that exports it;
* a module counts as linked as soon as its own imports are met, and is passed over from then on;
* the first module with an import that nobody exports ends the call, and later modules are not looked at;
* only names are compared: neither types nor a second exporter make a difference;
* a module none of whose code is filled in on loading cannot be linked at all if its data needs an import.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kernlens.analysis.linking import graph as module_graph
from kernlens.analysis.linking.driver_rules import BUILD_FAILURE, LATEST, LINK_FAILURE, SUCCESS, DriverRules
from kernlens.analysis.linking.graph import Duplicate, Edge, Mismatch
from kernlens.model.module import EXPORT_FUNCTIONS, ImportUse, Module, SymbolKind

CODE_NAMES = {
    SUCCESS: "ZE_RESULT_SUCCESS",
    LINK_FAILURE: "ZE_RESULT_ERROR_MODULE_LINK_FAILURE",
    BUILD_FAILURE: "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
}


@dataclass(frozen=True, slots=True)
class Resolution:
    """One use of an import, by position of the modules in the call; ``provider`` None: nobody exports it."""

    module: int
    use: ImportUse
    provider: int | None


@dataclass(frozen=True)
class Forecast:
    """The outcome of one dynamic link on one generation of the driver.

    ``code`` is the call's result, None if the driver would take the process down, and then ``crash`` says why.
    ``resolutions`` are the uses that the driver gets to and logs, in its order; ``unresolved`` are all uses of imports
    that nobody exports, also of modules that the driver no longer looks at. ``linked`` holds the modules whose kernels
    can be created afterwards. ``words`` is what the driver says of its last error, empty if it says nothing.
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

    @property
    def links(self) -> bool:
        """Whether the call succeeds."""
        return self.code == SUCCESS

    @property
    def code_name(self) -> str:
        """The result as the Level Zero headers call it."""
        return "the process ends" if self.code is None else CODE_NAMES[self.code]

    def log(self, names: Sequence[str] | None = None) -> Iterator[str]:
        """The driver's link log; ``names`` stand for the addresses by which it calls modules (default: their names).

        SPIR-V has no places yet: the driver will have a line for each place, and there may be several per use.
        """
        called = names if names is not None else [module.name for module in self.modules]
        for one in self.resolutions:
            line = f"Module <{called[one.module]}>:  Unresolved Symbol <{one.use.symbol}>"
            if one.provider is not None:
                line += f" Successfully Resolved Thru Dynamic Link to Module <{called[one.provider]}>"
            yield line


def foretell(modules: Sequence[Module], rules: DriverRules = LATEST, linked_before: Collection[int] = ()) -> Forecast:
    """What a dynamic link of these modules, in this order, will do. Linear in uses and exports.

    ``linked_before`` are positions of modules that an earlier call has linked. The same object twice is one module
    named twice.
    """
    call = _Call(modules, rules, linked_before)
    call.run()
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
    )


def obstacles(modules: Sequence[Module], rules: DriverRules = LATEST) -> tuple[str, ...]:
    """What keeps the driver from even making these modules side by side, as sentences; empty if nothing does."""
    found = []
    devices: dict[str, str] = {}
    for module in modules:
        if module.device is not None:
            devices.setdefault(module.device.name, module.name)
        if module.format == "patch-tokens" and not rules.loads_patch_tokens:
            found.append(
                f"{module.name} is a patch-token program, which NEO {rules.name} does not load: compile it anew, "
                "or ask for the link on an older driver (--driver 22.43)"
            )
    if len(devices) > 1:
        said = ", ".join(f"{name} for {device}" for device, name in devices.items())
        found.append(
            f"the modules are for different devices ({said}), and a link is for one: a driver builds a binary of "
            "another device anew from the SPIR-V in it, or refuses it"
        )
    return tuple(found)


class _Call:
    """One call of zeModuleDynamicLink, played through."""

    def __init__(self, modules: Sequence[Module], rules: DriverRules, linked_before: Collection[int]) -> None:
        self.modules = modules
        self.rules = rules
        self.provider_of = module_graph.providers(modules)
        self.resolutions: list[Resolution] = []
        self.code: int | None = SUCCESS
        self.crash: str | None = None
        self.places = [self._places(position) for position in range(len(modules))]
        # Modules without imports are linked from the start.
        self.linked = {position for position, places in enumerate(self.places) if not places} | set(linked_before)

    def _places(self, position: int) -> list[Resolution]:
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
        places = self.places[position]
        if not self.modules[position].patches_code:
            self.code = LINK_FAILURE
            return
        for place in places:
            if self.rules.crashes_on_data_imports and place.use.segment is None and place.provider is not None:
                self.code = None
                self.crash = (
                    f"a global initialiser of {self.modules[position].name} takes the address of variable "
                    f"{place.use.symbol}, which {self.modules[place.provider].name} exports: this driver crashes on it; "
                    "link statically, or set the pointer in a kernel"
                )
                return
            self.resolutions.append(place)
        if any(place.provider is None for place in places):
            self.code = LINK_FAILURE

    def unresolved(self) -> Iterator[Resolution]:
        for position, places in enumerate(self.places):
            if position not in self.linked:
                yield from (place for place in places if place.provider is None)

    def words(self) -> str:
        """26.27 blames the flag if no module was built with it; it takes native binaries for built with it."""
        if self.code != LINK_FAILURE or not self.rules.names_missing_flag:
            return ""
        if any(module.format != "spirv" or module.has_flag(EXPORT_FUNCTIONS) for module in self.modules):
            return ""
        return f"Dynamic Link Not Supported Without Compiler flag {EXPORT_FUNCTIONS[0]}"


@dataclass(frozen=True, slots=True)
class StaticForecast:
    """The outcome of building several SPIR-V modules as one (``ze_module_program_exp_desc_t``).

    ``code`` is None if it is open: ``mismatches`` are functions whose importer and exporter disagree on the type, and
    the compilers were seen to take such modules, to refuse them and to crash. ``unresolved`` do not fail the build: the
    result then has imports that a dynamic link can meet. ``log`` is what of the build log is certain.
    """

    code: int | None
    unresolved: tuple[str, ...]
    log: str = ""
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def links(self) -> bool:
        """Whether the module is built for certain and nothing is left to be linked."""
        return self.code == SUCCESS and not self.unresolved


def foretell_static(modules: Sequence[Module], rules: DriverRules = LATEST) -> StaticForecast:
    """What a static link of SPIR-V modules will do: names need no flag here, as the compiler sees them all."""
    everything = [_with_hidden(module) for module in modules]
    provider_of = module_graph.providers(everything)
    twice = module_graph.duplicates(everything)
    if twice:
        log = f"error: Linking globals named '{twice[0].symbol}': symbol multiply defined!"
        # Of several the compiler names one.
        return StaticForecast(BUILD_FAILURE, (), log if rules.names_duplicates and len(twice) == 1 else "")
    missing = dict.fromkeys(use.symbol for module in modules for use in module.uses if use.symbol not in provider_of)
    functions = {one.name for module in everything for one in module.exports if one.kind is SymbolKind.FUNCTION}
    found = tuple(one for one in module_graph.mismatches(everything, provider_of) if one.symbol in functions)
    return StaticForecast(None if found else SUCCESS, tuple(missing), mismatches=found)


def _with_hidden(module: Module) -> Module:
    """The module as the compiler sees it when it has all sources: static variables are nobody else's."""
    offered = [one for one in (*module.exports, *module.hidden) if not one.is_internal]
    return dataclasses.replace(module, exports=tuple(offered), hidden=())
