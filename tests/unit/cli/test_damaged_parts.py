"""Optional parts of a build that cannot be read are the reason of one kernel, and no command's failure; packages of modules."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kernlens.formats.neo_elf import DEVICE_BINARY, DEVICE_DEBUG
from kernlens.model.build import Build, HeldParts, Source
from tests.unit.conftest import Kernlens
from tests.whole import WHOLE as IS_RELEASE
from tests.writers.ar import archive, member
from tests.writers.dwarf import debug_zebin, encode, line_unit_4
from tests.writers.elf import ElfWriter
from tests.writers.patch_tokens import KernelToWrite, debug_data, environment, neo_elf, program
from tests.writers.programs import CODE_SIZE, ROWS, SOURCE, binary, spirv
from tests.writers.recordings import CHAIN, record, snapshot

ASKED = {
    "advise": ("advise",),
    "annotate": ("annotate",),
    "check": ("check", "--max-code-size", "100000"),
    "disasm": ("disasm",),
    "extract": ("extract", "-o", "parts"),
    "inspect": ("inspect",),
    "report": ("report", "-o", "page.html"),
    "symbols": ("symbols",),
}
MANIFEST = b"version: 1.0\nunits:\n  - filename: pkg.unit.0\n  - filename: pkg.unit.1\n"
WRONG = b"this is neither text of a compiler nor a file of its"


def unit(kernel: str, *, with_debug: bytes = b"") -> bytes:
    """Return a program with one kernel, and without debug data of its own unless that is given."""
    code = program([KernelToWrite(kernel, code=bytes(CODE_SIZE), tokens=[environment(simd=16)])])
    return neo_elf([(DEVICE_BINARY, code), *([(DEVICE_DEBUG, with_debug)] if with_debug else [])])


def debug_of(kernel: str, source: str) -> bytes:
    elf = ElfWriter(machine=182)
    elf.add(".text", bytes(CODE_SIZE))
    elf.add(".debug_line", line_unit_4(encode(ROWS, CODE_SIZE), files=[(source, 0)]))
    return debug_data([(kernel, bytes(elf.build()), b"")])


def package(units: dict[str, bytes], manifest: bytes = MANIFEST) -> bytes:
    """Return a package of modules, as the newest driver makes one of a module of several native inputs."""
    return bytes(
        archive([member("modules.pkg.yml/", manifest), *(member(f"{name}/", part) for name, part in units.items())])
    )


GOOD = Build("good", "skl", CHAIN, parts=HeldParts(binary=binary(), sources=(Source("scale.cl", SOURCE),)))
WHOLE = Build(
    "whole",
    "skl",
    CHAIN,
    parts=HeldParts(
        log="a warning\n",
        binary=unit("first"),
        debug=debug_of("first", "scale.cl"),
        spirv=spirv(),
        sources=(Source("scale.cl", SOURCE),),
        snapshots=(snapshot("llvm-optimized", ".ll", b"define void @first() { ret void }\n", "first"),),
    ),
)
PACKAGE = Build(
    "package",
    "skl",
    CHAIN,
    parts=HeldParts(
        binary=package({"pkg.unit.0": unit("zero"), "pkg.unit.1": unit("one")}),
        debug=package({"pkg.unit.0": debug_of("zero", "zero.cl"), "pkg.unit.1": debug_of("one", "one.cl")}),
    ),
)


@pytest.fixture
def folder(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working folder, without libiga64."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kernels(kernlens: Kernlens, path: Path) -> dict[str, tuple[str | None, list[str]]]:
    """Return why each kernel has no lines, and the files of its lines."""
    done = kernlens("annotate", path, "--json")
    assert done.status == 0, done.err
    return {
        kernel["name"]: (
            kernel["line_table_reason"],
            sorted({each["path"] for each in kernel["instructions"] if each["path"]}),
        )
        for program in json.loads(done.out)["programs"]
        for kernel in program["kernels"]
    }


def test_a_unit_of_a_package_reads_its_own_debug_data(kernlens: Kernlens, folder: Path) -> None:
    path = record(folder / "x.klens", PACKAGE, GOOD)
    assert kernels(kernlens, path) == {
        "zero": (None, ["zero.cl"]),
        "one": (None, ["one.cl"]),
        "scale": (None, ["scale.cl"]),
        "plain": (kernels(kernlens, path)["plain"][0], []),
    }
    for verb, words in ASKED.items():
        assert kernlens(*words, path).status == 0, verb


@pytest.mark.parametrize("damage", ["debug", "unit", "spirv", "log", "sources", "snapshots"])
def test_a_damaged_part_is_one_kernels_reason(damage: str, kernlens: Kernlens, folder: Path) -> None:
    both = record(folder / "whole.klens", WHOLE, PACKAGE, GOOD)
    before = kernels(kernlens, both)
    changed, of_package = WHOLE, PACKAGE
    if damage == "sources":
        changed = WHOLE.with_parts(sources=(Source("scale.cl", "\0\1 nothing"),))
    elif damage == "snapshots":
        changed = WHOLE.with_parts(snapshots=(snapshot("llvm-optimized", ".ll", WRONG * 9, "first"),))
    elif damage == "unit":
        of_package = PACKAGE.with_parts(debug=package({"pkg.unit.0": WRONG, "pkg.unit.1": debug_of("one", "one.cl")}))
    else:
        changed = WHOLE.with_parts(**{damage: WRONG.decode() if damage == "log" else WRONG})
    damaged = record(folder / "damaged.klens", changed, of_package, GOOD)
    for verb, words in ASKED.items():
        done = kernlens(*words, damaged)
        assert done.status == kernlens(*words, both).status == 0, (verb, done.err)
    after = kernels(kernlens, damaged)
    struck = {"debug": "first", "unit": "zero"}.get(damage, "")
    if struck:
        assert re.match("its debug data cannot be read: .*", after[struck][0] or "")
    assert {name: answer for name, answer in after.items() if name != struck} == {
        name: answer for name, answer in before.items() if name != struck
    }


def zebin(kernel: str) -> bytes:
    writer = debug_zebin((kernel,), [], line_unit_4(encode(ROWS, CODE_SIZE), files=[("c.cl", 0)]), [])
    writer.add(
        ".ze_info", f"kernels:\n  - name: {kernel}\n    execution_env:\n      simd_size: 16\n".encode(), type=0xFF000011
    )
    return bytes(writer.build())


def fat(content: bytes) -> bytes:
    """Return a fat binary with one member."""
    return bytes(archive([member("9.0.9/", content)]))


def nested(chance: random.Random, depth: int) -> tuple[bytes, bytes]:
    """Return a binary and the debug data beside it: a program, or a package of such, with parts that cannot be read here and
    there."""
    kernel = f"k{chance.randrange(10**6)}"
    beside = chance.choice([b"", debug_of(kernel, "a.cl"), WRONG, package({"pkg.unit.0": debug_of(kernel, "a.cl")})])
    if depth == 0:
        whole = unit(kernel, with_debug=chance.choice([b"", b"", debug_of(kernel, "b.cl"), WRONG]))
        bare = program([KernelToWrite(kernel, code=bytes(CODE_SIZE), tokens=[environment(simd=16)])])
        return chance.choice([whole, whole, bare, zebin(kernel), fat(whole), fat(fat(zebin(kernel)))]), beside
    inner = {f"pkg.unit.{number}": nested(chance, chance.randrange(depth)) for number in range(chance.randint(1, 3))}
    debug = package({name: part for name, (_, part) in inner.items() if part}, chance.choice([MANIFEST, WRONG]))
    return package({name: content for name, (content, _) in inner.items()}), chance.choice([debug, debug, beside])


#: Before a release, 10,000 nestings.
@pytest.mark.parametrize("seed", range(2_500 if IS_RELEASE else 6))
def test_however_containers_are_nested_no_command_fails(seed: int, kernlens: Kernlens, folder: Path) -> None:
    chance = random.Random(seed)
    builds = []
    for number in range(4):
        content, debug = nested(chance, chance.randint(0, 3))
        parts = HeldParts(binary=content, debug=debug, spirv=chance.choice([b"", spirv(), WRONG]))
        builds.append(replace(GOOD, name=f"nested-{number}", parts=parts))
    path = record(folder / "x.klens", *builds, GOOD)
    for verb, words in ASKED.items():
        done = kernlens(*words, path)
        assert done.status == 0, (verb, done.err)
    assert kernels(kernlens, path)["scale"] == (None, ["scale.cl"])
