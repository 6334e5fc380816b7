"""What is made once: by whom it is made, and when it is made again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.made_once import folder_kept_by_content, once


def test_it_is_made_again_when_an_input_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNLENS_TEST_CACHE", str(tmp_path / "cache"))
    source = tmp_path / "source.c"
    fills = []

    def fill(folder: Path) -> None:
        fills.append(folder)
        (folder / "product").write_text(source.read_text())

    for text, flags, count in (("a", "-O1", 1), ("a", "-O1", 1), ("b", "-O1", 2), ("b", "-O2", 3), ("a", "-O1", 3)):
        source.write_text(text)
        assert (folder_kept_by_content("thing", [flags, source], fill) / "product").read_text() == text
        assert len(fills) == count
    assert len(list((tmp_path / "cache/made").iterdir())) == 3


def test_a_failure_is_not_kept(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNLENS_TEST_CACHE", str(tmp_path / "cache"))

    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise ValueError("a warning")

    for _ in range(2):
        with pytest.raises(ValueError, match="a warning"):
            folder_kept_by_content("thing", ["x"], fail)
        with pytest.raises(ValueError, match="a warning"):
            once(tmp_path_factory, "failing-thing", fail)
    assert list((tmp_path / "cache/made").iterdir()) == []
    folder = once(tmp_path_factory, "failing-thing", lambda folder: (folder / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]
    assert once(tmp_path_factory, "failing-thing", fail) == folder
