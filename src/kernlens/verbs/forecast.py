"""The forecast of a link, worked out without a driver: for the command line and for the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kernlens.analysis.linking.driver_rules import LATEST, RELEASE_22_43, DriverRules
from kernlens.analysis.linking.prediction import Forecast, notes, obstacles, predict
from kernlens.analysis.linking.static_forecast import StaticForecast, predict_static, predict_static_binaries
from kernlens.dataclass import dataclass
from kernlens.isa.devices import device as find_device
from kernlens.loading.linkable import module_of
from kernlens.model.program import Program
from kernlens.verbs.link.link_modules import Linkable, are_bare


@dataclass(frozen=True, slots=True)
class LinkForecast:
    """The forecast of a link: the dynamic one, its obstacles beside symbols, the static one (None: unknown), and notes."""

    forecast: Forecast
    obstacles: Sequence[str]
    static: StaticForecast | None
    notes: Sequence[str]

    @property
    def links(self) -> bool:
        """True if the modules link dynamically."""
        return self.forecast.links and not self.obstacles


def linkable_modules(
    programs: Sequence[tuple[str, str, Program]],
    *,
    options: str = "",
    options_for: Mapping[str, str] = MappingProxyType({}),
    constants: Mapping[int, str] = MappingProxyType({}),
    rules: DriverRules | None = None,
) -> tuple[DriverRules, list[Linkable]]:
    """Return the rules to follow, and the modules of programs, each with its path and name, read by these rules.

    Without given ``rules``, patch-token programs mean the older driver's. ``options`` (``options_for`` a path) and
    ``constants`` are those that SPIR-V will be built with. Raises KernlensError for what cannot be read.
    """
    is_older = any(program.format == "patch-tokens" for _, _, program in programs)
    chosen = rules or (RELEASE_22_43 if is_older else LATEST)
    return chosen, [
        (
            program,
            module_of(program, name=name, options=options_for.get(path, options), rules=chosen, constants=constants),
        )
        for path, name, program in programs
    ]


def link_forecast(linkable: Sequence[Linkable], rules: DriverRules, device: str | None) -> LinkForecast:
    """Predict a link on ``device`` (None: any that the modules are for)."""
    modules = [module for _, module in linkable]
    forecast = predict(modules, rules)
    target = find_device(device) if device is not None else None
    problems = obstacles(modules, rules, target)
    static = None
    if all(module.format == "spirv" for module in modules):
        static = predict_static(modules, rules)
    elif rules.links_binaries and are_bare(linkable) and not problems:
        static = predict_static_binaries(forecast)
    return LinkForecast(forecast, problems, static, notes(modules, rules, target))
