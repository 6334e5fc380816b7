"""The link, foretold, on modules that are written out here."""

from __future__ import annotations

from kernlens.analysis.linking import Duplicate, Mismatch, foretell
from kernlens.model.module import ImportUse, Module, ModuleSymbol, SymbolKind


def module(name: str, exports: str = "", imports: str = "", types: dict[str, str] | None = None) -> Module:
    def symbols(names: str) -> tuple[ModuleSymbol, ...]:
        return tuple(ModuleSymbol(one, SymbolKind.FUNCTION, (types or {}).get(one)) for one in names.split())

    uses = tuple(ImportUse(one, "k", 0, 16 * i, "R_ZE_SYM_ADDR_32") for i, one in enumerate(imports.split()))
    return Module(name, "zebin", symbols(exports), symbols(imports), uses, ("k",))


def providers(*modules: Module) -> list[tuple[int, str, int | None]]:
    return [(one.module, one.use.symbol, one.provider) for one in foretell(modules).resolutions]


def test_an_import_goes_to_the_module_that_exports_it_whatever_the_order() -> None:
    importer, exporter = module("a", imports="f"), module("b", exports="f")
    assert providers(importer, exporter) == [(0, "f", 1)]
    assert providers(exporter, importer) == [(1, "f", 0)]


def test_of_two_exporters_the_first_wins_and_both_are_named() -> None:
    forecast = foretell([module("a", imports="f"), module("b", exports="f"), module("c", exports="f")])
    assert forecast.links
    assert forecast.resolutions[0].provider == 1
    assert forecast.duplicates == (Duplicate("f", (1, 2)),)


def test_a_missing_symbol_stops_the_call_and_later_modules_stay_unlinked() -> None:
    forecast = foretell(
        [module("a", exports="f"), module("b", imports="f"), module("c", imports="missing"), module("d", imports="f")]
    )
    assert not forecast.links
    assert forecast.linked == {0, 1}
    assert [one.use.symbol for one in forecast.unresolved] == ["missing"]
    assert 3 not in {one.module for one in forecast.resolutions}


def test_a_cycle_links_and_is_named() -> None:
    forecast = foretell([module("a", "f", "g"), module("b", "g", "h"), module("c", "h", "f"), module("d", "", "f")])
    assert forecast.links
    assert forecast.cycles == ((0, 1, 2),)


def test_disagreeing_types_are_found_though_the_driver_does_not_check() -> None:
    forecast = foretell(
        [module("a", imports="f", types={"f": "int(int)"}), module("b", "f", types={"f": "float(float)"})]
    )
    assert forecast.links
    assert forecast.mismatches == (Mismatch("f", 0, 1, "int(int)", "float(float)"),)


def test_a_chain_of_thousands_of_modules_needs_no_recursion() -> None:
    count = 5000
    chain = [module(f"m{i}", f"f{i}", f"f{(i + 1) % count}") for i in range(count)]
    assert foretell(chain).cycles == (tuple(range(count)),)
