"""Failures in the cache: refusals, crashes, and time that a compiler used up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kernlens.toolchain.compile_cache import open_cache
from kernlens.toolchain.parallel_compiles import CompileJob, compile_job
from kernlens.toolchain.toolchains import toolchain
from tests.unit.conftest import Kernlens
from tests.unit.toolchain.test_compile_cache import calls, source

__all__ = ["source"]


@pytest.mark.parametrize(("waits", "is_kept"), [("while :; do :; done", True), ("sleep 60", False)])
def test_time_that_a_compiler_used_up_is_kept(
    waits: str, is_kept: bool, compiler: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that sleeps had no processor, as on a busy machine."""
    monkeypatch.setattr("kernlens.toolchain.process._BUSY", 0.1)  # The machine of this test may be busy.
    compiler.write_text(compiler.read_text().replace("exit 245", waits))
    (source.parent / "bad.cl").write_text("broken\n")
    cache = open_cache()

    def compiled(seconds: float) -> str:
        job = CompileJob(source.parent / "bad.cl", "skl", toolchain(), timeout=seconds)
        return compile_job(job, cache, job.key, lambda child: None)[0].reason or ""

    first = compiled(1.0)
    assert "did not finish within 1 s" in first
    assert ("kept from an earlier run" in compiled(0.9)) == is_kept
    assert calls(compiler) == (1 if is_kept else 2)
    assert "did not finish within 1.1 s" in compiled(1.1), "who allows more time has it tried again"


def test_a_refusal_and_a_crash_are_kept(kernlens: Kernlens, compiler: Path, source: Path) -> None:
    (source.parent / "bad.cl").write_text("broken\n")
    words = ("compile", "bad.cl", "--device", "skl")
    first = kernlens(*words)
    assert (first.status, kernlens(*words), calls(compiler)) == (3, first, 1)
    text = compiler.read_text()
    crashing = text.replace('echo "$source:1:1: error: it is broken"', "true")
    compiler.write_text(crashing.replace("exit 245", "kill -SEGV $$"))
    crashed, again = kernlens(*words), kernlens(*words)
    assert (crashed.status, again.status, calls(compiler)) == (3, 3, 2)
    assert "killed by SIGSEGV" in crashed.err
    assert "earlier run" not in crashed.err
    advice = re.search(r"killed by SIGSEGV .* \(kept from an earlier run; rm (\S+) has it tried again\)", again.err)
    assert advice is not None
    swept = kernlens("sweep", "bad.cl", "--device", "skl", "--build-options=", "--json")
    assert (calls(compiler), swept.status) == (2, 3)
    Path(advice[1]).unlink()
    assert kernlens(*words) == crashed
    assert calls(compiler) == 3
    # Another compiler is another key, and who kills a compiler says nothing of the source.
    compiler.write_text(crashing.replace("exit 245", "kill -KILL $$"))
    for count in (4, 5):
        assert "killed by SIGKILL" in kernlens(*words).err
        assert calls(compiler) == count
