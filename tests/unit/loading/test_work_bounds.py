"""Small inputs that would cost much to read: each is refused, or read, in time and memory that its size pays for."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from kernlens.errors import FormatError, KernlensError, TooManyError
from kernlens.formats.amdgpu.code_object import read_code_object
from kernlens.formats.budget_file import read_budget_file
from kernlens.formats.clang_bundle import read_bundles
from kernlens.formats.cubin.cubin_file import read_cubin
from kernlens.formats.ptx.ptx_text import read_ptx, read_ptx_lines
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from kernlens.model.allowance import CODE_RATIO, FREE_CODE, FREE_STATEMENTS, STATEMENTS_PER_BYTE, Allowance
from kernlens.verbs.sources import git_repository
from kernlens.verbs.sources.git_repository import Commit, Repository
from tests.limits import memory, processor_time
from tests.nvidia_files import inlined, opencl, triton
from tests.unit.formats.test_cuda_containers import fat_entry, fatbin
from tests.writers import code_objects, repositories
from tests.writers.elf import ElfWriter

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
BODY = '.file 1 "a.cu"\n.visible .entry k() {\n'
SIZE = 10_000_000


def test_code_that_many_kernels_share_is_counted_for_each() -> None:
    allowance = Allowance(1000)
    allowance.count_code(FREE_CODE, 1000, format="elf")
    allowance.count_code(CODE_RATIO * 1000, 1000, format="elf")
    with pytest.raises(TooManyError, match="the kernels share code: together they have 4,198,305 bytes"):
        allowance.count_code(1, 1000, format="elf")
    names = [f"k{number}" for number in range(200)]
    stated = code_objects.metadata([code_objects.kernel(name, vgpr_count=1) for name in names])
    code = dict.fromkeys(names, code_objects.END)
    # Each symbol reaches over the code of all the others.
    whole = code_objects.code_object(
        code | {"last": code_objects.NOP * 10_000}, stated, sizes=dict.fromkeys(names, 40_000)
    )
    with processor_time(5.0), pytest.raises(TooManyError, match="the kernels share code"):
        open_bytes(memoryview(whole), "x.hsaco", Context())


def test_labels_cost_what_passing_them_over_costs() -> None:
    """thrust in cupy-rocm-5-0 has 125 for each kernel, more than entries of the allowance."""
    stated = code_objects.metadata([code_objects.kernel("add", vgpr_count=1)])
    code = {"add": code_objects.NOP * 400_000 + code_objects.END}
    content = memoryview(code_objects.code_object(code, stated, labels=300_000))
    with processor_time(3.0), memory(100 << 20):
        (program,) = open_bytes(content, "x.hsaco", Context()).programs
        assert [symbol.name for symbol in program.symbols] == ["add", "add.kd"]
    with pytest.raises(TooManyError, match="symbols are too many"):
        read_code_object(content).elf.symbols()


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        (BODY, "ret;\n"), (BODY, ";"), ("", "{"), (BODY, ".loc 1 1 1\n"), ("", ".func f(){ret;}\n"), (BODY, "call f;\n"),
        ("", '"'), ("", "/**/"), ("", "\n"), (BODY, "//\n"), (BODY, "$a:"), (BODY, ".reg .b32 %r<9>;\n"),
    ],
)  # fmt: skip
def test_texts_of_nothing_but_statements(head: str, unit: str) -> None:
    text = HEAD + head + unit * (SIZE // len(unit))
    with processor_time(2.0), pytest.raises(TooManyError, match="statements are too many for a text of 10,000,"):
        _ = read_ptx(memoryview(text.encode())).functions
    with processor_time(2.0), pytest.raises(TooManyError):
        read_ptx_lines(text)


def test_real_texts_have_fewer_statements() -> None:
    allowance = Allowance(0)
    for text in (triton(".ptx"), opencl("program.ptx"), inlined(".ptx")):
        assert read_ptx(memoryview(text), allowance).functions
    assert allowance._statements < (len(triton(".ptx")) + len(opencl("program.ptx")) + len(inlined(".ptx"))) / 8


def test_calls_that_were_inlined_into_one_another() -> None:
    lines = [f".loc 1 {line + 1} 1, function_name $f, inlined_at 1 {line} 1\nret;\n" for line in range(1, 140_000)]
    text = HEAD + BODY + "".join(lines) + "}\n"
    with memory(200 << 20), pytest.raises(TooManyError, match="more than 1,048,576 inlined calls"):
        read_ptx_lines(text)


def test_a_text_that_is_packed_to_nothing() -> None:
    import zstandard

    text = (HEAD + BODY + "ret;\n" * 1_000_000 + "}\n").encode()
    packed = zstandard.compress(text, 19)
    content = fatbin(fat_entry(packed, kind=1, flags=0x8000, packed=len(packed), unpacked=len(text)))
    assert len(content) < 3000
    (program,) = open_bytes(memoryview(content), "x.fatbin", Context()).programs
    with processor_time(2.0), pytest.raises(TooManyError, match="statements are too many"):
        _ = program.symbols
    most = FREE_STATEMENTS + int(STATEMENTS_PER_BYTE * 100)
    Allowance(100).count_statements(most, 1 << 30, format="ptx")
    with pytest.raises(TooManyError):
        Allowance(100).count_statements(most + 1, 1 << 30, format="ptx")


def test_attributes_of_four_bytes() -> None:
    writer = ElfWriter(machine=190, flags=90)
    writer.add(".text.k", bytes(16), flags=6)
    writer.add(".nv.info.k", struct.pack("<BBH", 3, 0x4C, 1) * (SIZE // 4))
    read = read_cubin(memoryview(bytes(writer.build())))
    with processor_time(3.0), pytest.raises(TooManyError, match="one more attribute"):
        read.resources(read.kernels[0])
    own = read_cubin(memoryview(triton(".cubin")))
    assert own.resources(own.kernels[0]).registers
    assert own._attributes(f".nv.info.{own.kernels[0].name}") is own._attributes(f".nv.info.{own.kernels[0].name}")


def test_packed_bundles_in_a_row() -> None:
    """zlib copies what lies behind its end, which are all other bundles: they took the square of their number."""
    plain = code_objects.bundle({"host-x86_64": b"x"}, align=1)
    small = code_objects.packed_bundle(plain, zlib.compress(plain), version=1)
    behind = code_objects.packed_bundle(plain, zlib.compress(plain), version=1, method=0)
    row = small * 9_000 + behind + bytes(12 << 20)
    with processor_time(5.0):
        assert len(read_bundles(memoryview(row))) == 9_001
    image = bytes(range(256)) * 1000
    large = code_objects.bundle({"host-x86_64": image}, align=1)
    packed = code_objects.packed_bundle(large, zlib.compress(large, 0), version=1)
    (first, second) = read_bundles(memoryview(packed + small))
    assert first.images[0].data == image
    assert bytes(second.images[0].data) == b"x"


def test_patterns_of_a_project_file() -> None:
    """fnmatch takes the square of the length of what follows such a bracket."""
    for table in ("kernel", "source"):
        text = f'[{table}."{"[a-" * 8000}"]\n'.encode()
        with processor_time(1.0), pytest.raises(FormatError, match="a pattern has 24,000 characters, at most 1,000"):
            read_budget_file(text, "kernlens.toml")
    assert read_budget_file(f'[source."{"[a-" * 300}"]\n'.encode(), "kernlens.toml").sources


def test_a_revision_of_countless_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten trees of ten, ten times: git listed them for five minutes."""
    written = repositories.Repository(tmp_path / "repository")
    written.commit("First", {"a.cl": "x"})
    tree = repositories.git(written.folder, "rev-parse", "HEAD^{tree}").strip()
    for _ in range(10):
        listed = "".join(f"040000 tree {tree}\tt{number}\n" for number in range(10))
        (written.folder / "listed").write_text(listed)
        tree = repositories.git(written.folder, "-c", "alias.made=!git mktree < listed", "made").strip()
    monkeypatch.setattr(git_repository, "_LIST_LIMIT", 1 << 20)
    number = repositories.git(written.folder, "commit-tree", tree, "-m", "x").strip()
    with (
        processor_time(5.0),
        Repository(str(written.folder)) as repository,
        pytest.raises(KernlensError, match="more than 1 MB of file names"),
    ):
        repository.entries(Commit(number, "x"))


def test_ptx_of_blank_lines() -> None:
    """Each blank line began a piece, and looked for its first character again: 252 KB took 488 s."""
    text = HEAD + "\n" * 190_000 + BODY + "ret;\n}\n"
    with processor_time(3.0):
        assert len(read_ptx(memoryview(text.encode())).functions) == 1
