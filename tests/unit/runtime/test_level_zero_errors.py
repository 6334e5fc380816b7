"""Level Zero's errors say the call, the code's name, the device and the input."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from kernlens.errors import ToolError
from kernlens.runtime.level_zero.drivers import LiveDevice
from kernlens.runtime.level_zero.module_links import refuse_link
from kernlens.runtime.level_zero.refusals import LAST_CRASHING_DRIVER, refuse_spirv
from kernlens.runtime.level_zero.result_codes import LevelZeroError, RefusedCallError, result_name
from tests.writers.spirv import (
    BUILT_IN,
    DECORATE,
    GLOBAL_INVOCATION_ID,
    LOAD,
    function,
    instruction,
    linkage,
    module,
)

LIBRARY = module(
    instruction(DECORATE, 10, BUILT_IN, GLOBAL_INVOCATION_ID),
    linkage(20, "helper"),
    function(20, instruction(LOAD, 3, 40, 10)),
)


def device(version: int, threads: int) -> LiveDevice:
    return cast(LiveDevice, SimpleNamespace(driver=SimpleNamespace(version=version), threads_per_eu=threads))


def test_message_and_fields() -> None:
    error = LevelZeroError("zeModuleCreate", 0x70000004, device="dg2", input="a.spv", log="line", advice="why")
    assert str(error) == (
        "zeModuleCreate returned ZE_RESULT_ERROR_MODULE_BUILD_FAILURE (0x70000004) on dg2 for a.spv: why"
    )
    assert (error.call, error.result_name, error.log, error.exit_status) == (
        "zeModuleCreate",
        "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
        "line",
        3,
    )
    assert isinstance(error, ToolError)


def test_negative_code_is_read_as_unsigned() -> None:
    assert LevelZeroError("zeInit", 0x78000001 - (1 << 32)).code == 0x78000001


def test_code_without_a_name() -> None:
    assert result_name(0x7000FFFF) == "0x7000ffff"


@pytest.mark.parametrize("spirv", [b"", b"garbage!" * 10, LIBRARY[:-2], b"\x7fELF" + bytes(60)])
def test_what_is_no_spirv_is_refused(spirv: bytes) -> None:
    with pytest.raises(RefusedCallError, match="are not a SPIR-V module"):
        refuse_spirv("zeModuleCreate", spirv, "", device(1, 8), "a")


def test_overrunning_spirv_is_refused() -> None:
    with pytest.raises(RefusedCallError, match="instruction at offset"):
        refuse_spirv("zeModuleCreate", LIBRARY[:-8], "", device(1, 8), "a")


@pytest.mark.parametrize("flag", ["-library-compilation", "-g -ze-library-compilation"])
def test_library_on_the_old_driver(flag: str) -> None:
    with pytest.raises(RefusedCallError, match=r"\(helper\)") as caught:
        refuse_spirv("zeModuleCreate", LIBRARY, flag, device(LAST_CRASHING_DRIVER, 7), "a")
    assert caught.value.call == "zeModuleCreate"


@pytest.mark.parametrize(
    ("version", "threads", "flags"),
    [
        (LAST_CRASHING_DRIVER, 8, "-library-compilation"),
        (LAST_CRASHING_DRIVER + 1, 7, "-library-compilation"),
        (LAST_CRASHING_DRIVER, 7, "-g"),
    ],
)
def test_library_where_it_is_harmless(version: int, threads: int, flags: str) -> None:
    refuse_spirv("zeModuleCreate", LIBRARY, flags, device(version, threads), "a")


def test_empty_link_is_refused() -> None:
    with pytest.raises(RefusedCallError, match="list of modules is empty"):
        refuse_link("zeModuleDynamicLink", [])
