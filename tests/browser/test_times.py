"""The device's time of kernels, as a capture stated it: it orders the list, and stands beside the kernel's name."""

from __future__ import annotations

from kernlens.report.explore.explore_document import ExploreDocument
from tests.browser.conftest import Open
from tests.browser.made import chunk_of, small_document, with_kernels

#: The nanoseconds of three kernels; nobody timed the last.
TIMES = {"first": 900, "second": 15_200_000, "third": None}


def test_the_list_is_ordered_by_the_device_s_time(open_report: Open) -> None:
    whole = with_kernels({name: chunk_of(small_document()) for name in TIMES})
    index = whole.index
    (program,) = index["programs"]
    times = {"device_time": [*TIMES.values()], "timed_launches": [1, 2, None]}
    figures = [*index["figures"], {"key": "device_time", "heading": "device time", "unit": "nanoseconds"}]
    programs = [program | {"kernels": program["kernels"] | times}]
    viewer = open_report(ExploreDocument(index | {"programs": programs, "figures": figures}, whole.chunks))
    viewer.find(".pick .name", has_text="second").wait_for()
    assert viewer.texts("nav .k > .name") == ["second", "first", "third"]
    assert viewer.texts("nav .k em") == ["15.2 ms", "900 ns", "\N{EN DASH}"]
    assert "device time 15.2 ms" in viewer.text("header")
    assert viewer.axe() == []
    assert viewer.cut_texts() == []
    viewer.find("nav select.order").select_option("file")
    assert viewer.texts("nav .k > .name") == ["first", "second", "third"]
    assert "ms" not in "".join(viewer.texts("nav .k em"))


def test_without_times_there_is_no_such_order(open_report: Open) -> None:
    viewer = open_report(with_kernels({name: chunk_of(small_document()) for name in TIMES}))
    viewer.find("nav .k").first.wait_for()
    orders = viewer.texts("nav select.order option")
    assert orders[0] == "worst first"
