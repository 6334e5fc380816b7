"""Each rule of advice on kernels with its fault, on those that follow the advice, and on those that look alike.

A file of ``kernels/`` is about the rule of its name. Rules on other constructs may speak on its kernels too.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

import kernlens
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.rules import RULES
from kernlens.analysis.lanes.kernel_accesses import kernel_accesses
from kernlens.answers import Advice, AdvisedKernel
from kernlens.model.advice import DIFFER, EQUAL, MAY_DIFFER, PAGE, WITHIN_ULP
from tests.environment import cache_folder
from tests.tree import ROOT

KERNELS = Path(__file__).parent / "kernels"
#: Two generations by each compiler, and dg2 by both.
TARGETS = (("skl", "system"), ("dg2", "system"), ("dg2", "newest"), ("bmg", "newest"))
FILES = {
    "slow_built_in": "slow-built-in",
    "pow_with_a_constant": "pow-with-a-constant",
    "half_function": "half-function",
    "integer_division": "integer-division",
    "long_division": "64-bit-division",
    "double_by_accident": "double-by-accident",
    "double_on_purpose": "double-by-accident",
    "unrolled_too_far": "unrolled-too-far",
    "printf_left_in": "printf-left-in",
    "call_not_inlined": "call-not-inlined",
    "private_array": "private-array-in-memory",
    "spill": "spill",
    "fixed_access": "address-that-does-not-change",
    "barrier": "barrier-behind-barrier",
    "barrier_over_nothing": "barrier-over-nothing",
    "atomic_in_loop": "atomic-in-a-loop",
    "float_exchange": "float-addition-by-exchange",
    "wide_index": "64-bit-index",
    "strided_access": "strided-access",
    "half_exchange": "half-width-exchange",
    "local_tree": "tree-in-local-memory",
    "load_chain": "load-chain",
    "conversion": "conversion-in-a-loop",
    "unfused": "unfused-multiply-add",
    "long_counter": "long-counter",
}
#: Rules that need the stages of the compile.
WITH_STAGES = {"wide_index"}
#: Faults that a device does not have: skl divides integers, and adds no floats in memory; dg2 has no doubles; the older
#: compiler keeps one loop.
SILENT = {
    *(
        (("skl", "system"), file, f"fault_{number}")
        for file in ("integer_division", "float_exchange")
        for number in (1, 2, 3, 4)
    ),
    *(
        (("dg2", name), "double_by_accident", f"fault_{number}")
        for name in ("system", "newest")
        for number in (1, 2, 3)
    ),
    *(((device, "system"), "unrolled_too_far", "fault_1") for device in ("skl", "dg2")),
}
CASES = [
    pytest.param(file, target, id=f"{file}-{'-'.join(target)}")
    for file in FILES
    for target in TARGETS
    if (file, target[0]) != ("double_on_purpose", "dg2")
]


@pytest.fixture(autouse=True)
def compilers(newest_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have both compilers; what they made of the same text before is not compiled again."""
    monkeypatch.setenv("KERNLENS_CACHE", str(cache_folder() / "compiles"))


@cache
def advised(file: str, target: tuple[str, str]) -> dict[str, AdvisedKernel]:
    device, toolchain = target
    options = "-cl-std=CL3.0" if (file, toolchain) == ("float_exchange", "newest") else ""
    answer = kernlens.advise(
        KERNELS / f"{file}.cl", device=device, toolchain=toolchain, options=options, stages=file in WITH_STAGES
    )
    assert [each.reason for each in answer.kernels] == [None] * len(answer.kernels)
    return {each.kernel.name: each for each in answer.kernels}


def of_rule(kernel: AdvisedKernel, rule: str) -> list[Advice]:
    return [piece for piece in kernel.advice if piece.rule == rule]


def test_every_rule_has_kernels() -> None:
    assert {rule.key for rule in RULES} <= set(FILES.values())


@pytest.mark.parametrize(("file", "target"), CASES)
def test_a_rule_speaks_on_its_faults_alone(file: str, target: tuple[str, str]) -> None:
    kernels = advised(file, target)
    speaks = {name for name, kernel in kernels.items() if of_rule(kernel, FILES[file])}
    faults = {name for name in kernels if name.startswith("fault") and (target, file, name) not in SILENT}
    assert speaks == faults
    assert len([name for name in kernels if name.startswith("alike")]) >= 3


@pytest.mark.parametrize(("file", "target"), CASES)
def test_the_advice_changes_its_figure(file: str, target: tuple[str, str]) -> None:
    kernels = advised(file, target)
    for name, kernel in kernels.items():
        for piece in of_rule(kernel, FILES[file]):
            if name.replace("fault", "mended") not in kernels:  # The older compiler lacks `atomic_float`.
                assert (piece.rule, target[1]) == ("float-addition-by-exchange", "system")
                continue
            mended = kernels[name.replace("fault", "mended")]
            assert all(0 <= row < len(kernel.kernel.instructions) for row in piece.rows)
            assert figure(mended, piece.rule) < figure(kernel, piece.rule), name
            if piece.rule in ("slow-built-in", "pow-with-a-constant", "half-function", "printf-left-in"):
                saved = len(kernel.kernel.instructions) - len(mended.kernel.instructions)
                assert saved >= 0.75 * sum(each.count for each in of_rule(kernel, piece.rule)), name


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_every_action_says_what_it_does_to_results(target: tuple[str, str]) -> None:
    results: dict[str, set[str]] = {}
    for file in FILES:
        if (file, target[0]) != ("double_on_purpose", "dg2"):
            for kernel in advised(file, target).values():
                for piece in kernel.advice:
                    results.setdefault(piece.rule, set()).add(piece.results)
                    assert piece.sentence.endswith(f" (results {piece.results})")
    expected = {
        "slow-built-in": {DIFFER},
        "half-function": {DIFFER},
        "double-by-accident": {DIFFER},
        "float-addition-by-exchange": {DIFFER},
        "pow-with-a-constant": {WITHIN_ULP},
        "conversion-in-a-loop": {DIFFER},
        "unfused-multiply-add": {MAY_DIFFER},
        "tree-in-local-memory": {EQUAL, MAY_DIFFER},
    }
    assert results == {rule: expected.get(rule, {EQUAL}) for rule in results}


def figure(advised: AdvisedKernel, rule: str, *, in_page: bool = False) -> int:
    """What the advice names: the width, of which less is worse, the doubles (but not in the page), messages, memory,
    accesses of neighbours that are far apart, or the instructions."""
    kernel = advised.kernel
    accesses = [(row, kind.access) for row, kind in enumerate(kernel.instructions.kinds) if kind.access is not None]
    match rule:
        case "call-not-inlined":
            return -(kernel.resources.simd or 0)
        case "double-by-accident" if not in_page:
            return sum(":df" in text for text in kernel.instructions.texts)
        case "private-array-in-memory":
            return kernel.resources.private_bytes_per_work_item or kernel.resources.scratch_bytes or 0
        case "strided-access":
            far = (each.is_far for each in kernel_accesses(advised.program, kernel).accesses if each.space == "global")
            return sum(far)
        case "spill":
            return kernel.costs["spill_stores"] + kernel.costs["fill_loads"]
        case "barrier-behind-barrier" | "barrier-over-nothing":
            return sum(access.operation == "barrier" for _, access in accesses)
        case "address-that-does-not-change" | "atomic-in-a-loop":
            assert kernel.loops is not None
            action = {"address-that-does-not-change": ("load", "store"), "atomic-in-a-loop": ("atomic",)}[rule]
            return sum(access.action in action and kernel.loops.depths[row] > 0 for row, access in accesses)
        case "tree-in-local-memory" | "unfused-multiply-add" | "long-counter":
            assert kernel.loops is not None
            is_counted = {"tree-in-local-memory": "barrier"}.get(rule)
            rows = [row for row, access in accesses if access.operation == is_counted]
            number = sum(depth > 0 for row, depth in enumerate(kernel.loops.depths) if not is_counted or row in rows)
            return number if is_counted else number * 32 // (kernel.resources.simd or 32)
        case "load-chain" | "conversion-in-a-loop":
            return sum(piece.count for piece in of_rule(advised, rule))
        case "float-addition-by-exchange" | "half-width-exchange":
            return sum(access.operation == "atomic_icas" for _, access in accesses)
    return len(kernel.instructions)


#: The columns of the tables in docs/advice.md.
COLUMNS = {
    "skl": ("skl", "system"),
    "dg2, 22.43": ("dg2", "system"),
    "dg2, 26.27": ("dg2", "newest"),
    "bmg": ("bmg", "newest"),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.key)
def test_the_table_of_the_page(rule: Rule) -> None:
    section = (ROOT / PAGE).read_text("utf-8").split(f"\n## {rule.title}\n")[1].split("\n## ")[0]
    file = next(file for file, key in FILES.items() if key == rule.key)
    heading, _, *rows = [line[1:-1].split("|") for line in section.splitlines() if line.startswith("|")]
    assert len(rows) >= 3
    for number, row in enumerate(rows, 1):
        for column, cell in zip(heading[1:], row[1:], strict=True):
            kernels = advised(file, COLUMNS[column])
            both = (kernels[f"{kind}_{number}"] for kind in ("fault", "mended"))
            before, after = (abs(figure(kernel, rule.key, in_page=True)) for kernel in both)
            assert cell == f"{before:,} → {after:,}"


@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_sentences_name_macros_and_places(target: tuple[str, str]) -> None:
    kernels = advised("slow_built_in", target)
    (wave,) = (piece for piece in kernels["fault_3"].advice if "sin" in piece.subject)
    assert wave.subject == "the macro `WAVE` (with `sin`)"
    assert (wave.line, wave.column) == (26, 10)
    (power,) = kernels["fault_2"].advice
    assert power.fact == f"is {power.count:,} instructions"
    assert (power.line, power.column) == (4, 31)
    (array,) = of_rule(advised("private_array", target)["fault_2"], "private-array-in-memory")
    assert array.fact.endswith(", without what computes their addresses")
    actions = [piece.action for piece in advised("pow_with_a_constant", target)["fault_3"].advice]
    assert sorted(actions) == ["write `1 / a[g + 9000]`", "write `x * x * x`"]


@pytest.mark.parametrize(
    ("name", "count"),
    [("native_sin", (1, 2)), ("native_tan", (4, 10)), ("native_powr", (3, 10)), ("fast_length", (4, 10))],
)
@pytest.mark.parametrize("target", TARGETS, ids="-".join)
def test_native_functions_are_as_short_as_sentences_say(
    name: str, count: tuple[int, int], target: tuple[str, str], tmp_path: Path
) -> None:
    arguments = {"native_powr": "a[g], a[g + 9000]", "fast_length": "(float3)(a[g], a[g + 9000], a[g + 18000])"}
    source = tmp_path / "native.cl"
    source.write_text(
        "kernel void native(global float *o, global const float *a) {\n  int g = get_global_id(0);\n"
        f"  float x =\n{name}({arguments.get(name, 'a[g]')});\n  o[g] = x;\n}}\n"
    )
    (program,) = kernlens.compile(source, target[0], toolchain=target[1])
    source_map = program.kernels["native"].source_map
    assert source_map is not None
    rows = sum(place is not None and (place.line, place.column) == (4, 1) for place in source_map.places)
    assert count[0] <= rows <= count[1]


def test_only_what_the_device_still_has_is_advised() -> None:
    """Only from Xe-HP on a thread can have 256 registers, and what has them needs no word of them."""
    source, large = ROOT / "examples" / "kernels" / "window.cl", "-cl-intel-256-GRF-per-thread"

    def changes(device: str, options: str = "") -> str:
        (kernel,) = kernlens.advise(source, device=device, toolchain="newest", options=options).kernels
        (advice,) = [each for each in kernel.advice if each.rule == "spill"]
        return advice.action.rpartition(", or try ")[2]

    assert changes("dg2") == "256 registers and sub-groups of 16"
    assert changes("dg2", large) == "sub-groups of 16"
    assert changes("tgllp") == "sub-groups of 16"
