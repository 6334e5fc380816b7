"""``kernlens capture --replace`` of Level Zero applications: what stands in for a module, and what does not."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.toolchain.toolchains import SYSTEM
from tests.integration.capture.level_zero_capture_fixtures import (
    Driver,
    agrees_with_the_tracer,
    driver,
    level_zero_folder,
    shown,
    without_binaries,
)
from tests.integration.drivers.live_fixtures import MODULES

__all__ = ["driver", "level_zero_folder"]


def test_spirv_and_binaries_stand_in(driver: Driver, tmp_path: Path) -> None:
    """For SPIR-V by the kernel's name, by hash and by a file; for a binary by the kernel's name."""
    original = driver.folder / "plain.spv"
    digest = hashlib.sha256(original.read_bytes()).hexdigest()
    edited = driver.folder / "edited.spv"
    for number, program in enumerate(("scale", digest[:8].upper(), str(original))):
        work = tmp_path / str(number)
        work.mkdir()
        done = driver.captured(work, "spirv", "launch", options=("--replace", f"{program}={edited}"))
        assert done.status == 0
        agrees_with_the_tracer(done)
        assert [build.spirv for build in done.builds] == [edited.read_bytes()] * 2
        assert done.builds[0].options == "-ze-opt-level=2"
        assert f"{edited} stood in 2 times for {program}" in done.err
        assert [call["replaced"] for call in done.noted["builds"]] == [{"program": program, "sha256": digest}] * 2
        assert done.launches()["clear"] >= 7
    of_edited = done.builds[0].binary
    assert shown(of_edited) in done.out, "the application has the module that FILE makes"
    binary = tmp_path / "edited.bin"
    binary.write_bytes(of_edited)
    done = driver.captured(tmp_path, "native", options=("--replace", f"scale={binary}"))
    assert f"{binary} stood in 2 times for scale" in done.err, "for SPIR-V, and for the binary that came of it"
    assert "came from binaries" not in done.err, "what they stand in for is SPIR-V, and a binary that is theirs"
    assert [(build.binary, build.spirv) for build in done.builds] == [(without_intermediate_code(of_edited), b"")] * 2
    done = driver.captured(tmp_path, "native", options=("--replace", f"scale={edited}", "--lines"))
    assert [build.spirv for build in done.builds] == [edited.read_bytes()] * 2
    assert done.builds[0].options == "-gline-tables-only", "what stands in gets the added options"


def test_an_input_of_a_static_link_is_replaced(driver: Driver, tmp_path: Path) -> None:
    exporter, other = driver.folder / "exporter.spv", driver.folder / "other_exporter.spv"
    digest = hashlib.sha256(exporter.read_bytes()).hexdigest()
    binary = tmp_path / "some.bin"
    binary.write_bytes(driver.captured(tmp_path, "spirv").builds[0].binary)
    options = ("--replace", f"{exporter}={other}", "--replace", f"importing={binary}")
    done = driver.captured(tmp_path, "static", options=options)
    assert done.status == 0, done.out
    linked, *inputs = done.builds
    assert linked.ok
    assert shown(linked.binary) in done.out
    assert [part.spirv for part in inputs] == [(driver.folder / "importer.spv").read_bytes(), other.read_bytes()]
    assert f"{other} stood in for {exporter}" in done.err
    expected = [None, None, {"program": str(exporter), "sha256": digest}]
    assert [call.get("replaced") for call in done.noted["builds"]] == expected
    assert f"{binary} did not stand in for importing, as it is a binary" in done.err
    importer = driver.folder / "importer.spv"
    done = driver.captured(tmp_path, "static", options=("--replace", f"{exporter}={importer}"))
    assert f"{importer} did not stand in for {exporter}, as the driver refused it (ZE_RESULT_ERROR_" in done.err
    assert driver.toolchain == SYSTEM or re.search("; the driver's log:\n  .*importing", done.err), (
        "which it defines too"
    )
    assert shown(done.builds[0].binary) in done.out


def test_what_does_not_stand_in_for_a_module(driver: Driver, tmp_path: Path) -> None:
    """The application gets its own module and log, and the end says why."""
    source, garbage = tmp_path / "edited.cl", tmp_path / "garbage.bin"
    source.write_text(MODULES["plain"])
    garbage.write_bytes(b"\0garbage")
    without = driver.alone("spirv", "static")
    options = ("--replace", f"scale={source}", "--replace", f"clea={garbage}", "--replace", f"0123456789={garbage}")
    done = driver.captured(tmp_path, "spirv", "static", options=options)
    assert (done.status, without_binaries(done.out)) == (2, without_binaries(without.stdout)), "nothing is clea"
    assert f"{source} did not stand in for scale, as it is source, and Level Zero makes modules of SPIR-V" in done.err
    assert re.search("stood in for nothing: no program that the application made has a kernel clea; .*clear", done.err)
    assert f"{garbage} stood in for nothing: no program is made from 0123456789" in done.err
    damaged = tmp_path / "damaged.spv"
    damaged.write_bytes((driver.folder / "plain.spv").read_bytes()[:-6])
    done = driver.captured(tmp_path, "spirv", options=("--replace", f"scale={damaged}"))
    assert (done.status, done.out) == (2, ""), "the driver would end the application"
    assert f"{damaged} cannot stand in for anything, as the module is damaged" in done.err
    done = driver.captured(tmp_path, "spirv", "wrong", options=("--replace", f"scale={garbage}"))
    assert without_binaries(done.out).startswith(without_binaries(driver.alone("spirv").stdout))
    agreed = f"{garbage} did not stand in for scale, as the driver refused it (ZE_RESULT_ERROR_"
    assert agreed in done.err
    assert [call.get("replaced") for call in done.noted["builds"]] == [None] * 3
    assert [build.ok for build in done.builds] == [True, False, False], (
        "what the driver refused is no build of the application's"
    )
