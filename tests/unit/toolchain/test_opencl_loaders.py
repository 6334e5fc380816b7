"""OpenCL loaders, their vendors, and the search for them, on files that are made for it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from kernlens.toolchain import library_search, loader_front, opencl_loader, used_loaders
from kernlens.toolchain.library_search import LibrarySearch, read_linked
from kernlens.toolchain.loader_front import find_front
from kernlens.toolchain.opencl_loader import read_loader
from kernlens.toolchain.opencl_vendors import VendorRules, listed_vendors, same_vendors
from tests.writers.dynamic import dynamic_file

NAME = "libOpenCL.so.1"
#: What loaders have among their bytes.
OCL_ICD = b"/etc/OpenCL/vendors\0OCL_ICD_VENDORS\0OPENCL_VENDOR_PATH\0OCL_ICD_PLATFORM_SORT\0"
CUDA = b"/etc/OpenCL/vendors/\0OCL_ICD_FILENAMES\0OCL_ICD_VENDORS\0"
KHRONOS = b"/etc/OpenCL/vendors\0OCL_ICD_FILENAMES\0OCL_ICD_VENDORS\0OPENCL_LAYERS\0"
LAYERS = b"OPENCL_LAYERS\0"
PYOPENCL = OCL_ICD + LAYERS + b"PYOPENCL_HOME\0"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose system's loader is ocl-icd, and that has no other."""
    system = put(tmp_path / "system" / NAME, OCL_ICD + LAYERS)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(library_search, "_CACHE", tmp_path / "none")
    monkeypatch.setattr(library_search, "_DEFAULT_FOLDERS", (str(system.parent),))
    monkeypatch.setattr(opencl_loader, "_candidates", lambda python, environment: [str(system)])
    return tmp_path


def put(path: Path, content: bytes = b"", needed: tuple[str, ...] = (), rpath: str = "", runpath: str = "") -> Path:
    """Write a library or program with this content, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    soname = NAME if path.name.startswith("libOpenCL") else ""
    path.write_bytes(dynamic_file(needed, soname=soname, content=b"\0" + content, rpath=rpath, runpath=runpath))
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("rpath", "runpath", "variable", "place", "kind"),
    [
        ("", "", "", "system", "the system's libraries"),
        ("", "", "a", "a", "LD_LIBRARY_PATH"),
        ("", "$ORIGIN/../b", "", "b", "DT_RUNPATH"),
        ("", "${ORIGIN}/../b", "a", "a", "LD_LIBRARY_PATH"),
        ("$ORIGIN/../b", "", "a", "b", "DT_RPATH"),
        ("$ORIGIN/../b", "/none", "a", "a", "LD_LIBRARY_PATH"),
        ("/none", "", "none:a", "a", "LD_LIBRARY_PATH"),
    ],
)
def test_the_order_of_the_search(rpath: str, runpath: str, variable: str, place: str, kind: str, machine: Path) -> None:
    for name in ("a", "b"):
        put(machine / name / NAME)
    program = read_linked(str(put(machine / "bin" / "app", needed=(NAME,), rpath=rpath, runpath=runpath)))
    folders = ":".join(str(machine / each) for each in variable.split(":")) if variable else ""
    place_and_kind = LibrarySearch({"LD_LIBRARY_PATH": folders}).find(NAME, program)
    assert place_and_kind is not None
    path, by = place_and_kind
    assert (Path(os.path.realpath(path)), by) == (machine / place / NAME, kind)


def test_the_rpath_of_who_led_there_counts(machine: Path) -> None:
    """As pyopencl's: the extension needs what needs the loader."""
    put(machine / "b" / NAME, CUDA)
    put(machine / "b" / "libmiddle.so", needed=(NAME,))
    app = put(machine / "bin" / "app", needed=("libmiddle.so",), rpath=str(machine / "b"))
    (use, *_) = find_front([str(app)], str(app), {}).uses
    assert (use.loader.path, use.kind, use.is_pinned) == (str(machine / "b" / NAME), "DT_RPATH", True)
    assert use.requester == str(machine / "b" / "libmiddle.so")


def test_a_front_by_each_variable(machine: Path) -> None:
    cuda = put(machine / "cuda" / NAME, CUDA)
    app = put(machine / "bin" / "app", needed=(NAME,), runpath=str(cuda.parent))
    pinned = put(machine / "bin" / "pinned", needed=(NAME,), rpath=str(cuda.parent))
    front = find_front([str(app)], str(app), {"LD_LIBRARY_PATH": "/other"})
    first, _, rest = (front.changes["LD_LIBRARY_PATH"] or "").partition(":")
    assert rest == "/other"
    assert os.listdir(first) == [NAME]
    assert os.path.realpath(Path(first, NAME)) == str(machine / "system" / NAME)
    assert front.changes["OCL_ICD_PLATFORM_SORT"] == "none"
    assert "LD_PRELOAD" not in front.changes
    front = find_front([str(pinned)], str(pinned), {"LD_PRELOAD": "/mine.so"})
    assert front.changes["LD_PRELOAD"] == f"/mine.so:{machine}/system/{NAME}"
    both = find_front(["sh", str(app), str(pinned)], "/bin/sh", {})
    assert {"LD_PRELOAD", "LD_LIBRARY_PATH"} < set(both.changes)


def test_nothing_changes_where_layers_are_taken(machine: Path) -> None:
    app = put(machine / "bin" / "app", needed=(NAME,))
    assert find_front([str(app)], str(app), {}).changes == {}
    assert find_front((), "", {}).sentence == ""


def test_no_loader_to_put_in_front(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opencl_loader, "_candidates", lambda python, environment: [])
    put(machine / "cuda" / NAME, CUDA)
    front = find_front((), "", {"LD_LIBRARY_PATH": str(machine / "cuda")})
    assert (front.front, front.changes) == (None, {})
    assert "takes no layers, and kernlens found none that does" in front.sentence


def test_a_loader_for_another_machine_or_a_newer_c_library_is_none(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = put(machine / "1" / NAME, LAYERS + b"\0GLIBC_2.999\0")
    other = machine / "2" / NAME
    other.parent.mkdir()
    other.write_bytes(dynamic_file(machine=183, content=LAYERS))
    system = machine / "system" / NAME
    monkeypatch.setattr(opencl_loader, "_candidates", lambda python, environment: map(str, [newer, other, system]))
    assert [loader.path for loader in opencl_loader.fronts(62, None, {})] == [str(system)]


def test_pyopencls_loader_gets_its_home(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the variable it crashes; vendors that lie beside it are not the application's."""
    bundled = put(machine / "site" / "pyopencl" / ".libs" / "libOpenCL-12ab.so.1.0.0", PYOPENCL)
    monkeypatch.setattr(opencl_loader, "_candidates", lambda python, environment: [str(bundled)])
    put(machine / "cuda" / NAME, CUDA)
    variables = {"LD_LIBRARY_PATH": str(machine / "cuda")}
    assert find_front((), "", variables).changes["PYOPENCL_HOME"] == str(machine / "site" / "pyopencl")
    assert "PYOPENCL_HOME" not in find_front((), "", {**variables, "PYOPENCL_HOME": "/mine"}).changes
    (bundled.parent / "more.icd").touch()
    assert find_front((), "", variables).changes["PYOPENCL_HOME"] == str(loader_front.front_folder())


def rules(content: bytes) -> VendorRules:
    return VendorRules.of(content)


def test_vendors_as_loaders_list_them(tmp_path: Path) -> None:
    for name, text in (("a.icd", "liba.so\n"), ("b.icd", "/x/libb.so"), ("c.txt", "libc.so"), ("d.icd", "")):
        (tmp_path / name).write_text(text)
    folder, inside = str(tmp_path), {"liba.so", "/x/libb.so"}
    assert set(listed_vendors(rules(OCL_ICD), {"OCL_ICD_VENDORS": folder})) == inside
    assert set(listed_vendors(rules(OCL_ICD), {"OPENCL_VENDOR_PATH": folder})) == inside
    assert listed_vendors(rules(OCL_ICD), {"OCL_ICD_VENDORS": f"{folder}/a.icd"}) == ["liba.so"]
    assert listed_vendors(rules(OCL_ICD), {"OCL_ICD_VENDORS": "libz.so"}) == ["libz.so"]
    # CUDA's joins folder and name without a slash, and takes no files there.
    assert listed_vendors(rules(CUDA), {"OCL_ICD_VENDORS": folder}) == []
    assert set(listed_vendors(rules(CUDA), {"OCL_ICD_VENDORS": f"{folder}/"})) == inside
    assert listed_vendors(rules(CUDA), {"OCL_ICD_VENDORS": f"{folder}/a.icd"}) == []
    both = {"OCL_ICD_FILENAMES": "libz.so:liba.so", "OCL_ICD_VENDORS": folder}
    assert listed_vendors(rules(KHRONOS), both)[:2] == ["libz.so", "liba.so"]
    assert set(listed_vendors(rules(KHRONOS), both)) == inside | {"libz.so"}


@pytest.mark.parametrize("before", [OCL_ICD, CUDA, KHRONOS])
@pytest.mark.parametrize("after", [OCL_ICD, KHRONOS])
@pytest.mark.parametrize("vendors", ["", "FOLDER", "FOLDER/", "FOLDER/a.icd", "libz.so"])
@pytest.mark.parametrize("names", ["", "liby.so:libx.so"])
def test_the_front_lists_the_same_vendors(
    before: bytes, after: bytes, vendors: str, names: str, tmp_path: Path
) -> None:
    (tmp_path / "vendors").mkdir()
    for name in ("a", "c", "b"):
        (tmp_path / "vendors" / f"{name}.icd").write_text(f"lib{name}.so\n")
    environment = {"OCL_ICD_VENDORS": vendors.replace("FOLDER", str(tmp_path / "vendors")), "OCL_ICD_FILENAMES": names}
    theirs = listed_vendors(rules(before), environment)
    for name, value in same_vendors(rules(before), rules(after), environment, tmp_path / "made").items():
        environment[name] = value or ""
    assert listed_vendors(rules(after), environment) == theirs


@pytest.mark.parametrize(
    "vendors", [["libc.so", "liba.so", "libb.so"], ["z.so", "a.so"], ["a.so", "z.so"], ["only.so"]]
)
def test_the_order_is_that_of_the_folder(vendors: list[str], tmp_path: Path) -> None:
    environment = {"OCL_ICD_FILENAMES": ":".join(vendors), "OPENCL_VENDOR_PATH": str(tmp_path)}
    changed = same_vendors(rules(KHRONOS), rules(OCL_ICD), {**environment, "OCL_ICD_VENDORS": ""}, tmp_path / "made")
    folder = changed["OPENCL_VENDOR_PATH"] or ""
    # The Khronos loader goes on with the machine's own, which CI need not have.
    listed = [Path(folder, name).read_text().strip() for name in os.listdir(folder)]
    assert listed[: len(vendors)] == vendors
    assert "OCL_ICD_VENDORS" not in changed, "which other loaders read, too"


def test_another_loader_of_the_application_keeps_its_vendors(machine: Path, tmp_path: Path) -> None:
    """pyopencl brings a loader that takes layers. What is put in front of CUDA's must not change its first platform."""
    put(machine / "cuda" / NAME, CUDA)
    put(machine / "site" / "pyopencl" / ".libs" / "libOpenCL-12ab.so.1.0.0", PYOPENCL)
    python = str(put(machine / "bin" / "python3"))
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "gpu.icd").write_text("libgpu.so\n")
    variables = {"LD_LIBRARY_PATH": str(machine / "cuda"), "OCL_ICD_VENDORS": f"{vendors}/"}
    bundled = {**variables, "PYTHONPATH": str(machine / "site")}
    front = find_front([python], python, {**bundled, "OCL_ICD_FILENAMES": "libcpu.so"})
    assert (front.front, front.changes) == (None, {})
    assert "that would change the drivers, or their order, that" in front.sentence
    assert re.fullmatch(r"LD_PRELOAD=/\S+/libOpenCL\.so\.1", front.repair)
    assert f"to record what goes through the former: {front.repair} kernlens capture ..." in front.sentence
    assert find_front([python], python, {**variables, "OCL_ICD_FILENAMES": "libcpu.so"}).front is not None
    # The same vendors, of which there is one: nothing can change for it. Of two the order can.
    assert find_front([python], python, bundled).front is not None
    (vendors / "cpu.icd").write_text("libcpu.so\n")
    sorting = find_front([python], python, bundled)
    assert (sorting.front, sorting.repair) == (None, "OCL_ICD_PLATFORM_SORT=none")
    preloaded = find_front([python], python, {**bundled, **dict([front.repair.split("=")])})
    assert (preloaded.front, preloaded.sentence) == (None, ""), "the repair is there already"
    assert find_front([python], python, {**bundled, "OCL_ICD_PLATFORM_SORT": "none"}).front is not None


def test_programs_of_command_lines(machine: Path) -> None:
    """Scripts, their interpreters, and programs that their lines or arguments name."""
    app = put(machine / "bin" / "app")
    script = machine / "bin" / "start.sh"
    script.write_text('#!/usr/bin/env sh\nHERE=$(dirname "$0")\nexec "$HERE/app" --fast  # it is quick\n')
    script.chmod(0o755)
    variables = {"PATH": f"{machine}/bin:/usr/bin:/bin"}

    def names(*words: str) -> set[str]:
        return {os.path.basename(each.path) for each in used_loaders.programs_of(words, words[0], variables).linked}

    assert {"env", "sh", "app"} <= names(str(script))
    assert {"timeout", "app"} <= names("/usr/bin/timeout", "10", "app")
    assert names("/usr/bin/timeout", "10", "./none", "\0") == {"timeout"}
    assert used_loaders.programs_of(["python3.11"], str(app), variables).python is None
    python = put(machine / "bin" / "python3.11")
    assert used_loaders.programs_of([str(python)], str(python), variables).python == str(python)


def test_a_loader_that_cannot_be_read(tmp_path: Path) -> None:
    assert read_loader(str(tmp_path / NAME)) is None
    (tmp_path / NAME).touch()
    assert read_loader(str(tmp_path / NAME)) is None
    (tmp_path / NAME).write_bytes(b"OPENCL_LAYERS")
    loader = read_loader(str(tmp_path / NAME))
    assert loader is not None
    assert (loader.takes_layers, loader.machine) == (True, None)
