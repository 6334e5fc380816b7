"""The scripts of examples/cookbook: each answers a question from a public issue, and prints the answer."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.tree import ROOT

FOLDER = ROOT / "examples" / "cookbook"
#: What each prints, among other lines.
ANSWERS = {
    "are_256_registers_worth_it": r"^-DROWS=64 128 registers, [1-9]\d* spill stores\n-DROWS=64 -cl\S+ 256 registers, \d+ sp",
    "code_with_its_lines": r"^0x07e0   21 .*send\.ugm",
    "did_the_compiler_get_worse": r"^window\n(?s:.*)  spill_stores 0 -> [1-9]",
    "how_much_local_memory": r"^blur 0 bytes of local memory, work-groups of at most 1024$",
    "how_often_do_divisions_stand_there": r"^math_instructions [1-9]",
    "is_a_native_function_cheaper": r"^tone\.cl 6 `pow` at tone\.cl:6:10 is 770 instructions",
    "keep_spills_out": r"^blur spill_bytes 0 passed$",
    "the_bytes_of_a_kernel": r"^wrote 2080 bytes of blur$",
    "was_the_loop_unrolled": r"^loops that are left: \d+\n(?s:.*)^blur\.cl:17 [1-9]",
    "which_kernels_spill": r"^blur blur 0 spill stores, 0 bytes\nwindow window [1-9]\d* spill stores, [1-9]",
    "which_lines_access_memory": r"^17 1152 bytes loaded: sum \+= weight",
    "which_simd_width": r"^dg2 tone SIMD32$",
}


def test_each_script_names_its_issue_and_has_an_answer() -> None:
    scripts = {path.stem: path.read_text("utf-8") for path in FOLDER.glob("*.py")}
    assert scripts.keys() == ANSWERS.keys()
    for name, text in scripts.items():
        assert re.match(r'"""[^"]+\n\nhttps://github\.com/[\w-]+/[\w-]+/(?:issues|pull)/\d+\n"""', text), name


@pytest.mark.parametrize("name", ANSWERS)
def test_the_script_answers_the_question(name: str) -> None:
    script = str(FOLDER / f"{name}.py")
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.search(ANSWERS[name], done.stdout, re.MULTILINE), done.stdout
