"""What one input may cost: bytes unpacked and entries, in one account for all its readers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kernlens.errors import FormatError, TooManyError
from kernlens.formats.elf.elf_file import read_elf
from kernlens.formats.patch_tokens.program_binary import read_patch_tokens
from kernlens.formats.spirv.spirv_module import read_spirv
from kernlens.loading.context import Context
from kernlens.loading.open import open_bytes
from kernlens.model.allowance import BYTES_PER_ENTRY, FREE, FREE_ENTRIES, PROGRAM_WEIGHT, Allowance
from tests.limits import processor_time
from tests.writers import dense_files, patch_tokens, spirv
from tests.writers.ar import archive, member


def test_entries_are_free_up_to_a_number_and_then_go_with_the_size() -> None:
    Allowance(0).count(FREE_ENTRIES, "symbols", format="elf")
    Allowance(1000 * BYTES_PER_ENTRY).count(FREE_ENTRIES + 1000, "symbols", format="elf")
    with pytest.raises(
        TooManyError,
        match=r"elf, section \.symtab: another 51,001 symbols are too many for an input of 128,000 bytes",
    ):
        Allowance(1000 * BYTES_PER_ENTRY).count(FREE_ENTRIES + 1001, "symbols", format="elf", section=".symtab")


def test_all_readers_share_the_account() -> None:
    allowance = Allowance(0)
    allowance.count(FREE_ENTRIES - PROGRAM_WEIGHT, "symbols", format="elf")
    allowance.count(1, "program", format="spirv", weight=PROGRAM_WEIGHT)
    with pytest.raises(TooManyError, match="one more program"):
        allowance.count(1, "program", format="spirv", weight=PROGRAM_WEIGHT)


def test_what_is_unpacked_may_hold_entries() -> None:
    allowance = Allowance(0)
    allowance.unpack(FREE, format="recording")
    allowance.count(FREE_ENTRIES + FREE // BYTES_PER_ENTRY, "symbols", format="elf")
    with pytest.raises(TooManyError):
        allowance.count(1, "symbols", format="elf")
    with pytest.raises(FormatError, match="would unpack to"):
        allowance.unpack(1, format="recording")


def test_a_table_of_too_many_symbols_is_refused_before_it_is_read() -> None:
    elf = read_elf(memoryview(dense_files.million_symbols(100_000)))
    with pytest.raises(TooManyError, match="100,001 symbols"), processor_time(0.5):
        elf.symbols()


@pytest.mark.slow
def test_a_module_of_too_many_exports_is_refused() -> None:
    with pytest.raises(TooManyError, match="60,000 kernels, exports and imports"):
        read_spirv(memoryview(dense_files.dense_spirv(60_000)), Allowance(0))


def test_an_archive_of_too_many_programs_is_refused_as_a_whole() -> None:
    """To leave out the rest would look as if there were no more."""
    count = FREE_ENTRIES // PROGRAM_WEIGHT * 2
    content = archive([member("m", bytes(spirv.module()))] * count)
    with pytest.raises(TooManyError, match="one more program"):
        open_bytes(content, "x.a", Context())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: dense_files.dense_patch_token_kernels(30_000), "another 30,000 kernels are too many"),
        (lambda: dense_files.dense_debug_kernels(30_000), "another 30,000 kernels are too many"),
        (lambda: dense_files.dense_images(30_000), "one more device image"),
        (lambda: dense_files.dense_unreadable_images(30_000), "one more device image"),
        (lambda: dense_files.dense_frames(30_000), "one more device image"),
        (lambda: bytes(archive([member("m", b"x")] * 30_000)), "another 30,000 members are too many"),
    ],
)
def test_what_is_nothing_but_kernels_images_or_members_is_refused(content: Callable[[], bytes], sentence: str) -> None:
    with pytest.raises(TooManyError, match=sentence):
        open_bytes(memoryview(content()), "x", Context())


def test_kernels_that_a_header_promises_and_the_file_cannot_hold_are_a_damage() -> None:
    content = patch_tokens.program([patch_tokens.KernelToWrite("k")])
    promised = content[:16] + b"\xff\xff\xff\xff" + content[20:]
    with pytest.raises(FormatError, match="header 2 of 4294967295 kernels is cut off"):
        read_patch_tokens(memoryview(promised))


def test_containers_nested_too_deep_are_refused() -> None:
    content = bytes(spirv.module())
    for _ in range(12):
        content = bytes(archive([member("inner", content)]))
    contents = open_bytes(memoryview(content), "x.a", Context())
    assert not contents.programs
    container = contents.containers[0]
    while container.children:
        (container,) = container.children
    assert container.unreadable is not None
    assert "nested more than 8 deep" in container.unreadable
