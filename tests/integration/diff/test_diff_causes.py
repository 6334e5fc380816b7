"""``diff`` of small kernels in which one line was edited: that line, and no other, is the cause."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.comparison.kernel_changes import Comparison, KernelChange
from kernlens.analysis.comparison.line_changes import INSTRUCTIONS, NO_LINE, PROLOGUE
from kernlens.analysis.comparison.pairs import pair
from kernlens.analysis.comparison.source_lines import LineKey

HEAD = "kernel void work(global const float *in, global float *out, int n) {\n    int i = get_global_id(0);\n"


@dataclass(frozen=True)
class Edit:
    """A kernel, of which ``old`` becomes ``new``; both are whole lines, or parts of one."""

    source: str
    old: str
    new: str

    @property
    def line(self) -> int:
        return self.source[: self.source.index(self.old)].count("\n") + 1


EDITS = {
    "swapped": Edit(
        HEAD + "    float a = in[i];\n    float b = in[i + n];\n    float c = a - b;\n    out[i] = c * 2.0f;\n}\n",
        "a - b",
        "b - a",
    ),
    "constant": Edit(
        HEAD + "    float a = in[i];\n    float b = a * 2.0f;\n    out[i] = sqrt(b) + a;\n}\n", "a * 2.0f", "a * 3.0f"
    ),
    "builtin": Edit(
        HEAD + "    float a = in[i];\n    float b = native_sin(a);\n    out[i] = b + a;\n}\n", "native_sin(a)", "sin(a)"
    ),
    "operator": Edit(
        HEAD + "    float a = in[i];\n    float b = in[i + 1];\n    float c = a * b;\n    out[i] = c + a;\n}\n",
        "a * b",
        "a / b",
    ),
    "condition": Edit(
        HEAD + "    float a = in[i];\n    if (i > n)\n        a = a * a + 1.0f;\n    out[i] = a;\n}\n",
        "i > n",
        "i >= n",
    ),
    "offset": Edit(
        HEAD + "    float a = in[i];\n    float b = in[i + 16];\n    out[i] = a * b;\n}\n", "i + 16", "i + 32"
    ),
    "divisor": Edit(HEAD + "    int row = i / n;\n    float a = in[row];\n    out[i] = a;\n}\n", "i / n", "i / 3"),
    "macro": Edit(
        "#define SCALE 2.0f\n" + HEAD + "    float a = in[i];\n    out[i] = a * SCALE;\n}\n", "SCALE 2.0f", "SCALE 5.0f"
    ),
    "added": Edit(
        HEAD + "    float a = in[i];\n    float sum = a;\n//\n    out[i] = sum;\n}\n", "//", "    sum = exp2(a) + sum;"
    ),
    "loop": Edit(
        HEAD
        + "    float sum = 0;\n    for (int k = 0; k < n; k++)\n        sum += in[k] * in[k];\n    out[i] = sum;\n}\n",
        "in[k] * in[k]",
        "in[k] * in[k + 1]",
    ),
    "memory": Edit(
        HEAD
        + "    local float tile[64];\n    tile[get_local_id(0)] = in[i];\n    barrier(CLK_LOCAL_MEM_FENCE);\n"
        + "    float a = tile[0];\n    out[i] = a;\n}\n",
        "tile[0]",
        "tile[0] + tile[get_local_size(0) - 1]",
    ),
    "rounding": Edit(
        HEAD + "    float a = in[i];\n    int k = convert_int_rte(a);\n    out[i] = in[k];\n}\n",
        "convert_int_rte(a)",
        "convert_int(a)",
    ),
}


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, KernelChange]:
    """What differs between the kernels before and after each edit."""
    sides = []
    for side in ("old", "new"):
        folder = tmp_path_factory.mktemp(side)
        for name, edit in EDITS.items():
            text = edit.source if side == "old" else edit.source.replace(edit.old, edit.new, 1)
            (folder / f"{name}.cl").write_text(text)
        sides.append(kernlens.compile([folder / f"{name}.cl" for name in EDITS], "dg2"))
    comparison = Comparison()
    pairing = pair(*sides)
    assert not pairing.only_old
    assert not pairing.only_new
    return {each.new_program.build.name: comparison.kernel_change(each) for each in pairing.kernels}


def causes(change: KernelChange) -> list[LineKey]:
    return [line.key for line in change.lines if line.is_cause] or list(change.edited)


@pytest.mark.parametrize("name", EDITS)
def test_the_edited_line_and_no_other_is_the_cause(name: str, changes: dict[str, KernelChange]) -> None:
    edit, change = EDITS[name], changes[name]
    assert not change.is_same_code
    assert causes(change) == [LineKey(f"{name}.cl", edit.line, edit.line)]
    if not change.edited:
        assert change.lines[0].key.new == edit.line


def test_most_often_the_instructions_alone_tell_the_line(changes: dict[str, KernelChange]) -> None:
    """Without a look at the sources: the one line whose instructions differ is the edited one."""
    result = {}
    for name, change in changes.items():
        lines = [line for line in change.lines if line.key not in (PROLOGUE, NO_LINE)]
        others = [line for line in lines if line.change == INSTRUCTIONS]
        result[name] = [line.key.new for line in others or lines]
    alone = [name for name, lines in result.items() if lines == [EDITS[name].line]]
    assert len(alone) >= 9, result


def test_the_same_source_elsewhere_is_no_difference(tmp_path: Path) -> None:
    sides = []
    for side in ("old", "new"):
        (tmp_path / side).mkdir()
        (tmp_path / side / "work.cl").write_text(EDITS["loop"].source)
        sides.append(kernlens.compile(tmp_path / side / "work.cl", "dg2"))
    (each,) = pair(*sides).kernels
    assert not Comparison().kernel_change(each).differs
