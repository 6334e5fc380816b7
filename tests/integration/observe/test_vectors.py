"""``kernlens observe``: parts of vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.observe.test_observe import pytestmark, run

__all__ = ["pytestmark"]


@pytest.mark.parametrize(
    ("vector", "part"), [("float4", "float"), ("float8", "float2"), ("double4", "double"), ("uchar16", "uint")]
)
def test_a_part_of_a_vector_that_was_loaded_is_not_loaded_again(vector: str, part: str, tmp_path: Path) -> None:
    """LLVM takes it out of a number as wide as the vector, which Oclgrind does not know."""
    body = f"""kernel void k(global {vector} *in, global {part} *out)
{{
    {vector} all = in[get_global_id(0)];
    global const {part} *parts = (global const {part} *)(in + get_global_id(0));
    out[get_global_id(0)] = parts[1] + parts[0];
    in[get_global_id(0)] = all + all;
}}"""
    observed = run(tmp_path, body, ["zeros:uint:4096", "zeros:uint:4096"])
    assert observed.reason == ""
    accesses = {line.place.line: line.requests for line in observed.lines if line.requests}
    assert accesses.keys() == {3, 5, 6}
    assert accesses[5] == 2, "the store alone"
