"""Predicted links against what drivers do: the measured rows one by one, and generated links by the hundred."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kernlens.analysis.linking.driver_rules import RELEASE_22_43, RELEASE_26_27, DriverRules
from kernlens.analysis.linking.prediction import Forecast, obstacles, predict
from kernlens.analysis.linking.static_forecast import predict_static
from kernlens.errors import LinkError
from kernlens.isa.devices import device
from kernlens.level_zero import DynamicLink, LevelZeroError, RefusedCallError, StaticInput
from kernlens.loading.binary_programs import spirv_program
from kernlens.loading.context import Context
from kernlens.loading.linkable import module_of
from kernlens.model.level_zero_results import LINK_FAILURE, SUCCESS
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.link.link_modules import link_on_driver
from tests.integration.drivers.live_fixtures import driver_environment
from tests.integration.link.link_cases import Built, Source, build, cases, read_module, sources, spirv_of
from tests.integration.link.link_texts import TEXTS
from tests.whole import WHOLE, each_run

__all__ = ["driver_environment"]

#: Both generations of drivers; the others differ from these in what :func:`test_work_items_in_libraries` is about.
DRIVERS = (f"{SYSTEM}/dg2", f"{NEWEST}/bmg")
ALL = (*DRIVERS, f"{SYSTEM}/skl", f"{SYSTEM}/pvc", f"{NEWEST}/pvc")
on_each = pytest.mark.parametrize("driver_environment", each_run(*DRIVERS, others=ALL), indirect=True)

UNLINKED = 0x78000018
BOTH_FLAGS = "-library-compilation -ze-take-global-address"
GENERATED_MODULES = 30
GENERATED_LINKS = 400 if WHOLE else 200
#: A driver's modules stay until its process ends; this many links are made before a new one is started.
LINKS_PER_PROCESS = 80


@pytest.fixture(scope="session")
def spirv(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """``TEXTS`` through ``compile --library``'s compiler."""
    folder = tmp_path_factory.mktemp("rows")
    return {name: spirv_of(Source(name, text, ""), folder) for name, text in TEXTS.items()}


def rules_for(driver_environment: DriverEnvironment) -> DriverRules:
    return RELEASE_26_27 if "UseAubStream" in driver_environment.variables else RELEASE_22_43


class Rows:
    """Links of fresh modules on one driver, each predicted first."""

    def __init__(self, driver: IsolatedDriver, spirv: dict[str, bytes], rules: DriverRules) -> None:
        self.driver, self.spirv, self.rules = driver, spirv, rules
        self.built: dict[tuple[str, str], Built] = {}
        self.modules_built = 0

    def module(self, name: str, flags: str = BOTH_FLAGS) -> tuple[str, Built]:
        """A fresh module: the name that the driver knows it by, and what it is."""
        if (name, flags) not in self.built:
            self.built[name, flags] = build(self.driver, Source(name, "", flags), self.spirv[name], self.rules)
        self.modules_built += 1
        fresh = f"{name}{self.modules_built}"
        self.driver.build_spirv(fresh, self.spirv[name], flags)
        return fresh, self.built[name, flags]

    def link(self, *modules: tuple[str, Built], before: frozenset[int] = frozenset()) -> tuple[Forecast, DynamicLink]:
        """The forecast and the answer, which must be the same, from the binaries and from SPIR-V."""
        names = [name for name, _ in modules]
        forecast = predict([built.module for _, built in modules], self.rules, before)
        answer = self.driver.dynamic_link(names)
        assert answer.code == forecast.code
        assert answer.log.splitlines() == list(forecast.log(names))
        early = predict([built.spirv_module for _, built in modules], self.rules, before)
        assert early.code == answer.code
        assert set(early.log(names)) == set(answer.log.splitlines())
        assert early.words == answer.words
        return forecast, answer

    def creates(self, module: tuple[str, Built], kernel: str) -> bool:
        try:
            self.driver.kernel(module[0], kernel)
        except LevelZeroError as error:
            if error.code != UNLINKED:
                raise
            return False
        return True


@on_each
def test_predictions_are_what_the_driver_does(driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    """Exporters, importers, flags, order, repetition, circles, chains, duplicates."""
    with IsolatedDriver(driver_environment) as driver:
        row = Rows(driver, spirv, rules_for(driver_environment))
        is_newest = row.rules is RELEASE_26_27

        importer, exporter = row.module("importer"), row.module("exporter")
        assert row.link(importer)[1].code == LINK_FAILURE
        assert not row.creates(importer, "importing")
        forecast, answer = row.link(importer, exporter)
        assert answer.code == SUCCESS
        assert len(answer.log.splitlines()) == len(importer[1].module.uses) >= 2
        assert row.creates(importer, "importing")
        # Again, and with what needs nothing: no error, no line.
        assert row.link(importer, exporter, before=forecast.linked)[1].log == ""
        assert row.link(row.module("plain"), row.module("exporter"))[1].log == ""
        assert row.link(exporter, exporter)[1].code == SUCCESS
        # The importer's flags do not matter, the order neither.
        assert row.link(row.module("exporter"), row.module("importer", ""))[1].code == SUCCESS

        for flags in ("", "-ze-take-global-address"):
            answer = row.link(row.module("importer", ""), row.module("exporter", flags))[1]
            assert answer.code == LINK_FAILURE
            assert ("without compiler flag -library-compilation" in answer.words.lower()) == is_newest
        # A flag on the importer, where it does nothing, keeps the newer driver from blaming it.
        answer = row.link(row.module("importer", "-library-compilation"), row.module("exporter", ""))[1]
        assert (answer.code, answer.words) == (LINK_FAILURE, "")
        for flags in ("-ze-library-compilation", "-library-compilation -cl-opt-disable", "-library-compilation -g"):
            assert row.link(row.module("importer"), row.module("exporter", flags))[1].code == SUCCESS, flags
        assert row.link(row.module("importer"), row.module("exporter", "-bogus-flag"))[1].code == LINK_FAILURE

        for flags, code in (("-ze-take-global-address", SUCCESS), ("", SUCCESS if is_newest else LINK_FAILURE)):
            assert row.link(row.module("variable"), row.module("exporter", flags))[1].code == code, flags

        first, second = row.module("first_of_circle"), row.module("second_of_circle")
        assert row.link(first)[1].code == row.link(second)[1].code == LINK_FAILURE
        forecast, answer = row.link(first, second)
        assert (answer.code, forecast.cycles) == (SUCCESS, ((0, 1),))

        chain = [row.module(f"chain{number}") for number in (1, 2, 3)]
        forecast, answer = row.link(*chain[:2])
        assert (answer.code, forecast.linked) == (LINK_FAILURE, frozenset((0,)))
        # A kernel whose own imports are met counts as linked, whatever becomes of the rest.
        assert row.creates(chain[0], "starting")
        assert row.link(*chain, before=frozenset((0,)))[1].code == SUCCESS

        forecast, answer = row.link(row.module("importer"), row.module("other_exporter"), row.module("exporter"))
        assert answer.code == SUCCESS
        assert {resolution.provider for resolution in forecast.resolutions} == {1}
        assert [duplicate.modules for duplicate in forecast.duplicates] == [(1, 2)]
        forecast, answer = row.link(row.module("importer"), row.module("mistyped"))
        assert answer.code == SUCCESS
        # A function whose address is taken is exported without any flag.
        assert row.link(row.module("pointed", ""), row.module("pointers", ""))[1].code == SUCCESS


@on_each
def test_functions_of_the_compiler(driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    """They are imports of SPIR-V that no module needs to define; which there are depends on the compiler."""
    with IsolatedDriver(driver_environment) as driver:
        row = Rows(driver, spirv, rules_for(driver_environment))
        is_newest = row.rules is RELEASE_26_27
        assert row.link(row.module("uses_compiler"))[1].code == SUCCESS
        assert row.link(row.module("uses_newer_compiler"))[1].code == (SUCCESS if is_newest else LINK_FAILURE)
        assert row.link(row.module("uses_nobody"))[1].code == LINK_FAILURE


@pytest.mark.parametrize("driver_environment", each_run(*ALL[:3], others=ALL), indirect=True)
@pytest.mark.parametrize("flags", ["", "-library-compilation"])
def test_work_items_in_libraries(flags: str, driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    """Where the forecast says that the driver crashes, it refuses the call, as is known from its crashes; else it builds."""
    rules = rules_for(driver_environment)
    module = read_module("items", spirv["items"], flags, rules)
    problems = obstacles([module], rules, device(driver_environment.device))
    assert bool(problems) == (bool(flags) and driver_environment.device == "skl")
    with IsolatedDriver(driver_environment) as driver:
        if problems:
            with pytest.raises(RefusedCallError, match="crashes on devices before Xe-HP"):
                driver.build_spirv("items", spirv["items"], flags)
        else:
            driver.build_spirv("items", spirv["items"], flags)


@on_each
def test_code_that_the_compiler_may_drop(driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    """From SPIR-V its imports are uncertain, from binaries certain; nothing else is uncertain."""
    with IsolatedDriver(driver_environment) as driver:
        row = Rows(driver, spirv, rules_for(driver_environment))
        for name in ("switched_off", "unread"):
            fresh, built = row.module(name)
            early = predict([built.spirv_module], row.rules)
            assert (early.links, {use.use.symbol for use in early.doubtful}) == (False, {"gone"})
            late = predict([built.module], row.rules)
            assert (late.links, late.doubtful) == (True, ())
            assert driver.dynamic_link([fresh]).code == SUCCESS
        forecast = row.link(row.module("switched_on"))[0]
        assert (forecast.code, forecast.doubtful) == (LINK_FAILURE, ())
        # With the module that has it there is nothing to be in doubt about.
        assert predict([read_module("a", spirv["importer"], "", row.rules)], row.rules).doubtful == ()


@on_each
@pytest.mark.parametrize(
    "flags",
    [
        ("-cl-opt-disable -library-compilation", "-g"),
        ("-g", "-cl-opt-disable -library-compilation"),
        ("-library-compilation", "-library-compilation"),
        ("-library-compilation -g", "-cl-opt-disable -g"),
        ("-cl-std=CL2.0 -library-compilation", "-cl-fast-relaxed-math"),
        ("-ze-opt-level=O0", "-library-compilation"),
    ],
    ids=" + ".join,
)
def test_flags_of_a_static_link_stay_apart(
    flags: tuple[str, str], driver_environment: DriverEnvironment, spirv: dict[str, bytes]
) -> None:
    """They would run together, as the driver joins them without a space and rewrites some."""
    with IsolatedDriver(driver_environment) as driver:
        names = ("exporter", "importer")
        driver.static_link(
            "whole", [StaticInput(spirv[name], name_, name) for name, name_ in zip(names, flags, strict=True)]
        )
        (live,) = driver.live_builds("whole")
        assert live.binary is not None
        exports = {
            export.name for export in read_module("whole", live.binary, None, rules_for(driver_environment)).exports
        }
        assert "helper" in exports


@on_each
def test_addresses_in_initialisers(driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        row = Rows(driver, spirv, rules_for(driver_environment))
        alone = row.link(row.module("initialiser"))[1]
        # The initial value of a variable that no code uses, and that is not exported, goes with it.
        assert row.link(row.module("unused_pointer", "-library-compilation"))[1].code == SUCCESS
        both = row.module("initialiser"), row.module("exporter")
        if row.rules is RELEASE_22_43:
            assert alone.code == row.link(*both)[1].code == SUCCESS
            return
        assert alone.code == LINK_FAILURE
        forecast = predict([built.module for _, built in both], row.rules)
        assert forecast.crash is not None
        with pytest.raises(RefusedCallError, match="address of variable counter"):
            driver.dynamic_link([name for name, _ in both])


@on_each
def test_disagreeing_types(driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    """No dynamic link checks them; a static one takes them, fails or crashes, so that it is not even tried."""
    with IsolatedDriver(driver_environment) as driver:
        row = Rows(driver, spirv, rules_for(driver_environment))
        modules = row.module("importer"), row.module("mistyped")
    forecast = predict([built.spirv_module for _, built in modules], row.rules)
    assert [(mismatch.declared, mismatch.defined) for mismatch in forecast.mismatches] == [("int(int)", "float(float)")]
    programs = [spirv_program(name, memoryview(spirv[name]), Context()) for name in ("importer", "mistyped")]
    linkable = [(program, module_of(program, options="")) for program in programs]
    with pytest.raises(
        LinkError, match=r"importer declares helper as int\(int\), mistyped defines it as float\(float\)"
    ):
        link_on_driver(linkable, driver_environment, static=True)


@on_each
@pytest.mark.parametrize("flags", ["", "-library-compilation"], ids=["plain", "library"])
@pytest.mark.parametrize(
    "names",
    [
        ("exporter", "importer"),
        ("importer",),
        ("exporter", "other_exporter", "importer"),
        ("first_of_circle", "second_of_circle"),
        ("chain3", "chain1", "chain2"),
        ("initialiser", "exporter"),
        ("uses_compiler",),
        ("uses_newer_compiler",),
        ("uses_nobody",),
        ("chain1", "chain2"),
        ("chain2",),
        ("unused_import", "importer"),
        ("unused_pointer",),
        ("char_pointer", "int_pointer"),
    ],
    ids="-".join,
)
def test_static_links(
    names: tuple[str, ...], flags: str, driver_environment: DriverEnvironment, spirv: dict[str, bytes]
) -> None:
    with IsolatedDriver(driver_environment) as driver:
        row = Rows(driver, spirv, rules_for(driver_environment))
        forecast = predict_static([read_module(name, spirv[name], flags, row.rules) for name in names], row.rules)
        inputs = [StaticInput(spirv[name], flags, name) for name in names]
        if forecast.code == SUCCESS:
            linked = driver.static_link("static", inputs)
            assert linked["has_imports"] == bool(forecast.unresolved)
            assert all(symbol in linked["log"] for symbol in forecast.unresolved)
            return
        with pytest.raises(LevelZeroError) as caught:
            driver.static_link("static", inputs)
        assert caught.value.code == forecast.code
        assert forecast.log in caught.value.log


@pytest.fixture(scope="session")
def generated(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Source, bytes]]:
    folder = tmp_path_factory.mktemp("generated")
    return [(source, spirv_of(source, folder)) for source in sources(GENERATED_MODULES, seed=20)]


@on_each
def test_generated_links(driver_environment: DriverEnvironment, generated: list[tuple[Source, bytes]]) -> None:
    """Result and log, line for line, of links of two to six modules; then the same modules in another order again."""
    rules = rules_for(driver_environment)
    with IsolatedDriver(driver_environment) as driver:
        built = [build(driver, source, spirv, rules) for source, spirv in generated]
    outcomes: Counter[str] = Counter()
    driver = IsolatedDriver(driver_environment)
    with driver:
        for number, chosen in enumerate(cases(built, GENERATED_LINKS, seed=43)):
            if number % LINKS_PER_PROCESS == 0:
                driver.close()
            outcomes[_check_link(driver, number, chosen, rules)] += 1
    # Each kind of outcome was met often enough to mean something.
    assert outcomes["links"] >= 0.15 * GENERATED_LINKS
    assert outcomes["fails"] >= 0.15 * GENERATED_LINKS
    assert outcomes["links"] + outcomes["fails"] >= 0.75 * GENERATED_LINKS
    assert (outcomes["crash"] > 0) == rules.crashes_on_data_imports


def _check_link(driver: IsolatedDriver, number: int, chosen: list[Built], rules: DriverRules) -> str:
    names = [f"{number}/{position}" for position in range(len(chosen))]
    for name, each_ in zip(names, chosen, strict=True):
        driver.load_native(name, each_.binary)
    forecast = predict([choice.module for choice in chosen], rules)
    what = f"link {number} of {[each_.source.name for each_ in chosen]}"
    try:
        answer = driver.dynamic_link(names)
    except RefusedCallError:
        # The refusal does not play the call through: it also keeps away from crashes that a failure would come before.
        assert forecast.code is None or forecast.code == LINK_FAILURE, what
        assert any(use.segment is None for element in chosen for use in element.module.uses), what
        return "crash" if forecast.crash else "refused"
    assert answer.code == forecast.code, what
    assert answer.log.splitlines() == list(forecast.log(names)), what
    early = predict([entry.spirv_module for entry in chosen], rules)
    assert early.code == answer.code, what
    assert set(early.log(names)) == set(answer.log.splitlines()), what
    again = predict(
        [row.module for row in reversed(chosen)], rules, {len(chosen) - 1 - module for module in forecast.linked}
    )
    second = driver.dynamic_link(names[::-1])
    assert second.code == again.code, what
    assert second.log.splitlines() == list(again.log(names[::-1])), what
    return "links" if forecast.links else "fails"


def test_the_generator_repeats_itself(tmp_path: Path) -> None:
    assert sources(5, seed=1) == sources(5, seed=1) != sources(5, seed=2)
