"""Level Zero on real drivers, with simulated devices: modules, kernels, their binaries, links, and what must fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.errors import NotFoundError
from kernlens.level_zero import LevelZeroError, RefusedCallError, StaticInput
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.toolchain.toolchains import NEWEST
from tests.integration.drivers.live_fixtures import ALL_DRIVERS, BOTH, LIBRARY, driver_environment, modules, run_script

__all__ = ["driver_environment", "modules"]

on_every_device = pytest.mark.parametrize("driver_environment", ALL_DRIVERS, indirect=True)
on_both_drivers = pytest.mark.parametrize("driver_environment", BOTH, indirect=True)
#: Where each driver's kernel binaries come from, by whether the driver is the newest.
ORIGINS = {True: "zeIntelKernelGetBinaryExp", False: "zeModuleGetNativeBinary"}


def is_newest(driver_environment: DriverEnvironment) -> bool:
    return "UseAubStream" in driver_environment.variables


@on_every_device
def test_the_simulated_device_has_its_architecture(driver_environment: DriverEnvironment) -> None:
    with IsolatedDriver(driver_environment) as driver:
        (device,) = driver.devices()
    assert device["type"] == "gpu"
    architectures = {"dg2": "12.55", "mtl": "12.70", "pvc": "12.60", "bmg": "20.1", "lnl": "20.4", "ptl": "30.0"}
    if is_newest(driver_environment):
        assert device["ip"].startswith(f"{architectures[driver_environment.device]}.")
    else:
        assert device["ip"] is None


@on_every_device
def test_a_module_of_spirv_has_its_kernels(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        module = driver.build_spirv("plain", modules["plain"])
        assert sorted(module["kernel_names"]) == ["clear", "scale"]
        assert module["has_imports"] is False
        scale = driver.kernel("plain", "scale")
        (live,) = driver.live_builds("plain")
    assert scale.resources.required_work_group_size == (16, 2, 1)
    assert scale.resources.slm_bytes == 64 * 4
    assert scale.resources.simd in (8, 16, 32)
    assert scale.origin == ORIGINS[is_newest(driver_environment)]
    assert live.spirv == modules["plain"]
    assert scale in live.kernels


@on_both_drivers
def test_sixteen_threads(driver_environment: DriverEnvironment, modules: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "module.spv"
    path.write_bytes(modules["plain"])
    assert run_script(driver_environment, "threads", str(path)) == {
        "calls": 16_000,
        "wrong": 0,
        "kernels": 2,
        "origin": ORIGINS[is_newest(driver_environment)],
    }


@on_both_drivers
def test_wrong_buffers_and_handles(
    driver_environment: DriverEnvironment, modules: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "module.spv"
    path.write_bytes(modules["plain"])
    answers = run_script(driver_environment, "handles", str(path), "scale")
    expected = {
        "larger buffer": "answer: True",
        "larger buffer's bytes": "True",
        "smaller buffer": "BufferTooSmallError: the buffer for kernel scale has",
        "smaller buffer untouched": "True",
        "null buffer": "HandleError: the buffer for kernel scale is null",
        "read-only buffer": "HandleError: the buffer for kernel scale is read-only; pass a",
        "own handle": "answer: True",
        "own module handle": "answer: ('",
        "null handle": "HandleError: the kernel handle is null",
        "module as kernel": "HandleError: the handle 0x",
        "kernel as module": "HandleError: the handle 0x",
        "device as kernel": "HandleError: the handle 0x",
        "unmapped handle": "HandleError: the kernel handle 0x8 points to no memory",
        "other memory": "HandleError: the handle 0x",
        "another kernel's name": "HandleError: the handle 0x",
        "destroyed kernel": "HandleError: the",
        "kernel of a closed context": "HandleError: this Level Zero kernel is closed;",
        "kernel of a closed module": "HandleError: this Level Zero kernel is closed;",
        "code of a closed module": "HandleError: this Level Zero kernel is closed;",
        "kernel names of a closed module": "HandleError: this Level Zero module is closed;",
    }
    assert {what: answer[: len(expected[what])] for what, answer in answers.items()} == expected


@on_every_device
def test_dynamic_link(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("exporter", modules["exporter"], LIBRARY)
        importer = driver.build_spirv("importer", modules["importer"])
        assert importer["has_imports"]
        assert "unresolved external symbol helper" in importer["log"]
        with pytest.raises(LevelZeroError, match=r"UNLINKED.*link it first"):
            driver.kernel("importer", "importing")

        alone = driver.dynamic_link(["importer"])
        assert (alone.linked, alone.result_name) == (False, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE")
        assert [(item.user, item.symbol) for item in alone.missing] == [("importer", "helper")]

        link = driver.dynamic_link(["importer", "exporter"])
        assert link.linked
        assert [(item.user, item.symbol, item.provider) for item in link.resolutions] == [
            ("importer", "helper", "exporter")
        ]
        # The kernel's bytes are from before relocation, even now.
        (live,) = driver.live_builds("importer")
        kernel = driver.kernel("importer", "importing")
        assert kernel.binary is not None
        assert live.binary
        assert kernel.binary in live.binary


@on_both_drivers
def test_exporter_without_the_flag(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("exporter", modules["exporter"])
        driver.build_spirv("importer", modules["importer"])
        link = driver.dynamic_link(["importer", "exporter"])
        assert not link.linked
        assert [item.symbol for item in link.missing] == ["helper"]
        with pytest.raises(NotFoundError, match=f"built with {LIBRARY}"):
            driver.function_pointer("exporter", "helper")


@on_both_drivers
def test_linkage_is_inspected_without_a_link(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("exporter", modules["exporter"], f"{LIBRARY} -ze-take-global-address")
        driver.build_spirv("importer", modules["importer"])
        driver.build_spirv("plain", modules["plain"])
        exporter, importer, plain = driver.inspect_linkage(["exporter", "importer", "plain"])
        assert sorted(exporter.exports) == ["counter", "helper"]
        assert (importer.imports, importer.unresolved) == (("helper",), ())
        assert (plain.imports, plain.exports) == ((), ())
        (alone,) = driver.inspect_linkage(["importer"])
        assert alone.unresolved == ("helper",)
    assert alone.origin == ("zeModuleInspectLinkageExt" if is_newest(driver_environment) else "zeModuleGetNativeBinary")


@on_both_drivers
def test_functions_and_variables_that_are_exported_have_pointers(
    driver_environment: DriverEnvironment, modules: dict[str, bytes]
) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("exporter", modules["exporter"], f"{LIBRARY} -ze-take-global-address")
        function = driver.function_pointer("exporter", "helper")
        kernel = driver.function_pointer("exporter", "exporting")
        counter = driver.global_pointer("exporter", "counter")
        # A function's address is an offset within 4 GB, a kernel's is whole.
        assert 0 < function < 1 << 32 < kernel
        assert counter.size == 4
        assert counter.address != 0
        assert counter.device_only
        with pytest.raises(NotFoundError, match="exports no function 'nowhere'"):
            driver.function_pointer("exporter", "nowhere")
        for name in ("nowhere", "helper"):
            with pytest.raises(NotFoundError, match="-ze-take-global-address"):
                driver.global_pointer("exporter", name)


@on_both_drivers
def test_variable_of_another_module(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("exporter", modules["exporter"], "-ze-take-global-address")
        driver.build_spirv("variable", modules["variable"])
        link = driver.dynamic_link(["variable", "exporter"])
        assert [(item.user, item.symbol, item.provider) for item in link.resolutions] == [
            ("variable", "counter", "exporter")
        ]


@on_both_drivers
def test_initialiser_with_an_imported_address(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    """26.27 crashes when this link is made; 22.43 loses the import without a word."""
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("exporter", modules["exporter"], "-ze-take-global-address")
        driver.build_spirv("initialiser", modules["initialiser"])
        if is_newest(driver_environment):
            with pytest.raises(RefusedCallError, match="address of variable counter of exporter: link statically"):
                driver.dynamic_link(["initialiser", "exporter"])
            assert [item.symbol for item in driver.dynamic_link(["initialiser"]).missing] == ["counter"]
        else:
            assert driver.dynamic_link(["initialiser", "exporter"]).linked
        inputs = [StaticInput(modules[name], "", name) for name in ("initialiser", "exporter")]
        assert driver.static_link("static", inputs)["has_imports"] is False


@on_every_device
def test_static_link(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    inputs = [StaticInput(modules[name], LIBRARY, name) for name in ("importer", "exporter")]
    with IsolatedDriver(driver_environment) as driver:
        linked = driver.static_link("linked", inputs)
        assert linked["has_imports"] is False
        assert sorted(linked["kernel_names"]) == ["exporting", "importing"]
        # The drivers join the modules' flags without a blank: were they passed on as given, this would be lost.
        assert driver.function_pointer("linked", "helper") > 0
        assert driver.kernel("linked", "importing").binary


@on_both_drivers
def test_static_link_that_lacks_a_symbol(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        assert driver.static_link("linked", [StaticInput(modules["importer"], "", "importer")])["has_imports"] is True
        driver.build_spirv("exporter", modules["exporter"], LIBRARY)
        assert driver.dynamic_link(["linked", "exporter"]).linked


@on_both_drivers
def test_static_link_with_a_duplicate(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    twice = [StaticInput(modules["exporter"], "", name) for name in ("one", "two")]
    with (
        IsolatedDriver(driver_environment) as driver,
        pytest.raises(LevelZeroError, match=r"BUILD_FAILURE.*\(one, two\)"),
    ):
        driver.static_link("linked", twice)


@on_both_drivers
def test_empty_links_are_refused(driver_environment: DriverEnvironment) -> None:
    with IsolatedDriver(driver_environment) as driver:
        with pytest.raises(RefusedCallError, match="list of modules is empty"):
            driver.dynamic_link([])
        with pytest.raises(RefusedCallError, match="at least one SPIR-V module"):
            driver.static_link("linked", [])


@pytest.mark.parametrize("driver_environment", ["system/skl", "system/icllp", "system/tgllp"], indirect=True)
def test_library_that_crashes_the_old_driver(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        with pytest.raises(RefusedCallError, match=r"before Xe-HP.*\(item\)"):
            driver.build_spirv("items", modules["items"], LIBRARY)
        assert driver.build_spirv("items", modules["items"])["kernel_names"] == ["asking"]
        # One module's flag acts on all of a static link.
        with pytest.raises(RefusedCallError, match=r"before Xe-HP.*\(item\)"):
            driver.static_link("bad", [StaticInput(modules["items"]), StaticInput(modules["plain"], LIBRARY)])
        inputs = [StaticInput(modules["items"]), StaticInput(modules["plain"])]
        assert "asking" in driver.static_link("linked", inputs)["kernel_names"]


@on_both_drivers
def test_library_elsewhere(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("items", modules["items"], LIBRARY)
        assert driver.function_pointer("items", "item") > 0


@on_both_drivers
def test_unknown_kernel(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("plain", modules["plain"])
        with pytest.raises(NotFoundError, match=r"plain has no kernel 'scala'.*it has: scale"):
            driver.kernel("plain", "scala")


@on_both_drivers
def test_native_binaries(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("plain", modules["plain"])
        (live,) = driver.live_builds("plain")
        assert live.binary
        driver.load_native("again", live.binary)
        (again,) = driver.live_builds("again")
        assert [kernel.binary for kernel in again.kernels] == [kernel.binary for kernel in live.kernels]
        assert again.spirv == b""
        assert "spirv" in again.missing
        for bad in (b"garbage!" * 10, live.binary[:100]):
            with pytest.raises(LevelZeroError, match=r"zeModuleCreate returned .* for bad"):
                driver.load_native("bad", bad)
        assert driver.kernel("again", "clear").binary


@pytest.mark.parametrize("driver_environment", ["system/dg2"], indirect=True)
def test_binary_of_another_device(driver_environment: DriverEnvironment, modules: dict[str, bytes]) -> None:
    from kernlens.toolchain.simulation import simulated_driver

    with IsolatedDriver(simulated_driver("skl")) as other:
        other.build_spirv("plain", modules["plain"])
        binary = other.live_builds("plain")[0].binary
    assert binary is not None
    with (
        IsolatedDriver(driver_environment) as driver,
        pytest.raises(LevelZeroError, match=r"INVALID_NATIVE_BINARY.*for plain"),
    ):
        driver.load_native("plain", binary)


@pytest.mark.parametrize("driver_environment", [f"{NEWEST}/bmg"], indirect=True)
def test_binary_of_another_device_is_compiled_anew(
    driver_environment: DriverEnvironment, modules: dict[str, bytes]
) -> None:
    from kernlens.toolchain.simulation import simulated_driver

    with IsolatedDriver(simulated_driver("pvc", NEWEST)) as other:
        other.build_spirv("plain", modules["plain"])
        binary = other.live_builds("plain")[0].binary
    assert binary is not None
    with IsolatedDriver(driver_environment) as driver:
        module = driver.load_native("plain", binary)
        assert "recompiled" in module["log"]
        (live,) = driver.live_builds("plain")
        assert live.binary
        assert live.binary != binary
