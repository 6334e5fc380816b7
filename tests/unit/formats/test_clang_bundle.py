"""Offload bundles of clang: plain, packed, several in a section, damaged."""

from __future__ import annotations

import struct
import zlib

import pytest
import zstandard

from kernlens.errors import FormatError, TooManyError
from kernlens.formats.clang_bundle import is_bundle, read_bundles
from kernlens.model.allowance import Allowance
from tests.limits import memory
from tests.writers.code_objects import MAGIC, bundle, packed_bundle

IMAGES = {
    "host-x86_64-unknown-linux-gnu--": b"",
    "hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-": b"first",
    "hip-amdgcn-amd-amdhsa--gfx1030": b"second image",
}
PLAIN = bundle(IMAGES)


def test_images_of_a_bundle_have_kinds_and_targets() -> None:
    (read,) = read_bundles(memoryview(PLAIN))
    assert is_bundle(memoryview(PLAIN))
    assert read.unpacked is None
    assert [(image.kind, image.target, bytes(image.data)) for image in read.images] == [
        ("hipv4", "gfx90a:sramecc+:xnack-", b"first"),
        ("hip", "gfx1030", b"second image"),
    ]
    for image in read.images:
        assert PLAIN[image.offset : image.offset + len(image.data)] == image.data


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, 1])
def test_packed_bundles_are_unpacked(version: int, method: int) -> None:
    stored = zstandard.compress(PLAIN) if method else zlib.compress(PLAIN)
    data = packed_bundle(PLAIN, stored, version=version, method=method)
    (read,) = read_bundles(memoryview(data + bytes(5000)))
    assert [bytes(image.data) for image in read.images] == [b"first", b"second image"]
    assert bytes(read.stored) == data
    assert bytes(read.unpacked or b"") == PLAIN


def test_several_in_a_section() -> None:
    first_bundle, other = bundle({"hip-amdgcn-amd-amdhsa--gfx900": b"x" * 5000}), bundle(IMAGES)
    data = first_bundle + bytes(-len(first_bundle) % 4096) + bytes(4096) + other + bytes(100)
    first, second = read_bundles(memoryview(data))
    assert (first.offset, len(first.images), len(second.images)) == (0, 1, 2)
    assert data[second.offset :].startswith(MAGIC)
    assert bytes(second.images[0].data) == b"first" == data[second.images[0].offset :][:5]


@pytest.mark.parametrize("end", [*range(4, 8), 24, 30, 40, 100, len(PLAIN) - 1])
def test_a_bundle_that_is_cut_is_refused(end: int) -> None:
    with pytest.raises(FormatError):
        read_bundles(memoryview(PLAIN[:end]))


def test_what_is_not_a_bundle() -> None:
    with pytest.raises(FormatError, match="no offload bundle"):
        read_bundles(memoryview(b"something else"))
    with pytest.raises(FormatError, match="neither padding nor a bundle"):
        read_bundles(memoryview(PLAIN + b"something else"))
    with pytest.raises(FormatError, match="what is packed is no offload bundle"):
        read_bundles(memoryview(packed_bundle(b"other", zlib.compress(b"other"))))


def test_images_that_overlap() -> None:
    shared = MAGIC + struct.pack("<Q", 100) + b"".join(struct.pack("<QQQ", 0, 2000, 0) for _ in range(100))
    with pytest.raises(FormatError, match="overlap"):
        read_bundles(memoryview(shared))


HUGE = packed_bundle(b"", b"", version=1)[:8] + b"\xff" * 4 + bytes(50)
BOMB = packed_bundle(b"small", zstandard.compress(bytes(64 << 20)), method=1)
LESS = packed_bundle(b"small" * 9, zlib.compress(b"less"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (MAGIC + struct.pack("<Q", 1 << 60) + bytes(100), "entries"),
        (HUGE, "would unpack"),
        (BOMB, "claims to contain"),
        (LESS, "unpacks to 4 bytes"),
    ],
)
def test_counts_and_sizes_are_held_against_the_bytes(data: bytes, message: str) -> None:
    with memory(4 << 20), pytest.raises(FormatError, match=message):
        read_bundles(memoryview(data))


def test_too_many_images() -> None:
    many = MAGIC + struct.pack("<Q", 100_000) + bytes(24 * 100_000)
    with pytest.raises(TooManyError):
        read_bundles(memoryview(many), Allowance(1000))


@pytest.mark.parametrize(
    ("head", "message"),
    [(struct.pack("<4sHH", b"CCOB", 9, 0), "version 9"), (struct.pack("<4sHHII8x", b"CCOB", 2, 7, 24, 5), "method 7")],
)
def test_unknown_forms(head: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_bundles(memoryview(head))
