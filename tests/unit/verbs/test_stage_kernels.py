"""The programs whose stages name a kernel, as it was asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kernlens.errors import AmbiguousKernelError
from kernlens.verbs.stages import those_with_kernel


def pipeline(*kernels: str) -> Any:
    return SimpleNamespace(snapshots=[SimpleNamespace(kernel=kernel) for kernel in ("", *kernels)])


def test_a_name_or_a_pattern_of_one_kernel() -> None:
    first, second = pipeline("blur", "tone"), pipeline("blur_all")
    assert those_with_kernel([first, second], "tone") == ([first], "tone")
    assert those_with_kernel([first, second], "blur_*") == ([second], "blur_all")
    assert those_with_kernel([first, second], "absent") == ([first, second], "absent")
    assert those_with_kernel([first, second], None) == ([first, second], None)


def test_a_pattern_of_several_kernels() -> None:
    with pytest.raises(AmbiguousKernelError, match="blur") as refused:
        those_with_kernel([pipeline("blur", "tone"), pipeline("blur_all")], "blur*")
    assert "blur_all" in str(refused.value)
