"""Short answers: ranked across all programs before anything is cut, and without what says nothing."""

from __future__ import annotations

from typing import Any

from kernlens.agents.short_answers import pruned_of, short


def program(name: str, **kernel: Any) -> dict[str, Any]:
    own = {"name": name, "simd": 32, "spill_bytes": 0, "code_size": 100, "launch_limits": None, **kernel}
    return {"name": name, "device": "dg2", "toolchain": "T", "kernels": [own]}


def test_the_kernel_that_spills_comes_first_whatever_program_it_is_in() -> None:
    programs = [program(f"k{number}", code_size=9000 - number) for number in range(50)]
    programs.append(program("spilling", spill_bytes=64))
    answer = short("inspect", {"schema": 1, "failed_builds": [], "programs": programs}, {})
    assert answer["kernels"][0] == {"kernel": "spilling", "simd": 32, "spill_bytes": 64, "code_size": 100}
    assert [each["kernel"] for each in answer["kernels"][1:3]] == ["k0", "k1"]
    assert (answer["device"], answer["toolchain"]) == ("dg2", "T")


def test_a_kernel_that_spills_comes_before_private_memory() -> None:
    programs = [
        program("private", private_bytes=8192, scratch_bytes=8192),
        program("unknown", spill_bytes=None, has_spills=True),
        program("spilling", spill_bytes=64),
    ]
    answer = short("inspect", {"schema": 1, "failed_builds": [], "programs": programs}, {})
    assert [each["kernel"] for each in answer["kernels"]] == ["spilling", "unknown", "private"]


def test_a_line_has_the_number_of_its_instructions_by_mnemonic() -> None:
    instructions = [{"offset": 16 * at, "opcode": name, "text": name} for at, name in enumerate(["send", "add", "add"])]
    document = {"failed_builds": [], "programs": [program("k", instructions=instructions)]}
    (kernel,) = short("annotate", document, {"line": "7"})["kernels"]
    assert (kernel["total"], kernel["opcodes"]) == (3, {"add": 2, "send": 1})


def test_a_metric_ranks_and_a_width_ranks_the_other_way() -> None:
    programs = [program("wide", simd=32, sends=1), program("narrow", simd=8, sends=5)]
    document = {"schema": 1, "failed_builds": [], "programs": programs}
    assert short("inspect", document, {"sort": "sends"})["kernels"][0]["kernel"] == "narrow"
    assert short("inspect", document, {"sort": "simd"})["kernels"][0]["kernel"] == "narrow"


def test_nothing_that_says_nothing_is_left_but_a_verdict() -> None:
    assert pruned_of({"a": 0, "b": None, "c": [], "d": {"e": ""}, "f": False, "g": [0, 1], "schema": 1}) == {
        "g": [0, 1]
    }
    answer = short("check", {"ok": False, "findings": [], "failed_builds": []}, {})
    assert answer == {"ok": False}
