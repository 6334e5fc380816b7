"""Crafted folders that lead a reader to a private file: each attack is a folder, and the words of a command about it.

What each attack is after lies in a folder ``private`` beside that of the attacks, or is hidden within an attack's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from kernlens.recording.writer import RecordingWriter
from tests.attacks.attack import BESIDE, KERNEL, MARK, SOURCE, Attack
from tests.nvidia_files import triton
from tests.writers import code_objects, programs, spooled
from tests.writers.recordings import holding


def _absolute(link: Path, target: Path) -> None:
    link.symlink_to(target)


def _relative(link: Path, target: Path) -> None:
    link.symlink_to(os.path.relpath(target, link.parent))


def _chain(link: Path, target: Path) -> None:
    """A link to a link that leads out: the first one stays in the folder."""
    between = link.with_name(f"between-{link.name}.txt")
    between.symlink_to(target)
    link.symlink_to(between.name)


def _through_a_folder(link: Path, target: Path) -> None:
    """A link through a link to a folder."""
    between = link.with_name(f"folder-{link.name}")
    between.symlink_to(os.path.relpath(target.parent, link.parent))
    link.symlink_to(f"{between.name}/{target.name}")


def _hidden(link: Path, target: Path) -> None:
    """A link to what is hidden in the same folder, as ``.ssh`` is in the home folder that an archive was unpacked in."""
    hidden = link.parent / ".hidden"
    hidden.mkdir(exist_ok=True)
    copy = hidden / target.name
    copy.write_bytes(target.read_bytes())
    link.symlink_to(f".hidden/{target.name}")


_LINKS: dict[str, Callable[[Path, Path], None]] = {
    link.__name__.strip("_"): link for link in (_absolute, _relative, _chain, _through_a_folder, _hidden)
}


def secrets(folder: Path) -> dict[str, Path]:
    """Write the private files into a folder, and return them by their kind."""
    folder.mkdir()
    contents = {
        "text": f"{MARK} a password\n".encode() * 3,
        "json": f'{{"triton_version": "{MARK}"}}'.encode(),
        "toml": f'[source."{MARK}"]\noptions = "-w"\n'.encode(),
        "zebin": programs.binary(kernel=KERNEL),
        "spirv": programs.spirv(exports=KERNEL),
        "builds": spooled.entry(spooled.BUILD, 1, spooled.fields(("source", MARK.encode()))),
    }
    paths = {kind: folder / f"private.{kind}" for kind in contents}
    for kind, content in contents.items():
        paths[kind].write_bytes(content)
    paths["recording"] = folder / "private.recording"
    with RecordingWriter(paths["recording"]) as writer:
        writer.add(holding(KERNEL, contents["zebin"]))
    return paths


def attacks(folder: Path, private: dict[str, Path]) -> Iterator[Attack]:
    """Write all attacks below a folder, and yield them."""
    for build in (_triton_caches, _folders, _line_tables, _captures, _project_files):
        below = folder / build.__name__.strip("_")
        below.mkdir(parents=True)
        yield from build(below, private)


def _triton_caches(folder: Path, private: dict[str, Path]) -> Iterator[Attack]:
    stages = {
        ".cubin": (".source", ".ttir", ".ttgir", ".llir", ".ptx", ".json"),
        ".hsaco": (".source", ".ttir", ".amdgcn", ".json"),
    }
    for form, link in _LINKS.items():
        for code, endings in stages.items():
            verbs = {
                "stages": ("stages", f"k{code}"),
                "inspect": ("inspect", f"k{code}"),
                "extract": ("extract", f"k{code}", "-o", "out"),
                "report": ("report", f"k{code}", "-o", "out.html"),
                # All files of a folder that was named are looked at, hidden ones too.
                **({"folder": ("annotate", ".", "--json")} if form != "hidden" else {}),
            }
            for ending in endings:
                for verb, words in verbs.items():
                    own = folder / f"{form}{code}{ending}-{verb}"
                    own.mkdir()
                    for other in {code, *endings} - {ending, ".source", ".json"}:
                        (own / f"k{other}").write_bytes(_of_triton(other))
                    link(own / f"k{ending}", private["json" if ending == ".json" else "text"])
                    yield Attack(f"triton {own.name}", own, words, BESIDE)


@cache
def _of_triton(ending: str) -> bytes:
    if ending in (".hsaco", ".amdgcn"):
        stated = code_objects.metadata([code_objects.kernel("k", vgpr_count=12)])
        return code_objects.code_object({"k": code_objects.END}, stated, flags=code_objects.GFX90A)
    return triton(ending)


def _folders(folder: Path, private: dict[str, Path]) -> Iterator[Attack]:
    verbs = {
        "inspect": ("inspect", "."),
        "json": ("inspect", ".", "--json"),
        "symbols": ("symbols", "."),
        "extract": ("extract", ".", "-o", "out"),
        "check": ("check", ".", "--max-spill-bytes", "0"),
    }
    for form, link in _LINKS.items():
        if form == "hidden":
            continue
        for kind in ("zebin", "spirv", "recording"):
            for verb, words in verbs.items():
                own = folder / f"{form}-{kind}-{verb}"
                (own / "below").mkdir(parents=True)
                (own / "own.bin").write_bytes(programs.binary())
                link(own / "below" / "a.bin", private[kind])
                yield Attack(f"folder {own.name}", own, words, BESIDE)


def _line_tables(folder: Path, private: dict[str, Path]) -> Iterator[Attack]:
    verbs = {
        "annotate": ("annotate", "a.bin"),
        "json": ("annotate", "a.bin", "--json"),
        "report": ("report", "a.bin", "-o", "out.html"),
    }
    for verb, words in verbs.items():
        for form in ("named", "upwards", *_LINKS):
            own = folder / f"{form}-{verb}"
            own.mkdir()
            target = private["text"]
            name = str(target) if form == "named" else os.path.relpath(target, own)
            if form in _LINKS:
                name = "source.cl"
                _LINKS[form](own / name, target)
            (own / "a.bin").write_bytes(programs.binary(name))
            yield Attack(f"lines {own.name}", own, words, SOURCE)


def _captures(folder: Path, private: dict[str, Path]) -> Iterator[Attack]:
    for form, link in _LINKS.items():
        if form == "hidden":
            continue
        for kind in ("builds", "counters", "replacement", "missing", "asked"):
            own = folder / f"{form}-{kind}"
            spool = own / "a.klens.capture"
            spool.mkdir(parents=True)
            (spool / "recording").write_text(str(own / "a.klens"))
            (spool / "missing").touch()
            name = {"missing": "missing", "asked": "asked"}.get(kind, f"0123456789abcdef-0000000001.{kind}")
            (spool / name).unlink(missing_ok=True)
            link(spool / name, private["builds"])
            yield Attack(f"capture {own.name}", own, ("capture", "--recover", spool.name), BESIDE)


def _project_files(folder: Path, private: dict[str, Path]) -> Iterator[Attack]:
    verbs = {"above": ("check", "below/a.bin"), "here": ("check", "a.bin")}
    for form, link in _LINKS.items():
        for verb, words in verbs.items():
            own = folder / f"{form}-{verb}"
            (own / "below").mkdir(parents=True)
            (own / words[-1]).write_bytes(programs.binary())
            link(own / "kernlens.toml", private["toml"])
            yield Attack(f"project {own.name}", own, words, BESIDE)
