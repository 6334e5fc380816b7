"""Files, and links in folders, that lead a command to write elsewhere than where it was told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from kernlens.model.build import Build, HeldParts, Source
from tests.attacks.attack import PARTS, SPOOL, TEXTS, Attack
from tests.attacks.hostile_names import CARRIERS
from tests.writers import programs, spooled
from tests.writers.patch_tokens import KernelToWrite, environment, program
from tests.writers.recordings import record

#: Carriers whose names become those of files, and how many folders these lie below that of the command.
_DEPTHS = {
    "kernel of a NEO ELF": 4,
    "kernel of patch tokens": 4,
    "kernel of a zebin": 4,
    "section of a zebin": 3,
    "member of an archive": 3,
    "kernel of AMD": 4,
    "section of AMD": 3,
    "entry of a bundle": 4,
    "kernel of a fat binary": 4,
    "kernel of PoCL": 4,
    "file of PoCL": 3,
    "build of a recording": 2,
}
_EXTRACT = ("extract", "FILE", "-o", "out")


def attacks(folder: Path, private: Mapping[str, Path]) -> Iterator[Attack]:
    """Write the attacks below a folder, and yield them."""
    for build in (_names, _links, _clashes, _recorded_sources, _captures):
        below = folder / build.__name__.strip("_")
        below.mkdir(parents=True)
        yield from build(below)


def _names(folder: Path) -> Iterator[Attack]:
    for carrier, depth in _DEPTHS.items():
        for form in ("upwards", "far upwards", "inside and upwards", "absolute"):
            own = folder / f"{carrier}_{form}".replace(" ", "_")
            own.mkdir()
            name = {
                "upwards": f"{'../' * depth}escaped",
                "far upwards": f"{'../' * 40}{own}/escaped".replace("//", "/"),
                "inside and upwards": f"./x/../{'../' * depth}escaped",
                "absolute": f"{own}/escaped",
            }[form]
            if carrier in ("member of an archive", "kernel of a fat binary") and len(name) > 15:
                continue
            if form == "absolute" and carrier in ("entry of a bundle", "file of PoCL"):
                continue  # Something stands before it.
            path = CARRIERS[carrier](own, name)
            yield Attack(f"writes {own.name}", own, tuple(path if word == "FILE" else word for word in _EXTRACT), PARTS)


def _links(folder: Path) -> Iterator[Attack]:
    """Links that lie where the parts go: to folders, to files, and to nothing."""
    for place in ("programs", "programs/a", "programs/a/kernels", "containers", "containers/a.parts"):
        for form in ("absolute", "relative"):
            own = folder / f"{place}_{form}".replace("/", "_")
            victim, link = own / "victim", own / "out" / place
            victim.mkdir(parents=True)
            link.parent.mkdir(parents=True)
            link.symlink_to(victim if form == "absolute" else os.path.relpath(victim, link.parent))
            yield _extracted(own)
    for place in ("programs/a/kernels/scale.gen", "programs/a/build_options.txt", "containers/a.bin"):
        for form in ("absolute", "relative", "hard", "nothing"):
            own = folder / f"{place}_{form}".replace("/", "_")
            victim, link = own / "victim", own / "out" / place
            link.parent.mkdir(parents=True)
            if form != "nothing":
                victim.write_text("as it was\n")
            if form == "hard":
                os.link(victim, link)
            else:
                link.symlink_to(os.path.relpath(victim, link.parent) if form == "relative" else victim)
            yield _extracted(own)


def _extracted(own: Path) -> Attack:
    (own / "a.bin").write_bytes(programs.binary())
    return Attack(f"writes through {own.name}", own, ("extract", "a.bin", "-o", "out"), PARTS)


def _clashes(folder: Path) -> Iterator[Attack]:
    """Names that are one where letter case does not count."""
    pairs = (("scale", "SCALE"), ("a b", "A b"), ("x-2", "X-2"))
    for number, names in enumerate(pairs):
        own = folder / f"kernels_{number}"
        own.mkdir()
        kernels = [KernelToWrite(name, code=bytes(64), tokens=[environment(simd=16)]) for name in names]
        (own / "a.bin").write_bytes(program(kernels))
        yield Attack(f"clash {own.name}", own, ("extract", "a.bin", "-o", "out"), PARTS)
        own = folder / f"sources_{number}"
        own.mkdir()
        sources = tuple(Source(f"{name}.cl", name) for name in names)
        record(own / "a.klens", Build("a", "dg2", parts=HeldParts(binary=programs.binary(), sources=sources)))
        yield Attack(f"clash {own.name}", own, ("extract", "a.klens", "-o", "out"), PARTS)


def _recorded_sources(folder: Path) -> Iterator[Attack]:
    """Sources of a recording, which are written into a temporary folder of ``out`` to be compiled."""
    forms: dict[str, Callable[[Path], str]] = {
        "upwards": lambda own: "../../../escaped.cl",
        "rooted": lambda own: "/../../../escaped.cl",
        "windows": lambda own: "..\\..\\..\\escaped.cl",
        "inside": lambda own: "src/../../../../escaped.cl",
        "absolute": lambda own: f"{own}/escaped.cl",
    }
    for form, path_in in forms.items():
        for second in (False, True):
            own = folder / f"{form}_{'second' if second else 'first'}"
            (own / "out").mkdir(parents=True)
            source = Source(path_in(own), programs.SOURCE)
            # Without the guard, an absolute path would be where it says.
            sources = (Source("src/a.cl", programs.SOURCE), source) if second else (source,)
            record(own / "a.klens", Build("a", "dg2", parts=HeldParts(sources=sources)))
            yield Attack(f"sources {own.name}", own, ("stages", "a.klens", "--toolchain", "system"), TEXTS)


def _captures(folder: Path) -> Iterator[Attack]:
    """The folder of a capture, which says where its recording is to be written."""
    for form in ("absolute", "over a recording", "link"):
        own = folder / form.replace(" ", "_")
        spool = own / "out" / "a.klens.capture"
        spool.mkdir(parents=True)
        (own / "victim").mkdir()
        stated = own / "victim" / "escaped.klens"
        if form == "over a recording":
            record(stated, Build("mine", "dg2", parts=HeldParts(binary=programs.binary())))
        if form == "link":
            (own / "out" / "b").symlink_to(own / "victim")
            stated = own / "out" / "b" / "escaped.klens"
        (spool / "recording").write_text(str(stated))
        (spool / "missing").touch()
        source = spooled.fields(("source", b"kernel"))
        (spool / "0123456789abcdef-0000000001.builds").write_bytes(spooled.entry(spooled.BUILD, 1, source))
        yield Attack(f"capture {own.name}", own, ("capture", "--recover", "out/a.klens.capture"), SPOOL)
