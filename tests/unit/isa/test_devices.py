"""Devices by name, IP version, PCI id, and by what binaries say."""

from __future__ import annotations

import pytest

from kernlens.errors import NotFoundError
from kernlens.isa import devices
from kernlens.isa.amd.gpu_devices import processor_named
from kernlens.isa.devices import DEVICES, device, identify, name_among, numbers_of, one_of_each
from kernlens.isa.intel import device_table
from kernlens.isa.intel.pci_ids import PCI_IDS
from kernlens.model.device import DeviceId, IpVersion
from kernlens.model.program import Kernels, Program


def test_names_and_aliases_mean_one_device_each() -> None:
    names = [name for device in DEVICES for name in (device.name, *device.aliases)]
    assert len(names) == len(set(names))
    for known in DEVICES:
        for name in (known.name, *known.aliases, known.name.upper(), known.name.replace("-", "_")):
            assert device(name) is known


def test_products_are_the_devices_of_their_pci_ids() -> None:
    """Of each product its PCI id, from Intel's public list of hardware."""
    ids = {
        "a770": 0x56A0, "a750": 0x56A1, "a580": 0x56A2, "a770m": 0x5690, "a730m": 0x5691, "a550m": 0x5692, "flex170": 0x56C0,
        "a380": 0x56A5, "a310": 0x56A6, "a370m": 0x5693, "a350m": 0x5694, "flex140": 0x56C1, "a570m": 0x5696, "a530m": 0x5697,
        "max1550": 0x0BD5, "max1100": 0x0BDA, "b580": 0xE20B, "b570": 0xE20C, "b60": 0xE211, "b50": 0xE212,
        "140v": 0x64A0, "130v": 0x64A0,
    }  # fmt: skip
    assert set(ids) == set(device_table.PRODUCTS)
    for product, number in ids.items():
        assert device(product.upper()) == device(hex(number))


def test_every_device_has_a_platform_with_a_title_and_a_unique_ip() -> None:
    assert {numbers_of(entry).iga_platform for entry in DEVICES} <= set(device_table.PLATFORM_TITLES)
    assert len({device.ip for device in DEVICES}) == len(DEVICES)


@pytest.mark.parametrize(
    ("text", "name", "ip"),
    [
        ("12.55.8", "dg2", "12.55.8"),
        ("12.56.4", "dg2-g11", "12.56.4"),  # another stepping than the table's
        ("50495488", "dg1", "12.10.0"),  # packed, as Level Zero reports it
        ("20.1.0", "bmg", "20.1.0"),
        ("dg2-g10-a0", "dg2-g10-a0", "12.55.0"),
        ("PVC-XT-B0", "pvc-xt-b0", "12.60.5"),
        ("0x56A0", "dg2", "12.55.8"),
        ("0x9a49", "tgllp", "12.0.0"),
        ("0xE20B", "bmg", "20.1.0"),
        ("0x1912", "skl", "9.0.9"),
    ],
)
def test_numbers_and_steppings(text: str, name: str, ip: str) -> None:
    known = device(text)
    assert (known.name, str(known.ip)) == (name, ip)


def test_an_early_stepping_runs_on_its_devices_platform() -> None:
    for stepping, base, _ in device_table.STEPPINGS:
        assert numbers_of(device(stepping)).iga_platform == numbers_of(device(base)).iga_platform
        assert numbers_of(device(stepping)).product_family == numbers_of(device(base)).product_family


def test_pci_ids_belong_to_known_devices_once() -> None:
    numbers = [number for ids in PCI_IDS.values() for number in ids]
    assert len(numbers) == len(set(numbers))
    for name, ids in PCI_IDS.items():
        assert {device(hex(number)).name for number in ids} == {name}


@pytest.mark.parametrize("name", ["dg3", "", "12.99.1", "0xffff", "0xzz", "1.2", "99999999999999999999", "²"])
def test_an_unknown_device_is_refused(name: str) -> None:
    with pytest.raises(NotFoundError, match="there is no device"):
        device(name)


def test_unknown_names_offer_the_nearest() -> None:
    with pytest.raises(NotFoundError, match=r"did you mean .*\bdg2\b"):
        device("dg22")
    with pytest.raises(NotFoundError, match=r"known are bdw, skl"):
        device("zzz")


@pytest.mark.parametrize(
    ("device_id", "name"),
    [
        (DeviceId(product_family=0x12), "skl"),
        (DeviceId(product_family=0x4F6), "dg2"),
        (DeviceId(product_family=0x4F6, render_core=0), "dg2"),  # as Debian 12's compiler writes its notes
        (DeviceId(product_family=0x4F6, ip=IpVersion(12, 57, 0)), "dg2-g12"),
        (DeviceId(product_family=0x4F8, render_core=0xC07), "mtl"),  # the core alone would be dg2
        (DeviceId(ip=IpVersion(30, 1, 0)), "ptl-u"),
        (DeviceId(render_core=0xC08), "pvc"),
        (DeviceId(render_core=0x0F), "icllp"),
        (DeviceId(product_family=0xFFFF, render_core=0x12), "tgllp"),  # a family newer than the table
        (DeviceId(product_family=0x4FA, ip=IpVersion(99, 0, 0)), "bmg"),
    ],
)
def test_a_number_identifies_its_device(device_id: DeviceId, name: str) -> None:
    known = identify(device_id)
    assert known is not None
    assert known.name == name


def test_identify_keeps_an_unlisted_stepping() -> None:
    known = identify(DeviceId(product_family=0x4F6, ip=IpVersion(12, 55, 4)))
    assert known is not None
    assert (known.name, known.ip) == ("dg2", IpVersion(12, 55, 4))


@pytest.mark.parametrize("device_id", [DeviceId(), DeviceId(render_core=0x7777), DeviceId(ip=IpVersion(99, 1, 2))])
def test_not_identified(device_id: DeviceId) -> None:
    assert identify(device_id) is None


def test_a_name_among_those_of_a_compiler() -> None:
    names = ["skl", "acm-g10", "dg2-g10", "bmg-g21", "adl_p"]
    assert name_among("skl", names) == "skl"
    assert name_among("A770", names) == "acm-g10"
    assert name_among("b580", names) == "bmg-g21"
    assert name_among("adl-p", names) == "adl_p"
    assert name_among("dg2", [*names, "dg2"]) == "dg2"
    assert name_among("pvc", names) is None
    assert name_among("no-such", names) is None


def test_one_name_of_each_device() -> None:
    assert one_of_each(["bxt", "apl", "dg2-g10", "acm-g10", "dg2", "xe9"]) == ["apl", "dg2", "xe9"]


def test_a_program_of_an_unlisted_stepping_is_for_its_device() -> None:
    program = Program("x", "zebin", Kernels({}), device=identify(DeviceId(ip=IpVersion(12, 55, 3))))
    assert program.device != device("dg2")
    assert program.is_for(device("dg2"))
    assert not program.is_for(device("bmg"))
    assert Program("x", "spirv", Kernels({})).is_for(device("bmg"))


def test_a_name_that_is_looked_up_for_nothing_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every build of a capture is opened under the name that its driver has for the device."""
    monkeypatch.setattr(devices, "_nearest", lambda name: pytest.fail("near names are for errors"))
    assert devices.known_device("Intel(R) Graphics [0x56a0]") is None
    assert devices.known_device(" B580 ") == devices.device("bmg")
    assert devices.name_among("no such device", ["dg2"]) is None


@pytest.mark.parametrize(
    ("name", "processor"),
    [
        ("mi200", "gfx90a"),
        ("Navi21", "gfx1030"),
        ("mi200:xnack-", "gfx90a:xnack-"),
        ("gfx906", "gfx906"),
        ("skl", "skl"),
    ],
)
def test_names_of_amd_gpus_lead_to_the_processor(name: str, processor: str) -> None:
    assert processor_named(name) == processor
