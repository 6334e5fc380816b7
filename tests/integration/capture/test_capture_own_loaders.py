"""Captures of programs with an OpenCL loader of their own linked in, on drivers with tables of functions of every kind."""

from __future__ import annotations

import ctypes.util
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.capture.capture_fixtures import HERE, MAIN
from tests.integration.layers.opencl_layer_fixtures import ICD_FOLDER

FLAGS = ("gcc", "-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror")
BUILDS, LAUNCHES = 3, 4
#: Drivers, by what they are made with, and the number of platforms that each has.
DRIVERS = {
    "OpenCL 1.0": ("-DRELEASE=10",),
    "OpenCL 1.2": ("-DRELEASE=12",),
    "OpenCL 3.0": ("-DRELEASE=30",),
    "locked": ("-DRELEASE=12", "-DLOCKED"),
    "platforms": ("-DRELEASE=30", "-DPLATFORMS=3"),
    "by type": ("-DRELEASE=12", "-DBY_TYPE"),
    "by object": ("-DRELEASE=12", "-DBY_OBJECT"),
    "managed": ("-DRELEASE=30", "-DMANAGED=1"),
    "managed and not": ("-DRELEASE=30", "-DMANAGED=2"),
}
LOADERS = {"old": (), "managing": ("-DMANAGED",)}
LIBRARIES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib")


@dataclass(frozen=True)
class Place:
    """Programs with a loader each, the drivers, and a folder of vendors."""

    folder: Path

    def driver(self, name: str, *more: str) -> Path:
        library = self.folder / f"{name.replace(' ', '_')}{''.join(more)}.so".replace('"', "")
        source = HERE / "loaders" / "table_driver.c"
        flags = ("-shared", "-fPIC", *DRIVERS[name], *more)
        subprocess.run([*FLAGS, *flags, "-o", str(library), str(source)], check=True, timeout=60)
        return library

    def vendors(self, name: str, *libraries: Path | str) -> str:
        folder = self.folder / name
        folder.mkdir()
        for number, library in enumerate(libraries):
            (folder / f"{(7 * number) % 10}.icd").write_text(f"{library}\n")
        return str(folder)

    def run(self, counted: Path, *words: str, **variables: str) -> tuple[int, str, Counter[str]]:
        """Return the exit status, what was printed, and what the drivers counted."""
        counted.write_text("")
        own = {name: value for name, value in os.environ.items() if not name.startswith(("OCL_ICD", "OPENCL"))}
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**own, **variables, "COUNTED": str(counted)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, Counter(counted.read_text().split())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("own-loaders")
    for name, flags in LOADERS.items():
        source = HERE / "loaders" / "own_loader.c"
        subprocess.run([*FLAGS, *flags, "-o", str(folder / name), str(source)], check=True, timeout=60)
    return Place(folder)


def both(place: Place, tmp_path: Path, *words: str, **variables: str) -> tuple[str, Counter[str]]:
    """Run a program without and with a capture, which must not differ, and return what it printed and the drivers counted."""
    plain = place.run(tmp_path / "plain", *words, **variables)
    answer = tmp_path / "answer.json"
    command = [*MAIN, "capture", "-o", str(tmp_path / "x.klens"), "--json-file", str(answer), "--", *words]
    assert place.run(tmp_path / "captured", *command, **variables) == plain
    noted = json.loads(answer.read_text())
    recorded = {"build": noted["builds"], "launch": sum(kernel["launches"] for kernel in noted["kernels"])}
    assert +Counter(recorded) == plain[2]
    return plain[1], plain[2]


@pytest.mark.parametrize("loader", LOADERS)
@pytest.mark.parametrize("name", DRIVERS)
def test_every_kind_of_table(name: str, loader: str, place: Place, tmp_path: Path) -> None:
    """What stands behind the table stays, and what was only to be read stays so."""
    if (name, loader) == ("managed", "old"):
        pytest.skip("such a loader calls no such driver")
    vendors = place.vendors(f"{name}-{loader}", place.driver(name))
    words = [str(place.folder / loader), str(BUILDS), str(LAUNCHES)]
    out, counted = both(place, tmp_path, *words, OCL_ICD_VENDORS=vendors)
    platforms = 3 if name == "platforms" else 1
    assert counted == {"build": BUILDS * platforms, "launch": BUILDS * LAUNCHES * platforms}
    assert out.count("worked 0") == out.count("0 changed") == platforms
    assert ("locked" in out) == (name == "locked")


#: What objects are made by, and how often programs are built.
MADE_BY = {"type": 3, "sub": 3, "clone": 3, "release": 40, "": 400}


TABLES = [(name, how) for name in ("by type", "by object") for how in MADE_BY]


@pytest.mark.parametrize(("name", "how"), [*TABLES, ("managed and not", "type"), ("platforms", "type")])
def test_whatever_objects_are_made_by(name: str, how: str, place: Place, tmp_path: Path) -> None:
    """Those of a driver with a table for each are seen, also by the hundred, and where a table is made anew in its memory."""
    driver = place.driver(name, *(("-URELEASE", "-DRELEASE=30") if how == "clone" else ()))
    vendors = place.vendors(f"made-{name}-{how}", driver)
    words = [str(place.folder / "managing"), str(MADE_BY[how]), str(LAUNCHES), *([how] if how else [])]
    _, counted = both(place, tmp_path, *words, OCL_ICD_VENDORS=vendors)
    platforms = 3 if name == "platforms" else 1
    assert counted == {"build": MADE_BY[how] * platforms, "launch": MADE_BY[how] * LAUNCHES * platforms}


def test_several_drivers_and_a_fork(place: Place, tmp_path: Path) -> None:
    """In the order of the folder; one stands there twice, one cannot be opened, one is a library without platforms."""
    letters = ["A", "B", "C"]
    kinds = ["OpenCL 1.0", "managed and not", "platforms"]
    libraries = [place.driver(kind, f'-DSUFFIX="{letter}"') for kind, letter in zip(kinds, letters, strict=True)]
    vendors = place.vendors("several", *libraries, libraries[0], "libnone.so", "libm.so.6")
    words = [str(place.folder / "managing"), str(BUILDS), str(LAUNCHES), "fork"]
    out, counted = both(place, tmp_path, *words, OCL_ICD_VENDORS=vendors)
    assert {line[7] for line in out.splitlines() if line.startswith("Tables")} == set(letters)
    assert counted["build"] >= BUILDS * 5 * 2


def test_a_driver_that_the_loader_finds_beside_itself(place: Place, tmp_path: Path) -> None:
    """A name without a slash is searched for where the program's own search path leads."""
    folder = tmp_path / "bin"
    folder.mkdir()
    source = HERE / "loaders" / "own_loader.c"
    rpath = "-Wl,--enable-new-dtags,-rpath,$ORIGIN"
    subprocess.run([*FLAGS, rpath, "-o", str(folder / "own"), str(source)], check=True, timeout=60)
    place.driver("OpenCL 1.2").rename(folder / "libbeside.so")
    vendors = place.vendors("beside", "libbeside.so")
    _, counted = both(place, tmp_path, str(folder / "own"), str(BUILDS), str(LAUNCHES), OCL_ICD_VENDORS=vendors)
    assert counted["build"] == BUILDS


def test_a_program_that_chooses_its_drivers_itself(place: Place, tmp_path: Path) -> None:
    """It keeps them, and that nothing was recorded is said with the reason."""
    vendors = place.vendors("itself", place.driver("OpenCL 1.2"))
    line = f"OCL_ICD_VENDORS={vendors} {place.folder}/old {BUILDS} {LAUNCHES}"
    command = [*MAIN, "capture", "-o", str(tmp_path / "x.klens"), "--json-file", str(tmp_path / "x.json"), "--"]
    status, out, counted = place.run(tmp_path / "counted", *command, "sh", "-c", line)
    assert (status, counted["build"]) == (7, BUILDS)
    assert "worked 0" in out
    assert json.loads((tmp_path / "x.json").read_text())["builds"] == 0


def test_a_driver_of_many_platforms(place: Place, tmp_path: Path) -> None:
    vendors = place.vendors("platforms-70", place.driver("OpenCL 1.2", "-DPLATFORMS=70"))
    words = [str(place.folder / "managing"), "1", "1"]
    _, counted = both(place, tmp_path, *words, OCL_ICD_VENDORS=vendors)
    assert counted == {"build": 70, "launch": 70}


def test_many_drivers(place: Place, tmp_path: Path) -> None:
    driver = place.driver("OpenCL 1.2", "-DMANY")
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    for number in range(70):
        copied = shutil.copy(driver, tmp_path / f"driver{number}.so")
        (vendors / f"{number}.icd").write_text(f"{copied}\n")
    words = [str(place.folder / "managing"), "1", "1"]
    _, counted = both(place, tmp_path, *words, OCL_ICD_VENDORS=str(vendors))
    assert counted == {"build": 70, "launch": 70}


#: Asks each of the loaders that it is given for the number of platforms.
ASKS = """
import ctypes, sys
for path in sys.argv[1:]:
    count = ctypes.c_uint()
    print(ctypes.CDLL(path).clGetPlatformIDs(0, None, ctypes.byref(count)), count.value)
"""


def test_many_loaders_in_a_process(place: Place, tmp_path: Path) -> None:
    library = ctypes.util.find_library("OpenCL")
    assert library is not None
    loaded = next(Path(folder) / library for folder in LIBRARIES if (Path(folder) / library).exists())
    copies = [shutil.copy(loaded, tmp_path / f"libOpenCL{number}.so") for number in range(20)]
    words = [sys.executable, "-c", ASKS, *map(str, copies)]
    out, _ = both(place, tmp_path, *words, OCL_ICD_VENDORS=str(ICD_FOLDER / "pocl.icd"))
    assert out.splitlines() == ["0 1"] * 20
