"""The link, foretold: what zeModuleDynamicLink will return and log, and what in the modules makes it so.

The rules are those of the driver's own linker (compute-runtime, ``ModuleImp::performDynamicLink``):

* modules are taken in the order given; each import goes to the first module that exports the name;
* a module counts as linked as soon as its own imports are met, and is passed over from then on;
* the first module with an import that nobody exports ends the call, and later modules are not looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kernlens.model.module import ImportUse, Module, ModuleSymbol


@dataclass(frozen=True, slots=True)
class Resolution:
    """One use of an import, by position of the modules in the call; ``provider`` None: nobody exports it."""

    module: int
    use: ImportUse
    provider: int | None


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A name that several modules export: the driver silently takes the first."""

    symbol: str
    modules: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An import and its provider that disagree on the type, which no driver checks."""

    symbol: str
    importer: int
    provider: int
    wanted: str
    given: str


@dataclass(frozen=True)
class Forecast:
    """The outcome of one dynamic link.

    ``resolutions`` are the uses that the driver gets to, in its order; ``unresolved`` are all imports that nobody
    exports, also of modules that the driver no longer looks at. ``linked`` holds the modules whose kernels can be
    created afterwards. ``crash`` says why the driver would take the process down instead.
    """

    modules: tuple[Module, ...]
    links: bool
    resolutions: tuple[Resolution, ...]
    unresolved: tuple[Resolution, ...]
    linked: frozenset[int]
    duplicates: tuple[Duplicate, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    cycles: tuple[tuple[int, ...], ...] = ()
    crash: str | None = None
    edges: frozenset[tuple[int, int]] = field(default=frozenset())


def foretell(modules: Sequence[Module]) -> Forecast:
    """What a dynamic link of these modules, freshly created and in this order, will do. Linear in uses and exports."""
    provider_of = _providers(modules)
    resolutions, unresolved = [], []
    linked: set[int] = set()
    stopped = False
    for position, module in enumerate(modules):
        mine = [Resolution(position, use, provider_of.get(use.symbol)) for use in module.uses]
        missing = [one for one in mine if one.provider is None]
        unresolved += missing
        if stopped:
            if not mine:
                linked.add(position)
            continue
        resolutions += mine
        if missing:
            stopped = True
        else:
            linked.add(position)
    edges = frozenset(
        (position, provider_of[use.symbol])
        for position, module in enumerate(modules)
        for use in module.uses
        if use.symbol in provider_of and provider_of[use.symbol] != position
    )
    return Forecast(
        modules=tuple(modules),
        links=not stopped,
        resolutions=tuple(resolutions),
        unresolved=tuple(unresolved),
        linked=frozenset(linked),
        duplicates=_duplicates(modules),
        mismatches=_mismatches(modules, provider_of),
        cycles=_cycles(len(modules), edges),
        edges=edges,
    )


def _providers(modules: Sequence[Module]) -> dict[str, int]:
    providers: dict[str, int] = {}
    for position, module in enumerate(modules):
        for symbol in module.exports:
            providers.setdefault(symbol.name, position)
    return providers


def _duplicates(modules: Sequence[Module]) -> tuple[Duplicate, ...]:
    exporters: dict[str, list[int]] = {}
    for position, module in enumerate(modules):
        for name in {symbol.name for symbol in module.exports}:
            exporters.setdefault(name, []).append(position)
    return tuple(Duplicate(name, tuple(found)) for name, found in sorted(exporters.items()) if len(found) > 1)


def _mismatches(modules: Sequence[Module], provider_of: dict[str, int]) -> tuple[Mismatch, ...]:
    given = [_types(module.exports) for module in modules]
    found = []
    for position, module in enumerate(modules):
        for name, wanted in _types(module.imports).items():
            provider = provider_of.get(name)
            if provider is not None and given[provider].get(name, wanted) != wanted:
                found.append(Mismatch(name, position, provider, wanted, given[provider][name]))
    return tuple(found)


def _types(symbols: Iterable[ModuleSymbol]) -> dict[str, str]:
    return {symbol.name: symbol.type_name for symbol in symbols if symbol.type_name is not None}


def _cycles(count: int, edges: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """The strongly connected components of more than one module (Tarjan's algorithm, without recursion)."""
    successors: list[list[int]] = [[] for _ in range(count)]
    for importer, provider in sorted(edges):
        successors[importer].append(provider)
    order, low = [-1] * count, [0] * count
    stack: list[int] = []
    on_stack = [False] * count
    components: list[tuple[int, ...]] = []
    counter = 0
    for root in range(count):
        if order[root] != -1:
            continue
        work = [(root, iter(successors[root]))]
        order[root] = low[root] = counter
        counter += 1
        stack.append(root)
        on_stack[root] = True
        while work:
            node, rest = work[-1]
            step = next(rest, None)
            if step is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack[member] = False
                        component.append(member)
                        if member == node:
                            break
                    if len(component) > 1:
                        components.append(tuple(sorted(component)))
            elif order[step] == -1:
                order[step] = low[step] = counter
                counter += 1
                stack.append(step)
                on_stack[step] = True
                work.append((step, iter(successors[step])))
            elif on_stack[step]:
                low[node] = min(low[node], order[step])
    return tuple(sorted(components))
