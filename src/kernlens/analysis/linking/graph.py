"""The graph of modules by their symbols alone: who provides what to whom, whatever a driver makes of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernlens.dataclass import dataclass
from kernlens.model.module import Frame, Module, ModuleSymbol, SymbolKind


@dataclass(frozen=True, slots=True)
class Edge:
    """An import: ``importer`` gets ``symbol`` from ``provider`` (positions of modules)."""

    importer: int
    provider: int
    symbol: str


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A name that several modules export; a dynamic link silently takes the first."""

    symbol: str
    modules: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An import whose provider disagrees on its type, or on whether it is a function; no dynamic link checks that.
    ``same_call`` says that calls pass the same values all the same: the types differ only in what pointers point to."""

    symbol: str
    importer: int
    provider: int
    declared: str
    defined: str
    same_call: bool = False


@dataclass(frozen=True, slots=True)
class Clash:
    """A call of another module's function that is compiled for other registers or another SIMD width than its caller
    ``holder``. Every driver links it without a word, and it goes wrong."""

    symbol: str
    importer: int
    provider: int
    holder: str
    caller_frame: Frame
    callee_frame: Frame


def clashes(modules: Sequence[Module], provider_of: dict[str, int]) -> tuple[Clash, ...]:
    """Return the calls between modules whose two sides do not fit each other, each caller's once per function."""
    clashing: dict[Clash, None] = {}
    variables = [{export.name for export in module.exports if export.kind is SymbolKind.VARIABLE} for module in modules]
    for position, module in enumerate(modules):
        functions = {symbol.name for symbol in module.imports if symbol.kind is not SymbolKind.VARIABLE}
        for use in module.uses:
            provider = provider_of.get(use.symbol, position)
            caller, callee = module.frames.get(use.holder), modules[provider].function_frame
            if provider == position or use.symbol not in functions or caller is None or callee is None:
                continue
            if use.symbol not in variables[provider] and not caller.fits(callee):
                clashing[Clash(use.symbol, position, provider, use.holder, caller, callee)] = None
    return tuple(clashing)


def providers(modules: Sequence[Module]) -> dict[str, int]:
    """Map each exported name to the first module that exports it, which is the one that every driver takes."""
    provider_of: dict[str, int] = {}
    for position, module in enumerate(modules):
        for symbol in module.exports:
            provider_of.setdefault(symbol.name, position)
    return provider_of


def edges(modules: Sequence[Module], provider_of: dict[str, int]) -> tuple[Edge, ...]:
    """Return an edge for each import that another module provides, in the importers' order."""
    return tuple(
        Edge(position, provider_of[name], name)
        for position, module in enumerate(modules)
        for name in dict.fromkeys(use.symbol for use in module.uses)
        if provider_of.get(name, position) != position
    )


def duplicates(modules: Sequence[Module]) -> tuple[Duplicate, ...]:
    """Return the names with several exporters, but for those that the compiler itself adds to every module."""
    exporters: dict[str, list[int]] = {}
    for position, module in enumerate(modules):
        for name in {symbol.name for symbol in module.exports if not symbol.is_internal}:
            exporters.setdefault(name, []).append(position)
    return tuple(
        Duplicate(name, tuple(positions)) for name, positions in sorted(exporters.items()) if len(positions) > 1
    )


def mismatches(modules: Sequence[Module], provider_of: dict[str, int]) -> tuple[Mismatch, ...]:
    """Return the imports whose provider has another type or kind, as far as both are known."""
    definitions = [{symbol.name: symbol for symbol in reversed(module.exports)} for module in modules]
    disagreeing = []
    for position, module in enumerate(modules):
        for import_ in module.imports:
            provider = provider_of.get(import_.name)
            if provider is None or provider == position:
                continue
            offered = definitions[provider][import_.name]
            words = _disagreement(import_, offered)
            if words is not None:
                same_call = import_.call_type is not None and import_.call_type == offered.call_type
                disagreeing.append(Mismatch(import_.name, position, provider, *words, same_call))
    return tuple(disagreeing)


def _disagreement(declared: ModuleSymbol, defined: ModuleSymbol) -> tuple[str, str] | None:
    if SymbolKind.UNKNOWN not in (declared.kind, defined.kind) and declared.kind != defined.kind:
        return (
            f"{declared.kind} {declared.type_name or ''}".rstrip(),
            f"{defined.kind} {defined.type_name or ''}".rstrip(),
        )
    if None not in (declared.type_name, defined.type_name) and declared.type_name != defined.type_name:
        return str(declared.type_name), str(defined.type_name)
    return None


def cycles(count: int, arrows: Iterable[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    """Return the groups of modules that need each other in a circle: the strongly connected components with more than
    one of ``count`` modules (Tarjan's algorithm, without recursion)."""
    successors: list[list[int]] = [[] for _ in range(count)]
    for importer, provider in sorted(set(arrows)):
        successors[importer].append(provider)
    search = _Search(successors)
    for root in range(count):
        if search.order[root] < 0:
            search.visit(root)
    return tuple(sorted(search.components))


class _Search:
    """Tarjan's depth-first search. ``order`` is the number at which a module was reached, -1 before that."""

    def __init__(self, successors: list[list[int]]) -> None:
        self.successors = successors
        self.order = [-1] * len(successors)
        self.low = [0] * len(successors)
        self.open: list[int] = []
        self.is_open = [False] * len(successors)
        self.components: list[tuple[int, ...]] = []
        self.reached = 0

    def visit(self, root: int) -> None:
        path = [(root, iter(self._enter(root)))]
        while path:
            node, rest = path[-1]
            step = next(rest, None)
            if step is None:
                path.pop()
                if path:
                    above = path[-1][0]
                    self.low[above] = min(self.low[above], self.low[node])
                if self.low[node] == self.order[node]:
                    self._close(node)
            elif self.order[step] < 0:
                path.append((step, iter(self._enter(step))))
            elif self.is_open[step]:
                self.low[node] = min(self.low[node], self.order[step])

    def _enter(self, node: int) -> list[int]:
        self.order[node] = self.low[node] = self.reached
        self.reached += 1
        self.open.append(node)
        self.is_open[node] = True
        return self.successors[node]

    def _close(self, first: int) -> None:
        members: list[int] = []
        while not members or members[-1] != first:
            members.append(self.open.pop())
            self.is_open[members[-1]] = False
        if len(members) > 1:
            self.components.append(tuple(sorted(members)))
