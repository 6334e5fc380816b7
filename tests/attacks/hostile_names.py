"""Names that a terminal would obey, in every field of a file that can hold one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from kernlens.model.build import Build, BuildToolchain, HeldParts, Source
from tests.attacks.attack import FORGED, SHOWN, Attack
from tests.nvidia_files import triton
from tests.unit.formats.test_cuda_containers import fat_entry, fatbin
from tests.unit.formats.test_offload_binary import binary as offload_binary
from tests.writers import ar, code_objects, programs
from tests.writers.elf import FUNC, GLOBAL, ElfWriter
from tests.writers.patch_tokens import KernelToWrite, environment, program
from tests.writers.poclbin import WrittenKernel, write_poclbin
from tests.writers.recordings import CHAIN, record, snapshot
from tests.writers.spirv import SpirvWriter

#: Fills the clipboard, sets a colour, clears the screen, goes back, forges a line, turns text round: one after the other.
KINDS = {
    "clipboard": "\x1b]52;c;aGk=\x07",
    "colour": "\x1b[41m",
    "short colour": "\x9b42m",
    "clears": "\x1bc\x1b[2J",
    "back": "x\x08\x08\x7f",
    "returns": "a\rb",
    "next line": "\x85",
    "forges": f"\n{FORGED}\n",
    "turns": "\u202eabc\u2066",
    "separates": "\u2028\u2029",
}
CODE = bytes(64)
_VERBS: dict[str, tuple[str, ...]] = {
    "inspect": ("inspect", "FILE"),
    "inspect-json": ("inspect", "FILE", "--json"),
    "symbols": ("symbols", "FILE"),
    "disasm": ("disasm", "FILE"),
    "annotate": ("annotate", "FILE"),
    "annotate-json": ("annotate", "FILE", "--json"),
    "annotate-csv": ("annotate", "FILE", "--format", "csv"),
    "report": ("report", "FILE", "-o", "out.html"),
    "extract": ("extract", "FILE", "-o", "out"),
    "check": ("check", "FILE", "--max-instructions", "0"),
    "diff": ("diff", "plain.bin", "FILE"),
    "stages": ("stages", "FILE"),
    "link": ("link", "FILE"),
    "advise": ("advise", "FILE"),
    "wrong-kernel": ("annotate", "FILE", "--kernel", "nothing-such"),
    "symbols-json": ("symbols", "FILE", "--json"),
    "diff-json": ("diff", "plain.bin", "FILE", "--json"),
    "stages-json": ("stages", "FILE", "--json"),
    "samples": ("annotate", "plain.bin", "--samples", "FILE"),
    "verbose": ("inspect", "FILE", "--verbose"),
    "list": ("recording", "list", "FILE"),
}
#: A carrier writes its file into a folder with these words as a name, and returns how the file is called.
Carrier = Callable[[Path, str], str]


def _bin(content: bytes, folder: Path) -> str:
    (folder / "a.bin").write_bytes(content)
    return "a.bin"


def _zebin(kernel: str = "k", *, section: str = "", symbol: str = "") -> bytes:
    writer = ElfWriter()
    code = writer.add(f".text.{kernel}", CODE, flags=6)
    writer.add_symbols([(symbol or "f", 0, 16, GLOBAL, FUNC, code)])
    if section:
        writer.add(section, b"x" * 16)
    quoted = json.dumps(kernel)
    words = f"version: '1.20'\nkernels:\n  - name: {quoted}\n    execution_env:\n      simd_size: 16\n"
    writer.add(".ze_info", words.encode(), type=0xFF000011)
    return bytes(writer.build())


def _code_object(name: str = "k", section: str = "") -> bytes:
    return code_objects.code_object(
        {name: code_objects.END},
        code_objects.metadata([code_objects.kernel(name, language=name)]),
        sections={section: b"x"} if section else None,
    )


def _spirv(name: str) -> bytes:
    """Return a module whose source file, function and strings have this name."""
    writer = SpirvWriter()
    writer.add(17, 4).add(17, 6).add(14, 2, 2).add(15, 6, 40, name).add(7, 50, name).add(3, 3, 102000, 50)
    writer.add(5, 40, name).add(19, 10).add(33, 12, 10).add(54, 10, 40, 0, 12).add(248, 60).add(8, 50, 1, 1)
    writer.add(253).add(56)
    return bytes(writer.build())


def _same_size(content: bytes, name: bytes, words: str) -> bytes:
    """Return a file in which a name became the beginning of these words, of the same size."""
    return content.replace(name, words.encode()[: len(name)].ljust(len(name), b"x"))


def _triton_json(folder: Path, words: str) -> str:
    stated = json.loads(triton(".json"))
    stated.update(name=words, triton_version=words, target={"backend": words, "arch": words, "warp_size": 32})
    for ending in ("cubin", "ttir", "ttgir", "llir", "ptx", "source"):
        (folder / f"k.{ending}").write_bytes(triton(f".{ending}"))
    (folder / "k.json").write_text(json.dumps(stated))
    return "k.cubin"


def _recorded(build: Build) -> Carrier:
    """Return a carrier whose recording holds a build like this one, with the words in place of each ``@``."""

    def carrier(folder: Path, words: str) -> str:
        def put(text: str | None) -> str:
            return (text or "").replace("@", words)

        parts = HeldParts(
            log=put(build.log),
            binary=build.binary,
            sources=tuple(Source(put(each.path), put(each.text)) for each in build.sources),
            snapshots=tuple(replace(each, kernel=put(each.kernel)) for each in build.snapshots),
        )
        chain = build.toolchain or CHAIN
        toolchain = BuildToolchain(*map(put, (chain.name, chain.neo_version, chain.igc_version)))
        written = Build(
            put(build.name), put(build.device), toolchain, ok=build.ok, reason=put(build.reason),
            options=put(build.options), command=put(build.command), parts=parts,
        )  # fmt: skip
        record(folder / "a.klens", written)
        return "a.klens"

    return carrier


def _own_name(folder: Path, words: str) -> str:
    name = f"a{words.replace('/', '')}.bin"
    (folder / name).write_bytes(programs.binary())
    return name


def _folder_name(folder: Path, words: str) -> str:
    name = f"a{words.replace('/', '')}"
    (folder / name).mkdir()
    (folder / name / "a.bin").write_bytes(programs.binary())
    return name


_SCALE = programs.binary()
_PARTS = HeldParts(binary=_SCALE)
CARRIERS: dict[str, Carrier] = {
    "kernel of a NEO ELF": lambda folder, words: _bin(programs.binary(kernel=words), folder),
    "options of a NEO ELF": lambda folder, words: _bin(programs.binary(options=words), folder),
    "source of a line table": lambda folder, words: _bin(programs.binary(f"{words}.cl"), folder),
    "kernel of patch tokens": lambda folder, words: _bin(
        program([KernelToWrite(words, code=CODE, tokens=[environment(simd=16)])]), folder
    ),
    "kernel of a zebin": lambda folder, words: _bin(_zebin(words), folder),
    "section of a zebin": lambda folder, words: _bin(_zebin(section=words), folder),
    "text section of a zebin": lambda folder, words: _bin(_zebin(section=f".text.{words}"), folder),
    "symbol of a zebin": lambda folder, words: _bin(_zebin(symbol=words), folder),
    "member of an archive": lambda folder, words: _bin(
        bytes(ar.archive([ar.member(words.replace("/", "")[:15], _SCALE)])), folder
    ),
    "kernel of AMD": lambda folder, words: _bin(_code_object(words), folder),
    "section of AMD": lambda folder, words: _bin(_code_object(section=words), folder),
    "entry of a bundle": lambda folder, words: _bin(code_objects.bundle({f"hipv4-{words}": _code_object()}), folder),
    "kernel of a cubin": lambda folder, words: _bin(_same_size(triton(".cubin"), b"matmul", words), folder),
    "kernel of a fat binary": lambda folder, words: _bin(
        fatbin(fat_entry(_same_size(triton(".cubin"), b"matmul", words))), folder
    ),
    "kernel of PoCL": lambda folder, words: _bin(
        write_poclbin([WrittenKernel(words, [(1, 1, 0, 8, words, words)], attributes=words)]), folder
    ),
    "file of PoCL": lambda folder, words: _bin(write_poclbin([WrittenKernel("k")], {f"/{words}": b"x"}), folder),
    "string of an offload binary": lambda folder, words: _bin(
        offload_binary(programs.spirv(), {"triple": words, words: words}), folder
    ),
    "names of SPIR-V": lambda folder, words: _bin(_spirv(words), folder),
    "export of SPIR-V": lambda folder, words: _bin(programs.spirv(exports=words), folder),
    "import of SPIR-V": lambda folder, words: _bin(programs.spirv(imports=words), folder),
    "fields of Triton": _triton_json,
    "build of a recording": _recorded(Build("@", "dg2", parts=_PARTS)),
    "device of a recording": _recorded(Build("a", "@", parts=_PARTS)),
    "toolchain of a recording": _recorded(Build("a", "dg2", BuildToolchain("@", "@", "@"), parts=_PARTS)),
    "log of a recording": _recorded(
        Build("a", "dg2", ok=False, reason="@", parts=HeldParts(log="a.cl:1:1: error: @\n"))
    ),
    "source of a recording": _recorded(
        Build("a", "dg2", parts=HeldParts(binary=_SCALE, sources=(Source("/src/@.cl", "kernel @"),)))
    ),
    "stage of a recording": _recorded(
        Build("a", "dg2", parts=HeldParts(binary=_SCALE, snapshots=(snapshot("asm", ".asm", b"mov", kernel="@"),)))
    ),
    "own name": _own_name,
    "name of a folder": _folder_name,
}


#: The verbs that show what a carrier holds.
_SHOWN_BY = {
    "kernel of a NEO ELF": (
        "inspect inspect-json symbols disasm annotate annotate-csv extract"
        " check diff wrong-kernel symbols-json diff-json verbose"
    ),
    "options of a NEO ELF": "inspect inspect-json symbols annotate-json symbols-json verbose",
    "source of a line table": "annotate annotate-csv check",
    "kernel of patch tokens": (
        "inspect inspect-json symbols disasm annotate annotate-csv extract"
        " check diff wrong-kernel symbols-json diff-json verbose"
    ),
    "kernel of a zebin": "inspect inspect-json symbols extract diff wrong-kernel symbols-json diff-json verbose",
    "section of a zebin": "inspect-json extract",
    "text section of a zebin": "inspect inspect-json symbols extract diff wrong-kernel symbols-json diff-json verbose",
    "symbol of a zebin": "inspect inspect-json symbols symbols-json verbose",
    "member of an archive": "inspect inspect-json disasm annotate annotate-json annotate-csv extract check verbose",
    "kernel of AMD": (
        "inspect inspect-json symbols disasm annotate annotate-csv extract"
        " check diff wrong-kernel symbols-json diff-json verbose"
    ),
    "section of AMD": "inspect-json extract",
    "entry of a bundle": "inspect inspect-json extract verbose",
    "kernel of a cubin": "inspect inspect-json report extract diff wrong-kernel diff-json verbose",
    "kernel of a fat binary": "inspect inspect-json report extract diff wrong-kernel diff-json verbose",
    "kernel of PoCL": "inspect inspect-json disasm annotate extract diff wrong-kernel diff-json verbose",
    "file of PoCL": "inspect inspect-json extract verbose",
    "string of an offload binary": "inspect inspect-json extract verbose",
    "names of SPIR-V": "inspect inspect-json symbols symbols-json verbose",
    "export of SPIR-V": "inspect inspect-json symbols symbols-json verbose",
    "import of SPIR-V": "inspect inspect-json symbols link symbols-json verbose",
    "fields of Triton": "inspect inspect-json diff stages diff-json stages-json verbose",
    "build of a recording": (
        "inspect inspect-json disasm annotate annotate-json annotate-csv extract check stages stages-json verbose list"
    ),
    "device of a recording": "list",
    "toolchain of a recording": "inspect inspect-json annotate-json check diff verbose list",
    "log of a recording": (
        "inspect inspect-json symbols disasm annotate annotate-json"
        " annotate-csv extract check diff link advise wrong-kernel symbols-json diff-json verbose"
    ),
    "source of a recording": "extract stages stages-json",
    "stage of a recording": "stages stages-json",
    "own name": (
        "inspect inspect-json symbols disasm annotate annotate-json"
        " annotate-csv extract check diff stages symbols-json diff-json stages-json samples verbose list"
    ),
    "name of a folder": "inspect symbols diff stages symbols-json diff-json stages-json samples verbose list",
}


def attacks(folder: Path, private: Mapping[str, Path]) -> Iterator[Attack]:
    """Write the attacks below a folder, and yield them: each carrier by its verbs, and each kind of characters."""
    for carrier, verbs in _SHOWN_BY.items():
        for verb in verbs.split():
            yield _attack(folder, f"{carrier} by {verb}", CARRIERS[carrier], "".join(KINDS.values()), verb)
    kernel = "kernel of a NEO ELF"
    for kind, words in KINDS.items():
        for verb in _SHOWN_BY[kernel].split():
            yield _attack(folder, f"{kind} by {verb}", CARRIERS[kernel], f"k{words}", verb)


def _attack(folder: Path, name: str, write: Carrier, words: str, verb: str) -> Attack:
    own = folder / name.replace(" ", "_")
    own.mkdir(parents=True)
    (own / "plain.bin").write_bytes(_SCALE)
    path = write(own, words)
    return Attack(f"names {name}", own, tuple(path if word == "FILE" else word for word in _VERBS[verb]), SHOWN)
