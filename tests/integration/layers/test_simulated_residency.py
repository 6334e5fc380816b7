"""What the Level Zero layer answers for a simulated device: memory that is made resident and evicted, and what is in memory."""

from __future__ import annotations

from pathlib import Path

from kernlens.toolchain.toolchains import toolchain
from kernlens.verbs.capture.level_zero_layer import turn_on_level_zero
from tests.integration.capture.level_zero_capture_fixtures import UNTRACED, Driver, driver, level_zero_folder

__all__ = ["driver", "level_zero_folder"]

MOVED = "make resident 0\nevict 0\n"
REFUSED = "make resident 0x78000001\nevict 0x78000004\n"
#: What the driver itself says of memory that it does not know.
UNKNOWN = "unknown: make resident 0x78000004\nunknown: evict 0x78000004\n"


def test_a_simulated_device_has_memory_where_it_is_needed(driver: Driver, tmp_path: Path) -> None:
    assert driver.alone("residency").stdout == REFUSED + UNKNOWN
    assert driver.run("residency").stdout == MOVED + UNKNOWN
    assert driver.captured(tmp_path, "residency", variables=UNTRACED).out == MOVED + UNKNOWN


def test_the_layer_answers_for_simulated_devices_alone(driver: Driver) -> None:
    """The driver takes any number for a yes; what the layer does not know for a simulated device is one of this machine."""
    variables: dict[str, str] = {}
    turn_on_level_zero(variables, toolchain(driver.toolchain))
    assert driver.alone("residency", **variables).stdout == MOVED + UNKNOWN
    assert driver.alone("residency", **variables, NEOReadDebugKeys="2").stdout == REFUSED + UNKNOWN


def test_what_nothing_was_computed_into_is_zero(driver: Driver, tmp_path: Path) -> None:
    """And nothing else is written: not around what is copied, not where the application's own memory is copied."""
    zeros = (
        "host 0\nshared 0\ncopy 0 around 8192\ncopy 0 around 8192\ninto host 0 around 4032\nbox 0 around 12224\n"
        "from context 0 around 8192\nwith parameters 0 around 8192\nimage 0 around 12160\nwhole image 0 around 10240\n"
        "from host 12288\nclosed 0\n"
    )
    alone = driver.alone("memory").stdout
    assert alone.splitlines()[0] != "host 0", "the heap is not zero"
    assert alone.splitlines()[-2:] == zeros.splitlines()[-2:]
    assert driver.run("memory").stdout == zeros
    assert driver.captured(tmp_path, "memory", variables=UNTRACED).out == zeros
