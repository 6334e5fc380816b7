"""The costliest request of each access, lane by lane, as the plugin keeps it."""

from __future__ import annotations

from pathlib import Path

from tests.integration.observe.test_observe import pytestmark, run  # noqa: F401


def test_the_costliest_request_is_kept(tmp_path: Path) -> None:
    """Its units and wavefronts are those that were counted of it."""
    observed = run(
        tmp_path,
        "kernel void k(global float *a, global float *b)\n{\n local float s[32 * 32];\n int l = get_local_id(0);\n"
        " s[l * 2] = b[l];\n if (get_group_id(0) == 1)\n  a[l * 16] = s[l * 2];\n}\n",
        ("zeros:float:1024", "ramp:float:1024"),
        size=64,
        group=32,
    )
    for access in observed.accesses:
        example = access.example
        assert example is not None
        assert len(example.lanes) == 32
        assert access.units[0] == access.requests * len(example.units(32))
        if access.space == "local":
            words = [at // 4 % 32 for _, at in example.lanes]
            assert access.wavefronts == access.requests * max(map(words.count, words))
    of_global = [access for access in observed.accesses if access.space == "global"]
    assert {access.place and access.place.line: access.example and access.example.argument for access in of_global} == {
        5: "b",
        7: "a",
    }


def test_an_example_is_of_the_request_that_costs_most(tmp_path: Path) -> None:
    observed = run(
        tmp_path,
        "kernel void k(global float *a)\n{\n int l = get_local_id(0);\n for (int i = 1; i < 5; i++)\n"
        "  a[l * (i == 3 ? 16 : i)] += i;\n}\n",
        ("zeros:float:1024",),
        size=32,
        group=32,
    )
    examples = [access.example for access in observed.accesses]
    assert [example and [at for _, at in example.lanes[:3]] for example in examples] == [[0, 64, 128]] * 2
