"""Opens the GPU images of real wheels and Debian packages (``wheels.toml``), and counts what was refused or not decoded.

Each package is fetched, unpacked, asked and deleted. Of every file all programs are listed, with their kernels and metrics; of
each device's programs some are decoded, evenly chosen (``--all``: all). It fails if a file with GPU code is refused, if
anything but a KernlensError comes out, or if a listing has undecoded words and does not say so. Where kernlens says that a file
holds nothing for a GPU, an independent look has to agree (``independent_signs``: readelf's sections, and a scan for the headers
of images).

    .venv/bin/python -m tests.corpus.wheels [--all] [NAME...]
"""

from __future__ import annotations

import argparse
import json
import mmap
import struct
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from kernlens.errors import KernlensError, UnsupportedError
from kernlens.loading import open_file
from kernlens.model.program import Program

MANIFEST = Path(__file__).with_name("wheels.toml")
#: How many programs of each device, and kernels of each of these, are decoded.
PROGRAMS, KERNELS = 2, 6
#: Seconds for one file: nvdisasm takes one for each megabyte of cubin, and many more on a busy machine.
SECONDS = 900
_ELF, _BEGINNINGS = (
    b"\x7fELF",
    (b"\x7fELF", b"!<arch>", b"__CLANG_OFFLOAD", b"CCOB", b"\x50\xed\x55\xba", b"\x03\x02\x23\x07"),
)
_ENDINGS = (".cubin", ".ptx", ".fatbin", ".hsaco", ".co", ".spv")
#: Sections that hold code for GPUs.
_SECTIONS = (b".nv_fatbin", b"__nv_relfatbin", b".hip_fatbin", b".llvm.offloading", b"__CLANG_OFFLOAD_BUNDLE__")
#: ``OpCapability Shader``, with which a module for Vulkan begins: a library's own shaders, as in Taichi's, are no kernels.
_SHADER = struct.pack("<2I", 2 << 16 | 17, 1)
#: ``e_machine`` of CUDA, AMD's and Intel's GPUs.
_MACHINES = (190, 224, 205)
Of = TypeVar("Of")


def evenly(items: Sequence[Of], most: int | None) -> list[Of]:
    """Return at most so many of the items, evenly chosen; None: all."""
    if most is None or len(items) <= most:
        return list(items)
    return [items[number * len(items) // most] for number in range(most)]


def independent_signs(path: Path) -> set[str]:
    """Return what tells that a file holds code for a GPU, without a reader of kernlens's: readelf's sections, and headers of
    fat binaries, bundles, SPIR-V and GPU ELF files anywhere in it."""
    signs: set[str] = set()
    listed = subprocess.run(["readelf", "-SW", str(path)], capture_output=True).stdout
    signs.update(name.decode() for name in _SECTIONS if name in listed)
    with path.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for at in _places(content, b"\x50\xed\x55\xba"):
            version, header, size = struct.unpack_from("<HHQ", content[at + 4 : at + 16])
            if version == 1 and header == 16 and 0 < size <= len(content) - at - 16:
                signs.add("a fat binary of CUDA's")
        for at in _places(content, b"\x7fELF\x02\x01\x01"):
            machine, version = struct.unpack_from("<HI", content[at + 18 : at + 24])
            if machine in _MACHINES and version == 1:
                signs.add(f"an ELF file for machine {machine}")
        for at in _places(content, b"__CLANG_OFFLOAD_BUNDLE__"):
            count = int.from_bytes(content[at + 24 : at + 32], "little")
            if 0 < count < 1000:
                signs.add("a bundle of clang's")
        for at in _places(content, b"\x03\x02\x23\x07"):
            version, _, bound, schema = struct.unpack_from("<4I", content[at + 4 : at + 20])
            is_graphics = content[at + 20 : at + 28] == _SHADER
            if version in range(0x10000, 0x10700, 0x100) and 0 < bound < 1 << 22 and schema == 0 and not is_graphics:
                signs.add("SPIR-V")
    return signs


def _places(content: mmap.mmap, magic: bytes) -> Iterator[int]:
    at = content.find(magic)
    while 0 <= at <= len(content) - 64:
        yield at
        at = content.find(magic, at + 1)


def asked(path: Path, *, has_all: bool) -> dict[str, Any]:
    """Return what one file answered: counts, and sentences on what was refused, wrong, or could not be decoded."""
    counts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    try:
        contents = open_file(str(path))
        programs = list(contents.programs)
        contents.check()
    except KernlensError as error:
        signs = independent_signs(path)
        sentence = f"{', '.join(sorted(signs))}: {error}".replace(str(path), path.name)
        return {"counts": {}, "refused": {sentence: 1} if signs else {}, "undecoded": {}}
    signs = set() if programs else independent_signs(path)
    if signs == {"a fat binary of CUDA's"} and any(
        part.kind == "fatbin" for each in contents.containers for part in each.children
    ):
        return {"counts": {"files with fat binaries without code, said": 1}, "refused": {}, "undecoded": {}}
    if signs:
        return {"counts": {}, "refused": {f"no program, but {', '.join(sorted(signs))}": 1}, "undecoded": {}}
    by_device: dict[str, list[Program]] = {}
    for program in programs:
        counts["images"] += 1
        counts["kernels"] += len(program.entry_kernels)
        by_device.setdefault(str(program.device), []).append(program)
    undecoded: Counter[str] = Counter()
    for device, of_device in by_device.items():
        with_code = [program for program in of_device if program.kernels]
        for program in evenly(with_code, None if has_all else PROGRAMS):
            for kernel in evenly(list(program.kernels.values()), None if has_all else KERNELS):
                try:
                    _ = kernel.resources, kernel.arguments, kernel.line_table_reason
                    instructions = kernel.instructions
                except UnsupportedError as error:
                    counts["kernels that nothing here decodes, said"] += 1
                    undecoded[f"{device}: {error}"[:200]] += 1
                    continue
                except KernlensError as error:
                    refused[f"{program.name}: {kernel.name[:60]}: {error}"] += 1
                    continue
                counts["decoded kernels"] += 1
                counts["instructions"] += len(instructions)
                counts["undecoded words"] += len(instructions.illegal)
                if instructions.illegal and not instructions.warning:
                    counts["undecoded words unsaid"] += len(instructions.illegal)
                if instructions.illegal:
                    undecoded[f"{device}: {instructions.warning}"[:200]] += 1
    return {"counts": counts, "refused": refused, "undecoded": undecoded}


def candidates(folder: Path) -> Iterator[Path]:
    """Yield the files of a package that may hold code for a GPU."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as opened:
            start = opened.read(16)
        if start.startswith(_BEGINNINGS) or path.suffix in _ENDINGS:
            yield path


def fetched(name: str, *, is_wheel: bool, folder: Path) -> Path:
    """Fetch a package, and return the folder with what is in it. Raises CalledProcessError if it cannot be had."""
    content = folder / "content"
    content.mkdir()
    if is_wheel:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", "."]
        subprocess.run([*pip, name], check=True, cwd=folder, capture_output=True, text=True)
        (wheel,) = folder.glob("*.whl")
        subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, content], check=True, capture_output=True)
        wheel.unlink()
    else:
        subprocess.run(["apt-get", "--quiet", "download", name], check=True, cwd=folder, capture_output=True, text=True)
        (package,) = folder.glob("*.deb")
        subprocess.run(["dpkg-deb", "--extract", package, content], check=True, capture_output=True)
        package.unlink()
    return content


def package(name: str, *, is_wheel: bool, has_all: bool) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Return the counts of one package, and the sentences on what was refused and not decoded."""
    counts: Counter[str] = Counter()
    sentences_of: dict[str, Counter[str]] = {"refused": Counter(), "undecoded": Counter()}
    with tempfile.TemporaryDirectory(prefix="kernlens-wheels-") as folder:
        for path in candidates(fetched(name, is_wheel=is_wheel, folder=Path(folder))):
            counts["files"] += 1
            words = [sys.executable, "-m", "tests.corpus.wheels", "--file", str(path), *(["--all"] if has_all else [])]
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                sentences_of["refused"][f"{path.name}: more than {SECONDS} seconds"] += 1
                continue
            if done.returncode:
                sentences_of["refused"][f"{path.name}: {done.stderr.strip().splitlines()[-1]}"] += 1
                continue
            answer = json.loads(done.stdout)
            counts.update(answer["counts"])
            counts["files with GPU code"] += bool(answer["counts"])
            for key in sentences_of:
                sentences_of[key].update({f"{path.name}: {words}": number for words, number in answer[key].items()})
    return counts, sentences_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--file")
    arguments = parser.parse_args()
    if arguments.file:
        print(json.dumps(asked(Path(arguments.file), has_all=arguments.all)))
        return 0
    manifest = tomllib.loads(MANIFEST.read_text())
    total: Counter[str] = Counter()
    for kind in ("wheels", "debian"):
        for name in manifest[kind]:
            if arguments.names and not any(each in name for each in arguments.names):
                continue
            try:
                counts, sentences_of = package(name, is_wheel=kind == "wheels", has_all=arguments.all)
            except subprocess.CalledProcessError as error:
                total["packages that cannot be had"] += 1
                print(f"{name}: cannot be had: {str(error.stderr).strip().splitlines()[-1:]}", flush=True)
                continue
            counts["packages"] += 1
            counts["refused"] += sum(sentences_of["refused"].values())
            total.update(counts)
            print(f"{name}: {', '.join(f'{number:,} {what}' for what, number in counts.items())}", flush=True)
            for key, sentences in sentences_of.items():
                for sentence, number in sentences.most_common(4):
                    print(f"    {key}: {sentence} ({number:,})", flush=True)
    print(f"all: {', '.join(f'{number:,} {what}' for what, number in total.items())}")
    return int(total["refused"] > 0 or total["undecoded words unsaid"] > 0 or not total["files with GPU code"])


if __name__ == "__main__":
    sys.exit(main())
