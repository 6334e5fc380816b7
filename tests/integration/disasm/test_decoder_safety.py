"""The decoder on random, truncated and mutated code, in a child process: a crash of the library must fail a test, not end
the run."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from kernlens.isa.devices import device
from kernlens.isa.intel import iga_library as library
from kernlens.isa.intel.decode import decode, decode_many
from kernlens.model.compiler import UNKNOWN_COMPILER
from tests.corpus.build import Built
from tests.integration.disasm.iga64_fixtures import Code, disassemble, patch_token_codes
from tests.limits import processor_time
from tests.whole import WHOLE

# Decodes every input of a file of (length, bytes) for one device, checks what must hold of any input, and counts.
CHILD = """\
import struct, sys
from kernlens._decoder import rows
from kernlens.isa.intel.decode import decode
from kernlens.isa.devices import device

name, path = sys.argv[1:]
data = open(path, "rb").read()
at = count = instructions = illegal = 0
while at < len(data):
    (length,) = struct.unpack_from("<I", data, at)
    code = data[at + 4 : at + 4 + length]
    at += 4 + length
    found = decode(device(name), code)
    offset = 0
    for index, size in enumerate(found.sizes):
        assert found.offsets[index] == offset
        assert size == (8 if code[offset + 3] & 0x20 else 16)
        offset += size
    assert offset + found.trailing == length and found.trailing < 16
    assert len(found.texts) == len(found)
    columns = (("offsets", found.offsets), ("stripped", found.texts), ("quoted", found.texts), ("numbers", found.sizes))
    assert len(rows(0, len(found), columns)) == len(found)
    for one in found:
        assert one.text.strip(), one
        assert not one.illegal or "illegal" in one.text, one.text
        illegal += one.illegal
    count += 1
    instructions += len(found)
print(count, instructions, illegal)
"""


@pytest.fixture(scope="session")
def codes(corpus_sample: list[Built]) -> list[Code]:
    return patch_token_codes(corpus_sample)


def mutated(code: bytes, chance: random.Random) -> bytes:
    changed = bytearray(code[: chance.randrange(1, 2048)])
    for _ in range(chance.randrange(1, 20)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def inputs(code: bytes, chance: random.Random, count: int) -> list[bytes]:
    """A third random bytes, a third cut short, a third with bits flipped; and every short length."""
    contents = [code[:length] for length in range(40)]
    for index in range(count):
        match index % 3:
            case 0:
                contents.append(chance.randbytes(chance.randrange(1, 400)))
            case 1:
                contents.append(code[: chance.randrange(len(code))][-1024:])
            case _:
                contents.append(mutated(code, chance))
    return contents


def decode_in_child(name: str, contents: list[bytes], folder: Path) -> tuple[int, int, int]:
    file = folder / "inputs"
    file.write_bytes(b"".join(len(stage_map).to_bytes(4, "little") + stage_map for stage_map in contents))
    done = subprocess.run(
        [sys.executable, "-c", CHILD, name, str(file)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"seeded inputs for {name}: exit {done.returncode}\n{done.stderr}"
    count, instructions, illegal = map(int, done.stdout.split())
    return count, instructions, illegal


@pytest.mark.parametrize("name", ["bdw", "skl", "icllp", "tgllp", "xe-hp-sdv", "dg2", "pvc"])
def test_any_bytes_decode_to_something(name: str, codes: list[Code], tmp_path: Path) -> None:
    chance = random.Random(f"decoder {name}")
    code = max((code.code for code in codes if code.device in (name, "dg2")), key=len)
    contents = inputs(code, chance, 600 if WHOLE else 200)
    count, instructions, illegal = decode_in_child(name, contents, tmp_path)
    assert count == len(contents)
    assert instructions > 1000
    assert illegal > 100


@pytest.mark.parametrize("name", ["skl", "dg2", "bmg", "ptl", "cri"])
def test_any_bytes_with_the_newest_library(
    name: str, newest_root: Path, codes: list[Code], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(library.PATH_VARIABLE, str(newest_root))
    code = max((code.code for code in codes if code.device == "dg2"), key=len)
    contents = inputs(code, random.Random(f"newest {name}"), 600 if WHOLE else 200)
    count, _, illegal = decode_in_child(name, contents, tmp_path)
    assert count == len(contents)
    assert illegal > 100


def test_a_bad_instruction_spoils_no_other(codes: list[Code], tmp_path: Path) -> None:
    """Bits of one instruction are broken: all others read as before, and the broken one as iga64 prints it."""
    code = next(code for code in codes if code.device == "dg2")
    before = decode(device("dg2"), code.code)
    plain = [index for index in range(len(before)) if before.sizes[index] == 16 and not before[index].targets]
    for index in plain[:40]:
        broken = bytearray(code.code)
        broken[before.offsets[index]] = 0x7F  # an opcode that no device has; the compaction bit stays
        after = decode(device("dg2"), bytes(broken))
        assert after[index].illegal
        assert after.opcodes[index] == "illegal"
        assert "illegal" in after.texts[index]
        assert after.offsets == before.offsets
        assert after.texts[:index] == before.texts[:index]
        assert after.texts[index + 1 :] == before.texts[index + 1 :]


def test_a_bad_instruction_reads_as_iga64_prints_it(codes: list[Code], tmp_path: Path) -> None:
    code = next(code for code in codes if code.device == "dg2")
    broken = bytearray(code.code[:64])
    broken[0] = 0x7F
    command = [
        "sh",
        "-c",
        'iga64 --output-on-fail "$@" || true',
        "iga64",
    ]  # it fails for the bad instruction, yet prints
    listing = disassemble(Code("broken", "dg2", bytes(broken)), tmp_path, command)
    instructions = decode(device("dg2"), bytes(broken))
    assert instructions[0].illegal
    assert instructions.texts == listing.texts


def test_a_large_input_is_decoded_in_time_and_memory() -> None:
    """A quarter of a million instructions, all distinct: linear time."""
    size = 4 << 20
    code = random.Random(5).randbytes(size)
    with processor_time(20):
        instructions = decode(device("skl"), code)
    assert len(instructions) > size // 16
    assert len(instructions.records) == 72 * len(instructions)


def test_texts_that_are_made_with_the_records_are_those_made_later() -> None:
    code = random.Random(6).randbytes(1 << 15)
    (together,) = decode_many([(device("skl"), code, UNKNOWN_COMPILER)], texts=True)
    later = decode(device("skl"), code)
    assert together.records == later.records
    assert together.texts == later.texts
    assert 100 < sum("illegal" in text for text in together.texts) < len(later) - 100


def test_nothing_and_tails() -> None:
    for length in range(8):
        instructions = decode(device("skl"), bytes(length))
        assert (len(instructions), instructions.trailing, instructions.texts) == (0, length, [])
    assert decode(device("skl"), bytes(15)).trailing == 15
    compacted = bytes([1, 0, 0, 0x20, 0, 0, 0, 0])
    assert [len(decode(device("skl"), compacted + bytes(tail))) for tail in (0, 7, 15, 16)] == [1, 1, 1, 2]
