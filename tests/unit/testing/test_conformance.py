"""The comparison of conformance tests with and without kernlens: what their programs print, and what differs."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.corpus.conformance.__main__ import chosen, left_out
from tests.corpus.conformance.cut import CUTS, cut_text
from tests.corpus.conformance.results import (
    compare,
    count_differences,
    counted_calls,
    expected_status,
    listed,
    read_results,
    recorded_calls,
)
from tests.corpus.conformance.runs import DID_NOT_END, Ran, opencl_name

KHRONOS = """\
 Initializing random seed to 0.
multiple_build...
multiple_build_part passed
ERROR: wrong (line 3)
multiple_build FAILED
build...
build passed
images...
images test not supported
il...
il skipped (requires at least OpenCL version 2.1, but the device reports OpenCL version 1.2)
crash...
"""
GTEST = """\
[ RUN      ] Module.Create
[       OK ] Module.Create (3 ms)
[ RUN      ] Module/Link.Works/0
a line of its own
[  FAILED  ] Module/Link.Works/0, where GetParam() = 4-byte object (3 ms)
[ RUN      ] Module.Skipped
[  SKIPPED ] Module.Skipped (0 ms)
[  FAILED  ] 1 test, listed below:
"""


def test_tests_are_listed() -> None:
    assert listed("khronos", "no test\n\tbuild\n\tbuild_all\n") == ["build", "build_all"]
    gtest = "Running main()\nModule.\n  Create\n  DISABLED_Slow\nLinks/Link.\n  Works/0  # GetParam() = 4\n"
    assert listed("gtest", gtest) == ["Module.Create", "Links/Link.Works/0"]


def test_results_are_those_of_the_tests_that_ran() -> None:
    told = read_results("khronos", KHRONOS, ["multiple_build", "build", "images", "il", "crash", "never"])
    assert told.results == {"multiple_build": "fail", "build": "pass", "images": "skip", "il": "skip"}
    assert told.running == "crash"


def test_a_message_may_have_no_end_of_its_line() -> None:
    told = read_results(
        "khronos", "build...\nWARNING: try again.build passed\nall...\npre_all passed\n", ["build", "all"]
    )
    assert told.results == {"build": "pass"}


def test_an_end_that_is_of_no_running_test_is_none() -> None:
    assert read_results("khronos", "part passed\nwhole...\npart passed\n", ["whole", "part"]).results == {}


def test_results_of_gtest() -> None:
    told = read_results("gtest", GTEST, ["Module.Create", "Module/Link.Works/0", "Module.Skipped"])
    assert told.results == {"Module.Create": "pass", "Module/Link.Works/0": "fail", "Module.Skipped": "skip"}
    assert told.running is None


def test_each_result_that_differs_is_told() -> None:
    plain = {"a": "pass", "b": "fail", "c": "pass", "d": "skip"}
    compared = compare(plain, {"a": "pass", "b": "pass", "d": "fail"}, ["d"])
    assert compared.compared == 3
    assert compared.differences == ["b: fail without, pass with", "c: pass without, no result with"]


def test_calls_are_counted_by_status() -> None:
    counted = counted_calls(["build:0", "build:0", "build:-11", "link:-30", "link:-7777"], opencl_name)
    assert counted == {"build success": 2, "build CL_BUILD_PROGRAM_FAILURE": 1, "link -7777": 1}
    failed = "the application's build failed with CL_BUILD_PROGRAM_FAILURE: a reason"
    recorded = recorded_calls(["build", "build", "link", "input"], [None, failed, None, None])
    assert count_differences(counted, recorded) == [
        "build success: 2 called, 1 recorded",
        "link -7777: 1 called, 0 recorded",
        "link success: 0 called, 1 recorded",
    ]
    assert count_differences(counted, counted) == []


def test_the_exit_status_follows_from_the_results() -> None:
    assert expected_status({"a": "pass", "b": "skip"}) == 0
    assert expected_status({"a": "pass", "b": "fail"}) == 1


def test_tests_are_chosen_and_left_out() -> None:
    tests = ["build", "build_all", "link"]
    assert chosen(tests, [], []) == tests
    assert chosen(tests, ["build"], ["all"]) == ["build"]
    ran = Ran({"build": "fail", "link": DID_NOT_END, "all": "ended by SIGSEGV"}, Counter())
    assert left_out(ran) == {"link": DID_NOT_END, "all": "ended by SIGSEGV"}


def test_a_cut_keeps_three_types_and_refuses_a_source_that_it_does_not_know() -> None:
    loads = CUTS["basic"]["test_vloadstore.cpp"]
    whole = "vecType = { kChar,  kUChar, kShort, kUShort,\n  kInt, kUInt, kLong, kULong,\n  kFloat, kHalf, kDouble };\n"
    assert cut_text(whole, loads) == "vecType = { kChar, kInt, kFloat };\n"
    rows = '    {  "char",      1,  sizeof( cl_char )   },\n    {  "uchar",     1,  sizeof( cl_uchar)   },\n'
    assert cut_text(rows, CUTS["basic"]["test_sizeof.cpp"]) == rows.splitlines(keepends=True)[0]
    with pytest.raises(SystemExit, match="nothing to cut"):
        cut_text("vecType = all_types();\n", loads)
