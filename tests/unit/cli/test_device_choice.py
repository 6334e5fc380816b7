"""``--device``: what is for other devices is left out of every answer, containers and their parts included."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernlens.formats.neo_elf import DEVICE_BINARY, DEVICE_DEBUG
from kernlens.isa.devices import device, numbers_of
from kernlens.model.build import Build, HeldParts
from kernlens.recording.writer import RecordingWriter
from tests.explore_reader import Page
from tests.unit.conftest import Kernlens
from tests.writers.ar import archive, member
from tests.writers.patch_tokens import KernelToWrite, debug_data, environment, neo_elf, program
from tests.writers.programs import spirv

HELD = ("skl", "dg2", "pvc")


def built(name: str) -> bytes:
    """A NEO ELF for a device whose kernel is called after it."""
    core = numbers_of(device(name)).render_core
    kernel = KernelToWrite(f"on_{name}", code=bytes(16), tokens=[environment(simd=16)])
    return neo_elf(
        [
            (DEVICE_BINARY, program([kernel], render_core=core)),
            (DEVICE_DEBUG, debug_data([(f"on_{name}", b"", b"")], render_core=core)),
        ]
    )


def as_archive(folder: Path) -> Path:
    members = [member(f"{name}/", built(name)) for name in HELD]
    path = folder / "all.ar"
    path.write_bytes(archive([*members, member("generic/", spirv())]))
    return path


def as_folder(folder: Path) -> Path:
    path = folder / "all"
    path.mkdir()
    for name in HELD:
        (path / f"{name}.bin").write_bytes(built(name))
    return path


def as_recording(folder: Path) -> Path:
    path = folder / "all.klens"
    with RecordingWriter(path) as writer:
        for name in HELD:
            writer.add(Build("all", name, parts=HeldParts(binary=built(name))))
        writer.add(Build("all", "pvc", ok=False, reason="all does not compile for pvc"))
    return path


def kinds(containers: list[dict[str, Any]]) -> list[str]:
    return [kind for each in containers for kind in (each["kind"], *kinds(each["containers"]))]


@pytest.mark.parametrize("make", [as_archive, as_folder, as_recording])
@pytest.mark.parametrize("name", ["dg2", "a770", "12.55.8"])
def test_no_other_devices_containers(make: Any, name: str, kernlens: Kernlens, tmp_path: Path, compiler: Path) -> None:
    path = make(tmp_path)
    document = kernlens("inspect", path, "--device", name, "--json").document
    container_kinds = kinds(document["containers"])
    assert [container_kinds.count(kind) for kind in ("neo-elf", "patch-tokens", "debug-data")] == [1, 1, 1]
    assert kinds(kernlens("inspect", path, "--json").document["containers"]).count("neo-elf") == len(HELD)
    # SPIR-V does not say what it is for: it is for any.
    assert container_kinds.count("spirv") == (make is as_archive)
    assert {each["device"] for each in document["programs"]} == {"dg2"}
    assert len(document["programs"]) == 1 + container_kinds.count("spirv")
    lines = kernlens("inspect", path, "--device", name).out
    assert "on_dg2" in lines
    parts = tmp_path / "parts"
    listed = kernlens("extract", path, "-o", parts, "--device", name, "--json").document["parts"]
    assert listed
    contents = [file.read_bytes() for file in parts.rglob("*") if file.is_file() and file.suffix != ".ar"]
    assert any(b"on_dg2" in content for content in contents)
    for other in ("skl", "pvc"):
        assert f"on_{other}" not in lines
        assert not any(f"on_{other}".encode() in content for content in contents)
        assert not any(other in each["path"] for each in listed)


@pytest.mark.parametrize("words", [("inspect",), ("inspect", "--json"), ("extract", "-o", "parts")])
def test_a_device_that_is_not_there(words: tuple[str, ...], kernlens: Kernlens, tmp_path: Path) -> None:
    words = tuple(word.replace("parts", str(tmp_path / "parts")) for word in words)
    done = kernlens(*words, as_recording(tmp_path), "--device", "bmg")
    assert (done.status, done.out) == (2, "")
    assert "the file contains no program for bmg, only for skl, dg2, pvc" in done.err
    assert not (tmp_path / "parts").exists()


@pytest.mark.parametrize(("name", "is_shown"), [("pvc", True), ("max1550", True), ("dg2", False)])
def test_a_failed_build_is_of_the_report_by_any_name_of_its_device(
    name: str, is_shown: bool, kernlens: Kernlens, tmp_path: Path, compiler: Path
) -> None:
    page = tmp_path / "x.html"
    assert kernlens("report", as_recording(tmp_path), "--device", name, "-o", page).status == 0
    document = Page(page.read_text("utf-8")).index
    assert any(not each["ok"] for each in document["programs"]) == is_shown


@pytest.mark.parametrize("make", [as_archive, as_folder, as_recording])
def test_all_devices_of_what_is_compiled(make: Any, kernlens: Kernlens, tmp_path: Path, compiler: Path) -> None:
    path = make(tmp_path)
    for verb in ("inspect", "disasm", "annotate", "symbols"):
        done = kernlens(verb, path, "--device", "all", "--json")
        assert (done.status, done.out) == (0, kernlens(verb, path, "--json").out), done.err
    for verb, words in (("extract", ("-o", tmp_path / "parts")), ("report", ("-o", tmp_path / "x.html"))):
        assert kernlens(verb, path, "--device", "all", *words).status == 0
    done = kernlens("diff", path, path, "--device", "all")
    assert done.status == 0, done.err
    done = kernlens("check", path, "--device", "all", "--max-code-size", "16", "--json")
    assert {each["device"] for each in done.document["findings"]} == set(HELD)


def test_all_devices_where_only_some_can_be_meant(kernlens: Kernlens, tmp_path: Path) -> None:
    module = tmp_path / "module.spv"
    module.write_bytes(spirv())
    assert kernlens("link", module, "--device", "all").out == kernlens("link", module).out
    for how in ("--dynamic", "--static", "--compile"):
        done = kernlens("link", module, "--device", "all", how)
        assert (done.status, "a driver links on one device" in done.err) == (2, True)
