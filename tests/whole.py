"""What each run tests, and what takes minutes and is tested before a release: with ``KERNLENS_WHOLE`` set (docs/testing.md)."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest

WHOLE = bool(os.environ.get("KERNLENS_WHOLE"))
#: For a test, or a parameter of one. The summary of a run counts what was left out.
before_release = pytest.mark.skipif(not WHOLE, reason="takes minutes: KERNLENS_WHOLE is not set (docs/testing.md)")


def each_run(*names: str, others: Iterable[str]) -> list[Any]:
    """A test's parameters: those of each run, and behind them the others, which are tried before a release."""
    return [*names, *(pytest.param(name, marks=before_release) for name in others if name not in names)]
