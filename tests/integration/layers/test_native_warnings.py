"""The native sources have no warning, with more of them switched on than where users build."""

from __future__ import annotations

from tests.integration.layers import native_builds

WARNINGS = (
    "-Wall -Wextra -Wshadow -Wconversion -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual"
    " -Wnull-dereference -Wvla -Wundef"
)  # not -Wwrite-strings: Python's own interface wants texts that could be written


def test_no_warning() -> None:
    native_builds.built_parts("without-warnings", ("gcc",), f"{WARNINGS} -Werror")
