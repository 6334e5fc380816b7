"""Code that the installed disassemblers decode in part: every answer says so, and none counts, compares or judges it."""

from __future__ import annotations

import json
from array import array
from pathlib import Path

import pytest

from kernlens.errors import UnsupportedError
from kernlens.isa.llvm import disassemble as disassembling
from kernlens.isa.llvm.llvm_libraries import LlvmLibrary, installed_llvm, remedy
from kernlens.isa.llvm.llvm_process import Columns, Question
from kernlens.loading import load
from kernlens.model.stage_text import NoStages
from kernlens.report.explore.kernel_chunk import kernel_document
from tests.nvidia_files import triton_softmax
from tests.unit.conftest import Kernlens

pytestmark = pytest.mark.skipif(
    not any(library.major in (15, 21) for library in installed_llvm()),
    reason="no libLLVM that decodes a part (libllvm15)",
)
KERNEL = "softmax_kernel"


@pytest.fixture(autouse=True)
def only_older(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the machine with a disassembler that does not know all of gfx1100's instructions."""
    older = tuple(each for each in installed_llvm() if each.major in (15, 21))
    monkeypatch.setattr("kernlens.isa.llvm.llvm_libraries.installed_llvm", lambda: older)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "softmax.hsaco"
    path.write_bytes(triton_softmax("gfx1100.hsaco"))
    return path


def test_listings_count_them(path: Path, kernlens: Kernlens) -> None:
    instructions = load(path)[0].kernels[KERNEL].instructions
    count = len(instructions.illegal)
    assert count == sum(text.startswith(".long") for text in instructions.texts) > 0
    words = f"does not decode {count:,} of {len(instructions):,}: what follows one of them may be decoded wrongly"
    advice = "the linker was LLVM 24: kernlens toolchain add llvm-24 may decode more"
    for verb in ("disasm", "annotate"):
        done = kernlens(verb, path)
        assert done.status == 0
        assert words in done.out
        assert advice in done.out
        (program,) = json.loads(kernlens(verb, path, "--json").out)["programs"]
        (kernel,) = program["kernels"]
        assert kernel["undecoded"] == count
        assert words in kernel["code_warning"]


def test_none_is_judged(path: Path, kernlens: Kernlens) -> None:
    other = path.with_name("other.hsaco")
    content = bytearray(path.read_bytes())
    code = load(path)[0].kernels[KERNEL].code
    at = content.find(bytes(code[-8:]))
    content[at : at + 4] = b"\0\0\x80\xbf"  # s_nop
    other.write_bytes(content)
    for words in (
        ["diff", path, other],
        ["check", path, "--max-instructions", "9999"],
        ["check", path, "--baseline", other, "--tolerance", "instructions=5%"],
        ["annotate", path, "--top", "3"],
    ):
        done = kernlens(*words)
        assert (done.status, "does not decode" in done.out + done.err) == (2, True), words
    assert kernlens("diff", path, path).status == 0, "code that is equal byte for byte is equal"
    assert kernlens("check", path, "--max-vgprs", "256").status == 0, "the compiler states these"


def test_the_page_shows_no_such_code(path: Path) -> None:
    (program,) = load(path)
    document = kernel_document(program, program.kernels[KERNEL], NoStages())
    assert document["code"] is None
    assert "does not decode" in document["missing"]["code"]


def test_a_report_says_whose_code_is_missing(path: Path, kernlens: Kernlens) -> None:
    done = kernlens("report", path, "-o", path.with_suffix(".html"))
    assert done.status == 0
    assert "softmax_kernel of softmax has no machine code on the page: LLVM" in done.err


class _Decoder(LlvmLibrary):
    """A disassembler that decodes all but so many of the words."""

    def __init__(self, major: int, undecoded: int | None) -> None:
        super().__init__(f"libLLVM-{major}.so", major)
        vars(self)["facts"] = (major, 0, 0), 3
        vars(self)["undecoded"] = undecoded

    undecoded: int | None

    def disassemble(self, question: Question) -> Columns | None:
        if self.undecoded is None:
            return None
        count = len(question.code) // 4
        illegal = bytes([1] * self.undecoded + [0] * (count - self.undecoded))
        return Columns(array("I", range(0, 4 * count, 4)), b"\4" * count, illegal, ["s_nop 0"] * count, ())


@pytest.mark.parametrize(
    ("decoders", "compiler", "linker", "taken", "undecoded", "remark"),
    [
        ({21: 3, 22: 0, 23: 0}, 22, 0, 22, 0, ""),
        ({21: 0, 22: 3, 23: 0}, 22, 0, 23, 0, ""),
        (
            {15: None, 21: 0},
            22,
            0,
            21,
            0,
            "LLVM 21.0.0 is older than the compiler, LLVM 22, but decodes all of the code",
        ),
        ({21: 3}, 22, 0, 21, 3, "the compiler is LLVM 22: kernlens toolchain add llvm-22 may decode more"),
        ({22: 5, 21: 3}, 0, 24, 21, 3, "the linker was LLVM 24: kernlens toolchain add llvm-24 may decode more"),
        ({22: 5, 21: 0}, 0, 24, 21, 0, ""),
        ({24: 1}, 0, 24, 24, 1, ""),
    ],
)
def test_the_decoder_that_decodes_everything_is_taken(
    decoders: dict[int, int | None],
    compiler: int,
    linker: int,
    taken: int,
    undecoded: int,
    remark: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    libraries = tuple(_Decoder(*each) for each in decoders.items())
    monkeypatch.setattr("kernlens.isa.llvm.llvm_libraries.installed_llvm", lambda: libraries)
    read = disassembling.disassemble("amdgcn-amd-amdhsa", bytes(64), cpu="gfx1100", compiler=compiler, linker=linker)
    assert (read.disassembler, read.illegal.count(1), read.remark) == (f"LLVM {taken}.0.0", undecoded, remark)


def test_a_gpu_that_no_disassembler_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernlens.isa.llvm.llvm_libraries.installed_llvm", lambda: (_Decoder(15, None),))
    with pytest.raises(UnsupportedError, match="kernlens toolchain add llvm-22 brings one that may"):
        disassembling.disassemble("amdgcn-amd-amdhsa", bytes(64), cpu="gfx1201", compiler=22)


def test_a_remedy_is_a_decoder_that_debian_has() -> None:
    assert [remedy(major).rsplit("-", 1)[1] for major in (0, 13, 15, 22, 24, 25)] == [
        "23",
        "23",
        "15",
        "22",
        "24",
        "23",
    ]
