"""Kernels, exports and imports out of a module's native binary."""

from __future__ import annotations

import pytest

from kernlens.errors import FormatError, NotFoundError
from kernlens.runtime.level_zero.native_binary import NativeBinary
from tests.writers import patch_tokens
from tests.writers.elf import FUNC, GLOBAL, LOCAL, NOTYPE, OBJECT, ElfWriter, rela

CODE = bytes(range(48))


def zebin() -> bytes:
    elf = ElfWriter()
    text = elf.add(".text.k", CODE + bytes(16))
    functions = elf.add(".text.Intel_Symbol_Table_Void_Program", bytes(32))
    data = elf.add(".data.global", bytes(8))
    symbols = elf.add_symbols(
        [
            ("k", 0, len(CODE), LOCAL, FUNC, text),
            ("helper", 0, 32, GLOBAL, FUNC, functions),
            ("counter", 0, 4, GLOBAL, OBJECT, data),
            ("elsewhere", 0, 0, GLOBAL, NOTYPE, 0),
            ("shared", 0, 0, GLOBAL, NOTYPE, 0),
            ("__INTEL_PER_THREAD_OFF", 0, 0, GLOBAL, NOTYPE, 0),
        ]
    )
    elf.add(".rela.text.k", rela((0, 4, 2, 0)), type=4, info=text, link=symbols, entry_size=24)
    elf.add(".rela.data.global", rela((0, 5, 1, 0)), type=4, info=data, link=symbols, entry_size=24)
    return bytes(elf.build())


def patch_token_program() -> bytes:
    symbols = patch_tokens.symbol_table((2, 16, 8, "helper"), (1, 0, 0, "elsewhere"))
    kernel = patch_tokens.KernelToWrite("k", CODE, [symbols], padding=16)
    return patch_tokens.neo_elf([(0xFF000005, patch_tokens.program([kernel]))])


@pytest.mark.parametrize("binary", [zebin(), patch_token_program()], ids=["zebin", "patch-tokens"])
def test_a_native_binary_has_code_exports_and_imports(binary: bytes) -> None:
    native = NativeBinary(binary, "module")
    assert bytes(native.code("k")) == CODE
    assert bytes(native.heap("k")) == CODE + bytes(16)
    assert "helper" in native.exports
    assert native.imports[0] == "elsewhere"
    with pytest.raises(NotFoundError, match="binary of module has no kernel 'other'"):
        native.code("other")


def test_symbols_of_a_zebin() -> None:
    native = NativeBinary(zebin(), "module")
    assert native.exports == ("helper", "counter")
    assert native.imports == ("elsewhere", "shared")
    # The kernel uses `elsewhere`, the initialiser of a global variable takes the address of `shared`.
    assert native.data_imports == ("shared",)


def test_patch_tokens_hide_data_imports() -> None:
    assert NativeBinary(patch_token_program(), "module").data_imports == ()


@pytest.mark.parametrize("binary", [b"", b"garbage!" * 20])
def test_other_bytes(binary: bytes) -> None:
    with pytest.raises(FormatError):
        _ = NativeBinary(binary, "module").exports
