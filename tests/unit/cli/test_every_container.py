"""Every kind of container by every verb that reads a file: an answer, or one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kernlens.loading.identify import identify
from kernlens.model.containers import CONTAINERS, ContainerKind, Holds
from tests.nvidia_files import PLAIN_ENTRY, opencl, triton
from tests.tree import ROOT
from tests.unit.conftest import Kernlens
from tests.unit.formats.test_cuda_containers import fat_entry, fatbin
from tests.unit.formats.test_offload_binary import binary as offload_binary
from tests.writers import ar, code_objects, programs
from tests.writers.elf import ElfWriter
from tests.writers.patch_tokens import KernelToWrite, debug_data, environment, program
from tests.writers.poclbin import WrittenKernel, write_poclbin
from tests.writers.recordings import holding, record

CODE = bytes(64)


def _recording() -> bytes:
    path = Path("sample.klens")
    record(path, holding("scale", programs.binary()))
    return path.read_bytes()


def _elf(machine: int, kind: int = 1, name: str = ".text.scale") -> bytes:
    writer = ElfWriter(machine=machine, type=kind)
    writer.add(name, CODE, flags=6)
    return bytes(writer.build())


def _code_object() -> bytes:
    return code_objects.code_object({"scale": CODE}, code_objects.metadata([code_objects.kernel("scale")]))


#: A file of each kind.
SAMPLES: dict[str, Callable[[], bytes]] = {
    "zebin": lambda: _elf(205),
    "zebin-debug": lambda: _elf(205, 2),
    "patch-tokens": lambda: program([KernelToWrite("scale", code=CODE, tokens=[environment(simd=16)])]),
    "debug-data": lambda: debug_data([("scale", _elf(182, name=".text"), b"")]),
    "kernel-debug-elf": lambda: _elf(182, name=".text"),
    "neo-elf": programs.binary,
    "ar": lambda: bytes(ar.archive([ar.member("skl", programs.binary())])),
    "host-elf": lambda: _elf(62),
    "clang-bundle": lambda: code_objects.bundle({"hipv4-amdgcn-amd-amdhsa--gfx1030": _code_object()}),
    "offload-binary": lambda: offload_binary(programs.spirv(), {"triple": "spirv64"}),
    "amd-code-object": _code_object,
    "cubin": lambda: triton(".cubin"),
    "ptx": lambda: triton(".ptx"),
    "fatbin": lambda: fatbin(fat_entry(triton(".cubin"))),
    "compute-cache": lambda: opencl(PLAIN_ENTRY),
    "poclbin": lambda: write_poclbin([WrittenKernel("scale")]),
    "spirv": lambda: programs.spirv("helper"),
    "llvm-bitcode": lambda: b"BC\xc0\xde" + bytes(60),
    "recording": _recording,
}
#: Known by no first bytes, or only within another.
_NO_FILES = {"raw", "unknown"}
VERBS = {
    "inspect": (), "symbols": (), "disasm": (), "annotate": (), "advise": (), "link": (), "report": ("-o", "page.html"),
    "extract": ("-o", "parts"), "check": ("--max-spill-bytes", "0"), "stages": (),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CONTAINERS.keys() - _NO_FILES))
def test_every_verb_answers_for_every_kind(
    name: str, kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    content = SAMPLES[name]()
    Path("sample").write_bytes(content)
    assert identify(memoryview(content)) == name
    for verb, words in VERBS.items():
        done = kernlens(verb, "sample", *words)
        assert done.status in (0, 1, 2, 3), f"{verb}: {done.err}"
        assert "Traceback" not in done.err, f"{verb}: {done.err}"
        assert "fault of kernlens" not in done.err, f"{verb}: {done.err}"
        is_written = bool(words) and Path(words[-1]).exists()
        assert done.out or done.err or is_written, f"{verb} says nothing of a {name}"
    inspected = kernlens("inspect", "sample")
    if CONTAINERS[name].holds in (Holds.PROGRAM, Holds.PARTS, Holds.RECORDING):
        assert inspected.status in (0, 3), inspected.err
        assert CONTAINERS[name].title in inspected.out or name == "recording"


@pytest.mark.parametrize("kind", CONTAINERS.values(), ids=CONTAINERS)
def test_an_entry_is_whole(kind: ContainerKind) -> None:
    from kernlens.loading import unpack

    assert all((kind.title, kind.sentence, kind.suffix.startswith(".")))
    assert kind.name in SAMPLES.keys() | _NO_FILES, f"add a file of the kind {kind.name} to SAMPLES"
    for holds, readers in ((Holds.PROGRAM, set(unpack._PROGRAMS)), (Holds.PARTS, set(unpack._PARTS))):
        is_read = kind.holds is holds and kind.name not in _NO_FILES
        assert (kind.name in readers) == is_read, f"{kind.name} needs a reader in loading/unpack.py"


def test_the_page_lists_every_kind() -> None:
    page = (ROOT / "docs/formats/containers.md").read_text("utf-8")
    rows = [f"|`{kind.name}`|{kind.title}|`{kind.suffix}`|{kind.sentence}|" for kind in CONTAINERS.values()]
    assert [line for line in page.splitlines() if line.startswith("|`")] == rows


def test_no_magic_hides_another() -> None:
    magic = [each for kind in CONTAINERS.values() for each in kind.magic]
    assert not [(each, other) for each in magic for other in magic if each is not other and other.startswith(each)]
    machines = [(machine, kind.elf_type) for kind in CONTAINERS.values() for machine in kind.machines]
    assert len(set(machines)) == len(machines)
