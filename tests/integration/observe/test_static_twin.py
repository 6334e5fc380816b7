"""Patterns that are derived from the code, against what the interpreter counts (``tests.corpus.static_twin`` has the whole)."""

from __future__ import annotations

import pytest

from kernlens.errors import UnsupportedError
from kernlens.toolchain.oclgrind import oclgrind
from tests.corpus.static_twin import UNKNOWN, compared, of_data
from tests.whole import each_run

#: Two rows of its work-groups are a sub-group, and the distance of rows is an argument: nothing is decided.
UNDECIDED = ("blur_line",)
#: Launches of each run; the others are those of the whole.
SAMPLE = ("matmul_swapped", "jacobi", "sobel", "sum_of_groups", "rows_and_columns", "first_of", "switched", "swizzle")


def _is_installed() -> bool:
    try:
        return oclgrind().disassembler is not None
    except UnsupportedError:
        return False


pytestmark = pytest.mark.skipif(not _is_installed(), reason="no Oclgrind 21.10 with LLVM 14's tools")
LAUNCHES = {each.kernel: each for each in of_data()}


@pytest.mark.parametrize("kernel", each_run(*SAMPLE, others=LAUNCHES))
def test_no_request_contradicts_the_code(kernel: str) -> None:
    answers = list(compared(LAUNCHES[kernel], 16))
    assert [(each.what, each.contradiction) for each in answers if each.contradiction] == []
    assert answers
    assert any(each.verdict != UNKNOWN for each in answers) == (kernel not in UNDECIDED)
