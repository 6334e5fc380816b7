"""The layer's locks: all in one file, which a fork takes; and nothing that takes a lock of the dynamic loader by itself."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import kernlens
from tests.tree import ROOT

NATIVE = ROOT / "native"
LAYERS = ("libkernlens_opencl_layer.so", "libkernlens_level_zero_layer.so")

LOCKS = re.compile(
    r"\bpthread_(?:mutex|rwlock|spin|cond|barrier|once|atfork|key)\w*|\bPTHREAD_\w+_INITIALIZER|\b(?:mtx|cnd|call_once)_?\w*\("
)
#: Each takes a lock of the dynamic loader.
QUESTIONS = re.compile(r"\b(?:dl_iterate_phdr|dladdr1?|dlopen|dlmopen|dlsym|dlvsym|dlclose|dlerror|dlinfo)\s*\(")
#: Each changes what other threads may read just now, and what the application's children inherit.
ENVIRONMENT = re.compile(r"\b(?:putenv|setenv|unsetenv|clearenv)\s*\(|\benviron\s*(?:\[[^]]*\])?\s*=[^=]")
#: Each is the application's own.
SIGNALS = re.compile(r"\b(?:signal|sigaction|sigset|siginterrupt|sigignore)\s*\(")

#: Processes of their own, with one thread, and what is part of Python's process.
NOT_OF_A_LAYER = (
    NATIVE / "assembler",
    NATIVE / "opencl_layer" / "second_build" / "program.c",
    NATIVE / "demangler",
    NATIVE / "observer",
    NATIVE / "disassembler",
    NATIVE / "decoder",
)


def sources() -> Iterator[Path]:
    """What is part of the layer's library."""
    for path in sorted(NATIVE.rglob("*.[ch]")):
        if not any(path.is_relative_to(folder) for folder in NOT_OF_A_LAYER):
            yield path


def uses(pattern: re.Pattern[str]) -> dict[str, list[str]]:
    by_function = {}
    for path in sources():
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text("utf-8"), flags=re.DOTALL)
        if names := pattern.findall(code):
            by_function[path.relative_to(NATIVE).as_posix()] = names
    return by_function


def test_locks_are_where_forks_look_after_them() -> None:
    assert list(uses(LOCKS)) == ["base/locks.c"]


def test_the_dynamic_loader_is_asked_with_a_lock_held() -> None:
    assert list(uses(QUESTIONS)) == ["base/loader.c"]


def test_a_fork_takes_every_lock() -> None:
    text = (NATIVE / "base" / "locks.c").read_text("utf-8")
    assert len(re.findall(r"lock(?: = 0; lock < LOCKS; \+\+lock| = LOCKS; lock-- > 0;)", text)) == 3


def test_the_environment_stays_the_applications() -> None:
    assert not uses(ENVIRONMENT)


def test_signals_stay_the_applications() -> None:
    assert not uses(SIGNALS)


@pytest.mark.parametrize("layer", LAYERS)
def test_the_library_takes_no_lock_of_the_loader_by_itself(layer: str) -> None:
    """Not for a function that is called for the first time, and not for a thread's first use of a variable of its own."""
    path = Path(kernlens.__file__).parent / "native" / layer
    if not path.exists():
        pytest.skip("the layer is not built here")
    told = subprocess.run(["readelf", "-d", "-r", "-W", path], capture_output=True, text=True, check=True).stdout
    assert "BIND_NOW" in told
    assert not re.search("DTPMOD|DTPOFF|TLSDESC", told)
