"""Which libiga64 decodes: of several that are installed, that of the compiler which made the code."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from kernlens.formats.zebin.notes import ZebinNotes
from kernlens.isa.intel import iga_library
from kernlens.isa.intel.device_table import XE_HPC
from kernlens.isa.intel.iga_library import IgaLibrary, library_for
from kernlens.loading.kept_debug import ProgramDebug, ZebinDebug
from kernlens.model.allowance import Allowance
from kernlens.model.build import Build, BuildToolchain
from kernlens.model.compiler import Compiler
from kernlens.model.device import DeviceId

if TYPE_CHECKING:
    from kernlens import _decoder
    from kernlens.formats.zebin.zebin_file import Zebin

#: What is installed: each library's file, and the toolchain that it belongs to. The system's comes first.
INSTALLED = {
    "/s/libiga64.so.1.0.1": "system",
    "/a/libiga64.so.1.0.1": "older",
    "/b/libiga64.so.2.20.5+0": "between",
    "/c/libiga64.so.2.40.14+0": "newest",
}


def library(path: str) -> IgaLibrary:
    native = SimpleNamespace(platforms=(XE_HPC,), version="1.0.0", path=path)
    return IgaLibrary(path, cast("_decoder.Library", native))


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The files that are there; a test may change them."""
    files = dict(INSTALLED)
    known = {path: library(path) for path in INSTALLED}
    monkeypatch.setattr(iga_library, "_candidates", lambda: iter(files.items()))
    monkeypatch.setattr(iga_library, "_open", lambda path: known.setdefault(path, library(path)))
    return files


@pytest.mark.parametrize(
    ("compiler", "file"),
    [
        # A plain file of Debian 12's compiler tells that it is of IGC 1, one of the newest nothing.
        (Compiler((1,)), "/s/libiga64.so.1.0.1"),
        (Compiler(), "/c/libiga64.so.2.40.14+0"),
        # The version of IGC 2's libraries is the compiler's; those of IGC 1 are told apart by their toolchain alone.
        (Compiler((2, 40, 14), "newest"), "/c/libiga64.so.2.40.14+0"),
        (Compiler((2, 20, 5), "newest"), "/b/libiga64.so.2.20.5+0"),
        (Compiler((1, 0, 12504), "system"), "/s/libiga64.so.1.0.1"),
        (Compiler((1, 0, 17791), "older"), "/a/libiga64.so.1.0.1"),
        # Made elsewhere: by a toolchain of that name that has another version here, or by one that is not here.
        (Compiler((2, 30, 1), "between"), "/b/libiga64.so.2.20.5+0"),
        (Compiler((2, 30, 1), "system"), "/c/libiga64.so.2.40.14+0"),
        (Compiler((1, 0, 17791), "elsewhere"), "/s/libiga64.so.1.0.1"),
        (Compiler((3, 1, 0), "system"), "/c/libiga64.so.2.40.14+0"),
        # 2.4 is not 2.40.
        (Compiler((2, 4), "elsewhere"), "/c/libiga64.so.2.40.14+0"),
    ],
)
def test_the_compilers_own_library_decodes(compiler: Compiler, file: str) -> None:
    assert library_for(XE_HPC, "pvc", compiler).path == file


def test_what_the_user_names_goes_first(installed: dict[str, str]) -> None:
    chosen = {"/mine/libiga64.so.2.10.8+0": "", **installed}
    installed.clear()
    installed.update(chosen)
    for compiler in (Compiler(), Compiler((1,)), Compiler((2, 40, 14), "newest")):
        assert library_for(XE_HPC, "pvc", compiler).path == "/mine/libiga64.so.2.10.8+0"


def test_no_more_libraries_are_opened_than_needed(installed: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def open_library(path: str) -> IgaLibrary:
        opened.append(path)
        return library(path)

    monkeypatch.setattr(iga_library, "_open", open_library)
    library_for(XE_HPC, "pvc", Compiler((1,)))
    library_for(XE_HPC, "pvc", Compiler((1, 0, 12504), "system"))
    assert opened == ["/s/libiga64.so.1.0.1"] * 2


@pytest.mark.parametrize(
    ("version", "generator", "told"),
    [
        ("1.20", "IGC", (1,)),  # Debian 12's
        ("1.48", None, (1,)),
        ("1.49", "IGC", ()),  # the last of IGC 1, and the first of IGC 2
        ("1.73", "IGC", ()),
        ("2.0", "IGC", ()),
        ("1.20", "nGEN", ()),
        ("1.x", "IGC", ()),
        ("9" * 5000, "IGC", ()),
        (None, None, ()),
    ],
)
def test_what_a_zebin_tells_of_its_compiler(version: str | None, generator: str | None, told: tuple[int, ...]) -> None:
    notes = ZebinNotes(DeviceId(), zebin_version=version, generator=generator)
    zebin = cast("Zebin", SimpleNamespace(notes=notes))
    assert ZebinDebug(zebin, Build(""), Allowance(0)).compiler == Compiler(told)
    # A recording names it, whatever the binary says. Drivers have a name and a version of their own.
    named = Build("", toolchain=BuildToolchain("newest", "26.27", "2.40.14+0"))
    assert ZebinDebug(zebin, named, Allowance(0)).compiler == Compiler((2, 40, 14), "newest")
    driver = Build("", toolchain=BuildToolchain("opencl driver 22.43"))
    assert ZebinDebug(zebin, driver, Allowance(0)).compiler == Compiler(told)


def test_patch_tokens_are_of_igc_1() -> None:
    assert ProgramDebug(Build(""), Allowance(0)).compiler == Compiler((1,))
