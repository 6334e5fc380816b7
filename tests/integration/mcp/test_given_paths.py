"""The paths that kernlens mcp refuses to be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.cli.test_cli import kernlens


@pytest.mark.parametrize(
    ("path", "words"),
    [("nowhere", "there is no file or folder nowhere"), ("/", "holds much"), (str(Path.home()), "holds much")],
)
def test_paths_that_cannot_be_given(path: str, words: str) -> None:
    done = kernlens("mcp", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
