"""Advice says what it does to results, names the operands that there are, and asks for nothing that stands there already."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

import kernlens
from kernlens.answers import Advice
from tests.integration.advise.test_rules import KERNELS, TARGETS, advised, compilers
from tests.tree import ROOT

__all__ = ["compilers"]

#: Those of the targets that have doubles.
WITH_DOUBLES = [target for target in TARGETS if target[0] != "dg2"]


@cache
def _pieces(file: str, target: tuple[str, str]) -> dict[str, list[Advice]]:
    answer = kernlens.advise(KERNELS / f"{file}.cl", device=target[0], toolchain=target[1])
    return {each.kernel.name: list(each.advice) for each in answer.kernels}


def _of_rule(file: str, target: tuple[str, str], kernel: str, rule: str) -> list[Advice]:
    return [piece for piece in _pieces(file, target)[kernel] if piece.rule == rule]


@pytest.mark.parametrize("target", [("dg2", "system"), ("bmg", "newest")], ids="-".join)
def test_divisions_name_both_operands(target: tuple[str, str]) -> None:
    def subjects(kernel: str) -> list[str]:
        pieces = _of_rule("results", target, kernel, "integer-division")
        # A quotient of floats may be too small by one, unless its dividend is half of one larger.
        assert all(
            re.search(r"if 0 <= a < 2\^20 .*`q = \(\(float\)a \+ 0\.5f\) / b`", piece.action) for piece in pieces
        )
        assert all(("a - q * b" in piece.action) == ("%" in piece.subject) for piece in pieces)
        return sorted(piece.subject for piece in pieces)

    assert subjects("chain") == ["`a[g] / n / a[g + 9000]`", "`a[g] / n`"]
    assert subjects("product") == ["`-a[g + 27000] % n`", "`a[g] * a[g + 9000] / n`"]


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_powers_of_integers_are_no_quotients_of_integers(target: tuple[str, str]) -> None:
    def actions(kernel: str) -> set[str]:
        return {piece.action for piece in _of_rule("results", target, kernel, "pow-with-a-constant")}

    in_variable = "with the base in a floating-point variable `x`"
    assert actions("power_of_an_integer") == {f"write `1 / x`, {in_variable}"}
    assert actions("power_of_a_float") == {
        "write `1 / x`",
        f"write `sqrt(x)`, {in_variable}, if x is never -0 or -infinity",
    }


@pytest.mark.parametrize("target", WITH_DOUBLES, ids="-".join)
def test_doubles_have_no_native_functions(target: tuple[str, str]) -> None:
    for kernel in ("slow", "slow_too", "constant_made_double"):
        assert not _of_rule("results_doubles", target, kernel, "slow-built-in"), kernel
    assert not _of_rule("results_doubles", target, "exchange", "float-addition-by-exchange")


@pytest.mark.parametrize("target", WITH_DOUBLES, ids="-".join)
def test_a_power_of_a_double_becomes_a_product_of_doubles(target: tuple[str, str]) -> None:
    actions = {piece.action for piece in _of_rule("results_doubles", target, "powers", "pow-with-a-constant")}
    assert actions == {
        "write `x * x`, with the base in a double `x`",
        "write `1 / (x * x)`, with the base in a double `x`, if |x| is 1.1e-19 to 9.2e18",
    }


@pytest.mark.parametrize("target", WITH_DOUBLES, ids="-".join)
def test_doubles_that_are_meant_stay(target: tuple[str, str]) -> None:
    for kernel in ("by_a_type", "too_small_for_a_float"):
        assert not _of_rule("results_doubles", target, kernel, "double-by-accident"), kernel
    (piece,) = _of_rule("results_doubles", target, "of_two_constants", "double-by-accident")
    assert piece.action == "write `1.1f` and `M_PI_F`"


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_a_loop_that_is_unrolled_as_asked_needs_no_pragma(target: tuple[str, str]) -> None:
    assert not _of_rule("results", target, "unrolled_as_asked", "unrolled-too-far")
    (piece,) = _of_rule("results", target, "unrolled_by_an_attribute", "unrolled-too-far")
    assert piece.action == "change its unroll hint to `#pragma unroll 8`, so that it stays a loop"


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_restrict_is_for_pointers_to_memory_that_others_write(target: tuple[str, str]) -> None:
    def has_restrict(kernel: str) -> list[bool]:
        pieces = _of_rule("results", target, kernel, "address-that-does-not-change")
        return ["restrict" in piece.action for piece in pieces if piece.subject == "`c`"]

    assert has_restrict("of_plain") == [True]
    assert has_restrict("of_constant") == [False]
    assert has_restrict("of_restrict") == [False]


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_barriers_that_others_need_stay(target: tuple[str, str]) -> None:
    assert not _of_rule("results", target, "barrier_of_a_function", "barrier-behind-barrier")
    (piece,) = _of_rule("results", target, "barrier_of_other_memory", "barrier-behind-barrier")
    assert piece.action == "remove it, and give the barrier before it its flags too"
    assert {
        each.action for kernel in advised("barrier", target).values() for each in kernel.advice if "orders" in each.fact
    } == {"remove it"}


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_a_sum_and_a_maximum_at_one_address_stay(target: tuple[str, str]) -> None:
    assert not _of_rule("results", target, "sum_and_maximum", "atomic-in-a-loop")


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_noinline_is_removed_where_it_stands(target: tuple[str, str]) -> None:
    (piece,) = _of_rule("results", target, "calls", "call-not-inlined")
    assert piece.action == "remove `noinline`, and declare the function `__attribute__((always_inline))`"


def test_sub_groups_whose_size_matters_are_not_made_narrower(tmp_path: Path) -> None:
    text = (ROOT / "examples" / "kernels" / "window.cl").read_text("utf-8")
    source, words = tmp_path / "window.cl", []
    for changed in (text, text.replace("get_global_id(0)", "get_global_id(0) + 0 * get_sub_group_id()")):
        source.write_text(changed)
        answer = kernlens.advise(source, device="dg2", toolchain="newest")
        (piece,) = (piece for piece in answer.advice if piece.rule == "spill")
        words.append(piece.action.rpartition(", or try ")[2])
    assert words == ["256 registers and sub-groups of 16", "256 registers"]


def test_an_atomic_behind_a_condition_is_not_in_each_iteration(tmp_path: Path) -> None:
    source = tmp_path / "some.cl"
    source.write_text(
        "kernel void some(global int *o, global const int *q, int n) {\n  int g = get_global_id(0);\n"
        "  for (int i = 0; i < n; i++) if (q[g * n + i] > 3) atomic_inc(o);\n}\n"
    )
    (kernel,) = kernlens.advise(source, device="dg2", toolchain="system").kernels
    (piece,) = [each for each in kernel.advice if each.rule == "atomic-in-a-loop"]
    assert re.fullmatch(r"is in a loop, and updates the same address each time: \d+ messages?", piece.fact)


def test_native_functions_of_half_vectors_need_conversions(tmp_path: Path) -> None:
    """No native function takes vectors of halves, so the call alone would not compile."""
    source = tmp_path / "half.cl"
    source.write_text(
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n"
        "kernel void halves(global half4 *a) { int g = get_global_id(0); a[g] = sin(a[g]); }\n"
        "kernel void cast(global float *a) { int g = get_global_id(0); a[g] = sin((half)a[g]); }\n"
        "kernel void floats(global float4 *a) { int g = get_global_id(0); a[g] = sin(a[g]); }\n"
        "kernel void stored(global float *a, global half *b) { int g = get_global_id(0); b[g] = (half)sin(a[g]); }\n"
    )
    answer = kernlens.advise(source, device="dg2")
    words = {kernel.kernel.name: piece.action for kernel in answer.kernels for piece in kernel.advice}
    warned = {name for name, action in words.items() if action.endswith("convert them to float before, and back")}
    assert words.keys() == {"halves", "cast", "floats", "stored"}
    assert warned == {"halves", "cast"}


def test_restrict_is_not_offered_where_the_loop_stores_through_the_same_pointer(tmp_path: Path) -> None:
    source = tmp_path / "same.cl"
    source.write_text(
        "kernel void same(global float *o, int n) {\n  int g = get_global_id(0);\n"
        "  for (int i = 1; i < n; i++)\n    o[i] = o[g] + i;\n}\n"
        "kernel void other(global float *o, global const float *c, int n) {\n  int g = get_global_id(0);\n"
        "  for (int i = 1; i < n; i++)\n    o[i] = c[g] + i;\n}\n"
    )
    answer = kernlens.advise(source, device="dg2")
    words = {kernel.kernel.name: [piece.action for piece in kernel.advice] for kernel in answer.kernels}
    assert any("restrict" in action for action in words["other"])
    assert words["same"]
    assert not any("restrict" in action for action in words["same"])
