"""What OpenCL C allows two devices to differ by: the built-in functions that a kernel's source calls, and their bounds."""

from __future__ import annotations

import pytest

from kernlens.analysis.built_in_errors import accuracy, bounds_of

SOURCE = """
// tan(x) in a comment
#define FAST(x) native_exp(x)
#define ROOT sqrt
#define pow(x, y) pow(x, (float)(y))
float helper(float x) { return sin(x) / 3.0f; }
float unused(float x) { return tgamma(x); }
float mix(float a, float b) { return a; }
kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void one(global float *out) { float length = 1; out[0] = helper(length); }
kernel void two(global float *out) { out[0] = FAST(ROOT(pow(out[1], 2))) + mix(out[1], 2); }
kernel void exact(global float *out) { out[0] = fabs(floor(out[0])) + 1; }
kernel void sums(global float *out) { out[0] = out[1] * out[2] + MORE; atomic_inc(out); }
"""


def told(kernel: str, options: str = "", type_name: str = "float", source: str = SOURCE) -> list[str]:
    return [each.told for each in bounds_of([source], kernel, options, type_name)]


def test_only_what_the_kernel_reaches_counts() -> None:
    assert told("one") == ["/ 2.5 ulp", "sin 4 ulp"]
    assert told("two") == ["native_exp as the device has it", "pow 16 ulp", "sqrt 3 ulp"]
    assert told("exact") == []


def test_operators_options_and_atomics() -> None:
    assert told("sums") == ["a * b + c fused or not", "atomic_inc in any order of work-items"]
    assert told("sums", "-DMORE=half_sin(2)") == [
        "a * b + c fused or not", "atomic_inc in any order of work-items", "half_sin 8192 ulp"
    ]  # fmt: skip
    assert told("sums", source=f"#pragma OPENCL FP_CONTRACT OFF\n{SOURCE}") == ["atomic_inc in any order of work-items"]


@pytest.mark.parametrize(
    ("options", "type_name", "expected"),
    [
        ("-cl-fast-relaxed-math", "float", ["/ relaxed by an option", "sin relaxed by an option"]),
        ("-cl-fast-relaxed-math", "double", ["sin 4 ulp"]),
        ("-cl-fp32-correctly-rounded-divide-sqrt", "float", ["sin 4 ulp"]),
        ("", "half", ["/ 1 ulp", "sin 2 ulp"]),
    ],
)
def test_the_bounds_are_those_of_the_type_and_the_options(options: str, type_name: str, expected: list[str]) -> None:
    assert told("one", options, type_name) == expected


def test_a_kernel_whose_braces_do_not_match_is_read_whole() -> None:
    source = "#ifdef A\nkernel void k(int a) {\n#else\nkernel void k() {\n#endif\nx = sin(1); }\nfloat g() { return exp(1); }"
    assert told("k", source=source) == ["exp 3 ulp", "sin 4 ulp"]
    by_macro = "#define K(n) kernel void n() { cos(1); }\nK(made)\nvoid f() { log(2); }"
    assert told("made", source=by_macro) == ["cos 4 ulp", "log 3 ulp"]


@pytest.mark.parametrize(
    ("source", "ulp", "answer"),
    [
        ("kernel void k() { sin(1); }", 8, "within what one call may differ by between two devices (2 x 4 ulp of sin)"),
        ("kernel void k() { sin(1); }", 9, "more than one call may differ by between two devices (2 x 4 ulp of sin): calls"),
        ("kernel void k() { sin(1); }", None, "a number on one side and none on the other is more than a bound explains"),
        ("kernel void k() { native_sin(1); }", 9, "no call here has a bound: native_sin may be the reason"),
        ("kernel void k() { native_sin(1); exp(1); }", 9, "more than one call may differ by between two devices (2 x 3 ulp"),
        ("kernel void k() { fabs(1); }", 1, "OpenCL C allows no difference here"),
        ("", 1, "the program has no source here"),
    ],
)  # fmt: skip
def test_the_answer_says_whether_a_bound_explains_it(source: str, ulp: int | None, answer: str) -> None:
    assert accuracy([source], "k", "", "float", ulp).answer.startswith(answer)


def test_without_a_type_the_bounds_stand_alone() -> None:
    answer = accuracy(["kernel void k() { sin(1); }"], "k", "", "", None)
    assert [each.told for each in answer.bounds] == ["sin 4 ulp"]
    assert answer.answer.startswith("the type of what differs is not known")


def test_hostile_sources_take_no_time() -> None:
    for text in ("{" * 400_000, "k(" * 200_000, "#define a a\n" * 50_000 + "kernel void k() { a; }", "/* " * 200_000):
        bounds_of([text], "k", "", "float")
