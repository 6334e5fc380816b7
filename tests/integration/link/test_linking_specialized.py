"""Specialisation constants given to links: what the forecast makes of them against what drivers build with them."""

from __future__ import annotations

import itertools
import subprocess
from pathlib import Path

import pytest

from kernlens.analysis.linking.prediction import predict
from kernlens.analysis.linking.static_forecast import predict_static
from kernlens.loading.context import Context
from kernlens.loading.linkable import module_of
from kernlens.loading.live_programs import programs_of
from kernlens.loading.open import open_bytes
from kernlens.model.module import Module
from kernlens.runtime.driver_environment import DriverEnvironment
from kernlens.runtime.isolation import IsolatedDriver
from kernlens.runtime.level_zero.module_links import StaticInput
from kernlens.toolchain.toolchains import NEWEST, SYSTEM
from tests.integration.cli.test_cli import answer, kernlens, refusal
from tests.integration.drivers.live_fixtures import driver_environment
from tests.integration.link.link_cases import Source, spirv_of
from tests.integration.link.test_linking_driver import rules_for

__all__ = ["driver_environment"]

on_each = pytest.mark.parametrize("driver_environment", [f"{SYSTEM}/dg2", f"{NEWEST}/bmg"], indirect=True)

TEXT = """\
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
int gone(int x); int via(int x); int both(int x); int chosen(int x); int returned(int x); int signs(int x); int kept(int x);
static int trace(int x, int deep) { return deep ? via(x) : x; }
static int level(void) { return __spirv_SpecConstant(1, 0); }
kernel void direct(global int *out) { if (__spirv_SpecConstant(1, 0)) out[0] = gone(1); out[1] = 2; }
kernel void through(global int *out) { out[0] = trace(out[1], __spirv_SpecConstant(1, 0)); }
kernel void anded(global int *out) { int own = __spirv_SpecConstant(1, 0); if (own && out[3]) out[0] = both(out[1]); }
kernel void returning(global int *out) { if (level() > 0) out[0] = returned(1); }
kernel void negative(global int *out) { if (__spirv_SpecConstant(8, 5) < 0) out[0] = signs(1); }
kernel void switched(global int *out)
{
    switch (__spirv_SpecConstant(7, 3)) {
    case 1: out[0] = chosen(1); break;
    case 3: out[1] = 5; break;
    default: out[2] = 3;
    }
}
kernel void always(global int *out) { if (out[0] > __spirv_SpecConstant(1, 0)) out[0] = kept(1); }
"""
#: Values, and the imports that are left.
CASES = [
    ({1: "0", 7: "3", 8: "0x7"}, {"kept"}),
    ({1: "0", 7: "5", 8: "-1"}, {"kept", "signs"}),
    ({1: "1", 7: "1", 8: "0"}, {"kept", "gone", "via", "both", "returned", "chosen"}),
    ({1: "0xffffffff", 7: "0", 8: "0"}, {"kept", "gone", "via", "both"}),
]
MIXED = """\
int __attribute__((overloadable)) __spirv_SpecConstant(int, int);
long __attribute__((overloadable)) __spirv_SpecConstant(int, long);
char __attribute__((overloadable)) __spirv_SpecConstant(int, char);
float __attribute__((overloadable)) __spirv_SpecConstant(int, float);
kernel void mixed(global long *out, global float *real)
{
    out[0] = __spirv_SpecConstant(9, 1L);
    out[1] = __spirv_SpecConstant(2, (char)1);
    out[2] = __spirv_SpecConstant(5, 1);
    real[0] = __spirv_SpecConstant(1, 1.0f);
}
"""


@pytest.fixture(scope="session")
def spirv(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("specialized")
    return {name: spirv_of(Source(name, text, ""), folder) for name, text in {"text": TEXT, "mixed": MIXED}.items()}


def specialized(content: bytes, constants: dict[int, str], environment: DriverEnvironment, flags: str = "") -> Module:
    (program,) = open_bytes(memoryview(content), "text", Context()).programs
    return module_of(program, name="text", options=flags, rules=rules_for(environment), constants=constants)


def imports_of(driver: IsolatedDriver, name: str) -> set[str]:
    """What the driver says that a module still needs."""
    (linkage,) = driver.inspect_linkage([name])
    return {*linkage.imports, *linkage.unresolved}


@on_each
def test_forecasts_leave_in_doubt_what_the_driver_may_leave_out(
    driver_environment: DriverEnvironment, spirv: dict[str, bytes]
) -> None:
    rules = rules_for(driver_environment)
    early = predict([specialized(spirv["text"], {}, driver_environment)], rules)
    assert {use.use.symbol for use in early.unresolved if use.use.in_doubt} == {
        *("gone", "via", "both", "returned", "signs", "chosen")
    }
    with IsolatedDriver(driver_environment) as driver:
        for number, (constants, left) in enumerate(CASES):
            module = specialized(spirv["text"], constants, driver_environment)
            forecast = predict([module], rules)
            certain = {entry.use.symbol for entry in forecast.unresolved if not entry.use.in_doubt}
            assert certain <= left <= {use.use.symbol for use in forecast.unresolved}, constants
            assert certain <= left <= set(predict_static([module], rules).unresolved)
            name = f"text{number}"
            driver.build_spirv(name, spirv["text"], constants=module.constants)
            assert imports_of(driver, name) == left, constants
            driver.static_link(
                f"static{number}", [StaticInput(spirv["text"], "", name, tuple(module.constants.items()))]
            )
            assert imports_of(driver, f"static{number}") == left, constants


@on_each
def test_without_optimisation_the_code_may_stay(driver_environment: DriverEnvironment, spirv: dict[str, bytes]) -> None:
    constants, left = CASES[0]
    module = specialized(spirv["text"], constants, driver_environment, "-cl-opt-disable")
    forecast = predict([module], rules_for(driver_environment))
    assert {use.use.symbol for use in forecast.unresolved} > left
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("text", spirv["text"], "-cl-opt-disable", constants=module.constants)
        assert imports_of(driver, "text") > left


@on_each
def test_values_of_every_width_reach_the_compiler(
    driver_environment: DriverEnvironment, spirv: dict[str, bytes], tmp_path: Path
) -> None:
    """The binary is that of a module of which spirv-opt changed the defaults."""
    stated = {9: "0x123456789abcdef", 2: "-3", 5: "70000", 1: "0.5"}
    plain, changed = tmp_path / "plain.spv", tmp_path / "changed.spv"
    plain.write_bytes(spirv["mixed"])
    values = " ".join(f"{number}:{253 if number == 2 else text}" for number, text in stated.items())
    subprocess.run(["spirv-opt", "--set-spec-const-default-value", values, plain, "-o", changed], check=True)
    constants = specialized(spirv["mixed"], stated, driver_environment).constants
    texts = []
    with IsolatedDriver(driver_environment) as driver:
        driver.build_spirv("given", spirv["mixed"], constants=constants)
        driver.build_spirv("default", spirv["mixed"])
        driver.build_spirv("changed", changed.read_bytes())
        for name in ("given", "default", "changed"):
            (program,) = programs_of(driver.live_builds(name))
            instructions = program.kernels["mixed"].instructions.texts
            # Behind the end of the thread the newer compiler puts a hash of the SPIR-V.
            texts.append(list(itertools.takewhile(lambda text: "EOT" not in text, instructions)))
            assert 5 < len(texts[-1]) < len(instructions)
    assert texts[0] == texts[2] != texts[1]


def test_the_commands(spirv: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "text.spv"
    path.write_bytes(spirv["text"])
    constants: list[str | Path] = ["--spec-constant", "1=0", "--spec-constant", "7=3", "--spec-constant", "8=0"]
    specialized_file = tmp_path / "kept.spv"
    specialized_file.write_bytes(spirv_of(Source("kept", "int kept(int x) { return x; }\n", ""), tmp_path))
    library: list[str | Path] = ["--build-options-for", specialized_file, "-library-compilation"]
    for specialize in ([], constants):
        assert (
            "is uncertain: gone is used only in direct"
            in kernlens("link", path, specialized_file, *library, *specialize).stdout
        )
    for how in ("--dynamic", "--static", "--compile"):
        document = answer("link", how, "--device", "dg2", path, specialized_file, *library, *constants)
        assert "links: ZE_RESULT_SUCCESS" in document, how
    assert "specialisation constants: 1 (int, 32 bits), 8 (int, 32 bits)" in answer("symbols", path)
    assert "has specialisation constant 3; there are 1 (int, 32 bits)" in refusal(
        "link", path, "--spec-constant", "3=0"
    )
    assert "'x' is no value of specialisation constant 7" in refusal("link", path, "--spec-constant", "7=x")
    assert "is not of the form 5=1" in refusal("link", path, "--spec-constant", "7")
