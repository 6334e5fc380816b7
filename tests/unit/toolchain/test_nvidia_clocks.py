"""What is said of the clock of an NVIDIA GPU: from what a program prints that stands for nvidia-smi."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlens.toolchain.nvidia_clocks import clock_words


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("Other, 1, 2, 0x0\nNVIDIA H100, 1980, 1980, 0x0000000000000000", "1980 of 1980 MHz, and nothing lowered it"),
        (
            "NVIDIA H100, 1200, 1980, 0x0000000000000024",
            "1200 of 1980 MHz, lowered by a limit of power and its temperature",
        ),
        ("NVIDIA H100, 345, 1980, 0x0000000000000001", "345 of 1980 MHz, and nothing lowered it"),
        ("NVIDIA H100, 345, 1980, [N/A]", "345 of 1980 MHz, and nvidia-smi does not say whether it was lowered"),
        ("No devices were found", None),
    ],
)
def test_the_clock_in_words(printed: str, words: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert clock_words("NVIDIA CUDA", "NVIDIA H100") == (words and f"after the runs the GPU's clock is {words}")


def test_without_the_program_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert clock_words("NVIDIA CUDA", "NVIDIA H100") is None


def test_of_another_platform_nothing_is_said() -> None:
    assert clock_words("Portable Computing Language", "NVIDIA H100") is None
