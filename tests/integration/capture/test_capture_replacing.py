"""``kernlens capture --replace`` on Intel's drivers: what the application got is what the end says."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

import pytest

import kernlens
from kernlens.formats.intermediate_code import without_intermediate_code
from kernlens.formats.neo_elf import SPIRV
from kernlens.model.build import Build
from kernlens.toolchain.toolchains import NEWEST, SYSTEM, Toolchain
from kernlens.verbs.capture.asked import Asked
from kernlens.verbs.capture.capture import capture, recover
from kernlens.verbs.capture.changes import Changes
from kernlens.verbs.capture.replacing import Replacement
from kernlens.verbs.capture.spool import Spool
from tests.integration.capture.capture_fixtures import Done, captured, dg2, folder
from tests.integration.capture.level_zero_capture_fixtures import UNTRACED, Driver, level_zero_folder
from tests.integration.layers.opencl_layer_fixtures import Platform
from tests.integration.toolchain.toolchain_fixtures import newest
from tests.whole import each_run
from tests.writers.ar import archive, member
from tests.writers.patch_tokens import neo_elf
from tests.writers.spooled import BUILD, entry

__all__ = ["dg2", "folder", "level_zero_folder", "newest"]

#: What the application "source" builds, edited: the kernel "add" becomes longer.
EDITED = """\
kernel void add(global int *a, int n) { a[get_global_id(0)] += n + sin((float)n); }
kernel void multiply(global int *a, int n) { a[get_global_id(0)] *= n; }
"""
BARE = Platform("none", {}, late="")


@pytest.fixture(params=[SYSTEM, NEWEST])
def driver(request: pytest.FixtureRequest, newest: Toolchain) -> str:
    return newest.name if request.param == NEWEST else SYSTEM


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    path = tmp_path / "edited.cl"
    path.write_text(EDITED)
    return path


def replaced(driver: str, folder: Path, work: Path, *replacements: str, status: int = 0) -> Done:
    options = [word for each in replacements for word in ("--replace", each)]
    more = ("--simulate", "dg2", "--toolchain", driver, *options)
    done = captured(BARE, folder, work, str(folder / "app"), "source", options=more)
    assert done.status == status, done.err
    return done


def codes(builds: list[Build] | tuple[Build, ...], work: Path) -> dict[str, bytes]:
    """The machine code of kernels, as the application got them."""
    by_name = {}
    for number, build in enumerate(builds):
        path = work / f"built-{number}.bin"
        path.write_bytes(build.binary)
        for program in kernlens.load(path):
            by_name.update({name: bytes(kernel.code) for name, kernel in program.kernels.items()})
    return by_name


@pytest.mark.parametrize("form", each_run("archive", others=["alone"]))
@pytest.mark.parametrize("compiler", [SYSTEM, NEWEST])
def test_a_binary_for_another_device_is_refused(
    form: str, compiler: str, driver: str, folder: Path, tmp_path: Path, edited: Path, newest: Toolchain
) -> None:
    """Patch tokens and zebin, on both drivers: none makes a program of the SPIR-V beside the machine code."""
    own = codes(replaced(driver, folder, tmp_path).builds, tmp_path)
    compiler = newest.name if compiler == NEWEST else SYSTEM
    (program,) = kernlens.compile(edited, "tgllp", toolchain=compiler)
    assert program.build.spirv, "there is something to compile"
    binary = tmp_path / "edited.bin"
    binary.write_bytes(program.build.binary)
    if form == "archive":
        generic = neo_elf([(SPIRV, program.build.spirv)], type=0xFF03)
        images = [member("64.12.0.0", program.build.binary), member("generic_ir", generic)]
        binary.write_bytes(archive(images))
    done = replaced(driver, folder, tmp_path, f"add={binary}")
    assert f"{binary} did not stand in for add, as the driver refused it (CL_INVALID_BINARY)" in done.err
    assert "stood in" not in done.err
    assert codes(done.builds, tmp_path) == own
    assert "came from binaries" not in done.err


def test_a_binary_of_the_drivers_own_stands_in(driver: str, folder: Path, tmp_path: Path, edited: Path) -> None:
    first = replaced(driver, folder, tmp_path, f"add={edited}")
    assert f"{edited} stood in for add" in first.err
    binary = tmp_path / "edited.bin"
    binary.write_bytes(first.builds[0].binary)
    first_codes = codes(first.builds, tmp_path)
    done = replaced(driver, folder, tmp_path, f"add={binary}")
    assert f"{binary} stood in for add\n" in done.err
    assert codes(done.builds, tmp_path) == first_codes
    assert "is not known" not in done.err
    assert "came from binaries" not in done.err, "it is made from source, as far as the application knows"


def test_of_several_replacements_each_is_told(driver: str, folder: Path, tmp_path: Path, edited: Path) -> None:
    other = tmp_path / "other.cl"
    other.write_text(EDITED)
    done = replaced(driver, folder, tmp_path, f"add={edited}", f"multiply={other}", f"nothing={other}", status=2)
    assert f"{edited} stood in for add\n" in done.err
    assert (
        f"{other} did not stand in for multiply, as another file, which is named before it, is for the same" in done.err
    )
    assert f"{other} stood in for nothing: no program that the application made has a kernel nothing" in done.err
    assert "nothing was replaced" not in done.err


@pytest.mark.parametrize("device", each_run("pvc", others=["tgllp"]))
def test_a_module_for_another_device_is_refused(
    device: str, driver: str, level_zero_folder: Path, tmp_path: Path, newest: Toolchain
) -> None:
    (program,) = kernlens.compile(level_zero_folder / "edited.cl", device, toolchain=driver)
    binary = tmp_path / "edited.bin"
    binary.write_bytes(program.build.binary)
    under = Driver(driver, "dg2", level_zero_folder)
    own = codes(under.captured(tmp_path, "spirv", variables=UNTRACED).builds, tmp_path)
    options = ("--replace", f"scale={binary}")
    done = under.captured(tmp_path, "spirv", options=options, variables=UNTRACED)
    assert f"{binary} did not stand in for scale, as the driver refused it (ZE_RESULT_ERROR_" in done.err
    assert "stood in" not in done.err
    assert codes(done.builds, tmp_path) == own


def fields(**values: bytes) -> bytes:
    def block(content: bytes) -> bytes:
        return struct.pack("<Q", len(content)) + content

    return b"".join(block(name.replace("_", " ").encode() + b"\0") + block(value) for name, value in values.items())


def test_other_machine_code_than_the_files_is_told(tmp_path: Path, edited: Path) -> None:
    """A driver that takes a binary and builds something else: what its recorder writes, and what the end says."""
    original = tmp_path / "original.cl"
    original.write_text(EDITED.replace(" + sin((float)n)", ""))
    (built,), (programs,) = kernlens.compile(original, "dg2"), kernlens.compile(edited, "dg2")
    binary = tmp_path / "edited.bin"
    binary.write_bytes(programs.build.binary)
    replacement = Replacement.of("add", str(binary))
    identity = struct.pack("<2Q", 1, 1)
    for content, expected in (
        (programs.build.binary, f"{binary} stood in for add"),
        (
            built.build.binary,
            f"{binary} was put in for add, but the machine code that the application got is not the file's: add"
            f" ({len(built.kernels['add'].code):,} bytes, in the file {len(programs.kernels['add'].code):,})",
        ),
        (b"\0something else", f"{binary} stood in for add"),
    ):
        spool = Spool.make(tmp_path / "x.klens")
        asked = Asked(changes=Changes(replacements=[replacement]))
        asked.keep(spool)
        asked.changes.make({}, spool)
        build = fields(operation=b"build", program=identity, device=bytes(8), built=b"\1", binary=content)
        (spool.folder / "1-1.builds").write_bytes(entry(BUILD, 5, build))
        note = fields(
            replaced=b"add\0",
            hash=b"0" * 64,
            **{
                "replacement's_hash": hashlib.sha256(without_intermediate_code(programs.build.binary))
                .hexdigest()
                .encode()
            },
            program=identity,
            error=bytes(8),
        )
        (spool.folder / "1-2.replacement").write_bytes(note)
        spool.close()
        assert recover(spool.folder).findings[0] == expected


def test_an_application_that_builds_nothing(tmp_path: Path, edited: Path) -> None:
    done = capture(["true"], tmp_path / "x.klens", replace={"add": edited})
    assert done.findings == (f"{edited} stood in for nothing: the application built no program",)
