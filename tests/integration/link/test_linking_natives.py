"""Static links of binaries without SPIR-V, which newer drivers do, against the forecast."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.analysis.linking.driver_rules import RELEASE_26_27
from kernlens.analysis.linking.prediction import predict
from kernlens.analysis.linking.static_forecast import predict_static_binaries
from kernlens.errors import UnsupportedError
from kernlens.level_zero import RefusedCallError
from kernlens.loading.context import Context
from kernlens.loading.linkable import module_of
from kernlens.loading.open import open_bytes
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.simulation import simulated_driver
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from kernlens.verbs.link.link_modules import Linkable, are_bare, link_on_driver
from tests.integration.cli.test_cli import answer, kernlens
from tests.integration.drivers.live_fixtures import driver_environment
from tests.integration.link.link_cases import Source, spirv_of
from tests.integration.link.link_texts import TEXTS

__all__ = ["driver_environment"]

NAMES = ("exporter", "importer", "other_exporter", "variable", "initialiser", "chain1", "chain2", "chain3")
LINKS = [
    ("importer", "exporter"),
    ("exporter", "importer"),
    ("importer",),
    ("other_exporter", "exporter", "importer"),
    ("chain3", "chain1", "chain2"),
    ("chain1", "chain2", "importer", "exporter"),
    ("variable", "exporter"),
    ("initialiser",),
    ("initialiser", "exporter"),
]
ZEBIN_SPIRV = b"\x09\0\0\xff"


def bare(content: bytes) -> bytes:
    """A zebin without its SPIR-V: the section's type (SHT_ZEBIN_SPIRV) becomes SHT_NULL."""
    assert content.count(ZEBIN_SPIRV) == 1
    return content.replace(ZEBIN_SPIRV, bytes(4))


@pytest.fixture(scope="module")
def binaries(tmp_path_factory: pytest.TempPathFactory, newest_root: Path) -> dict[str, bytes]:
    """Modules for bmg, without their SPIR-V."""
    folder = tmp_path_factory.mktemp("natives")
    built = {}
    with IsolatedDriver(simulated_driver("bmg", NEWEST)) as driver:
        for name in NAMES:
            spirv = spirv_of(Source(name, TEXTS[name], ""), folder)
            driver.build_spirv(name, spirv, "-library-compilation -ze-take-global-address")
            (live,) = driver.live_builds(name)
            assert live.binary is not None
            built[name] = bare(bytes(live.binary))
    return built


def linkable(name: str, content: bytes) -> Linkable:
    (program,) = open_bytes(memoryview(content), name, Context()).programs
    return program, module_of(program, name=name)


@pytest.mark.parametrize("driver_environment", [f"{NEWEST}/bmg"], indirect=True)
@pytest.mark.parametrize("names", LINKS, ids="-".join)
def test_static_links_of_binaries(
    names: tuple[str, ...], driver_environment: DriverEnvironment, binaries: dict[str, bytes]
) -> None:
    modules = [linkable(name, binaries[name]) for name in names]
    assert are_bare(modules)
    dynamic = predict([module for _, module in modules], RELEASE_26_27)
    forecast = predict_static_binaries(dynamic)
    if forecast.crash:
        with pytest.raises(RefusedCallError, match="address of variable counter"):
            link_on_driver(modules, driver_environment, static=True)
        return
    link = link_on_driver(modules, driver_environment, static=True)
    assert (link.linked, set(link.unresolved)) == (forecast.links, set(forecast.unresolved))
    assert link.succeeded
    created = {state.kernel for state in link.kernels if state.reason is None}
    assert created == {kernel for position in dynamic.linked for kernel in modules[position][1].kernels}
    if not forecast.links:
        assert link.binary is None
        return
    assert link.binary is not None
    assert link.binary.startswith(b"!<arch>\n")
    held = [content for content in binaries.values() if content in link.binary]
    assert sorted(held) == sorted(binaries[name] for name in names)


@pytest.mark.parametrize("driver_environment", [f"{NEWEST}/bmg"], indirect=True)
def test_data_imports_can_be_inspected(driver_environment: DriverEnvironment, binaries: dict[str, bytes]) -> None:
    """The driver that crashes when it links them says all the same what provides them."""
    with IsolatedDriver(driver_environment) as driver:
        for name in ("initialiser", "exporter"):
            driver.load_native(name, binaries[name])
        (alone,) = driver.inspect_linkage(["initialiser"])
        assert (alone.imports, alone.unresolved) == ((), ("counter",))
        user, provider = driver.inspect_linkage(["initialiser", "exporter"])
        assert (user.imports, user.unresolved) == (("counter",), ())
        assert "counter" in provider.exports
        assert driver.global_pointer("exporter", "counter").size == 4
        assert driver.global_pointer("initialiser", "pointer").size == 8
        with pytest.raises(RefusedCallError, match="address of variable counter"):
            driver.dynamic_link(["initialiser", "exporter"])


def test_older_drivers_take_spirv_only(binaries: dict[str, bytes]) -> None:
    modules = [linkable(name, binaries[name]) for name in ("importer", "exporter")]
    with pytest.raises(UnsupportedError, match=r"importer contains no SPIR-V, .* NEO 26.27 also links binaries"):
        link_on_driver(modules, simulated_driver("dg2", SYSTEM), static=True)


def test_the_commands(binaries: dict[str, bytes], tmp_path: Path) -> None:
    for name in ("importer", "exporter"):
        (tmp_path / f"{name}.bin").write_bytes(binaries[name])
    paths = [tmp_path / "importer.bin", tmp_path / "exporter.bin"]
    assert "static link links" in answer("link", *paths)
    assert "static link builds a module that still imports helper" in kernlens("link", paths[0]).stdout
    assert "static link" not in answer("link", *paths, "--driver", "22.43")
    linked = tmp_path / "linked.bin"
    arguments = ("link", "--static", "--device", "bmg", "--toolchain", NEWEST)
    assert "static link on bmg links" in answer(*arguments, *paths, "-o", linked)
    assert "importing" in answer("inspect", linked)
