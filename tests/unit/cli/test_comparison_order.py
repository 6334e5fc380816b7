"""``diff --sort``: kernels by a figure, which any name names, as for ``inspect --sort`` and ``sweep --sort``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.analysis.test_comparison import with_code
from tests.unit.conftest import Kernlens
from tests.writers.programs import decoded


def test_the_figure_to_sort_by(kernlens: Kernlens, tmp_path: Path, file: Path) -> None:
    """Three kernels grow and shrink; where nothing else is asked, instructions count."""
    for side, sizes in (("old", (48, 48, 480)), ("new", (96, 480, 48))):
        (tmp_path / side).mkdir()
        for name, size in zip("abc", sizes, strict=True):
            (tmp_path / side / f"{name}.bin").write_bytes(
                with_code(size, simd=8 if name == "a" and side == "new" else 16)
            )
    words = ("diff", tmp_path / "old", tmp_path / "new", "--json")
    figures = [((), "abc"), (("--sort", "simd"), "abc"), (("--sort", "Code bytes"), "bac")]
    for sort, order in [*figures, (("--sort", "code_size"), "bac"), (("--sort", "code-size"), "bac")]:
        document = kernlens(*words, *sort).document
        assert "".join(kernel["new"]["program"] for kernel in document["kernels"]) == order


def test_a_figure_that_is_compared_when_it_is_asked_for(
    kernlens: Kernlens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cost of code orders the kernels, and is told beside the figures that always are."""
    monkeypatch.setattr("kernlens.isa.intel.decode.decode_many", decoded)
    for side, sizes in (("old", (48, 48)), ("new", (96, 480))):
        (tmp_path / side).mkdir()
        for name, size in zip("ab", sizes, strict=True):
            (tmp_path / side / f"{name}.bin").write_bytes(with_code(size, simd=16))
    words = ("diff", tmp_path / "old", tmp_path / "new")
    plain, sorted_by_cost = (
        kernlens(*words, "--json", *sort).document for sort in ((), ("--sort", "move-instructions"))
    )
    told = [{figure["metric"]: figure for figure in kernel["figures"]} for kernel in sorted_by_cost["kernels"]]
    assert [figures.keys() - {"move_instructions"} for figures in told] == [
        {figure["metric"] for figure in kernel["figures"]} for kernel in plain["kernels"]
    ]
    growth = [figures["move_instructions"]["new"] - figures["move_instructions"]["old"] for figures in told]
    assert growth == sorted(growth, reverse=True)
    assert growth[-1] > 0
    assert "move instructions" in kernlens(*words, "--sort", "move instructions").out
    assert "move instructions" not in kernlens(*words).out


def test_an_unknown_figure_is_refused_alike(kernlens: Kernlens, tmp_path: Path, file: Path) -> None:
    for name in ("old.bin", "new.bin"):
        (tmp_path / name).write_bytes(with_code(48))
    told = [
        kernlens(*words)
        for words in (
            ("diff", tmp_path / "old.bin", tmp_path / "new.bin", "--sort", "spil"),
            ("inspect", tmp_path / "old.bin", "--sort", "spil"),
            ("sweep", tmp_path / "scale.cl", "--device", "skl", "--sort", "spil"),
        )
    ]
    assert {(done.status, done.out) for done in told} == {(2, "")}
    assert len({done.err for done in told}) == 1
    assert "there is no metric 'spil'; did you mean spill-bytes, spill-stores?" in told[0].err
