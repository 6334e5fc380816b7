"""sweep: cycles, which are estimated for those who ask; the compiler is a script."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

import kernlens as package
from kernlens.model.kernel import Kernel
from kernlens.model.waits import WRITTEN, Wait, Waits
from tests.unit.conftest import Kernlens
from tests.unit.verbs.test_sweep import rows_of, source

__all__ = ["source"]


@pytest.mark.slow
def test_cycles_are_estimated_where_they_are_asked_for(
    kernlens: Kernlens, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def waits(kernel: Kernel) -> Waits:
        asked.append(kernel.name)
        return Waits(array("I", [0, 9]), bytes([4, 4]), {1: Wait(1, 0, 5, WRITTEN)}, [0], 8, 5)

    monkeypatch.setattr("kernlens.model.kernel.Kernel.waits", property(waits))
    words = ("sweep", "scale.cl", "--device", "skl", "--csv", "x.csv")
    kernlens(*words)
    assert not asked
    assert "wait_cycles" not in rows_of(Path("x.csv").read_text())[0]
    done = kernlens(*words, "--sort", "wait-share")
    assert done.out.splitlines()[0].split()[:3] == ["kernel", "device", "wait"]
    rows = rows_of(Path("x.csv").read_text())
    assert [(row["issue_cycles"], row["wait_cycles"], row["wait_share"]) for row in rows] == 2 * [("8", "5", "39")]
    assert package.sweep(source, "skl", waits=True)[0].figures["wait_cycles"] == 5
    assert package.sweep(source, "skl", waits=True, pressure=True).table["wait_share"] == (39, 39)
