"""``viewer/tests/add.html``, which the viewer's own tests read, is a page as kernlens writes it now."""

from typing import Any

from kernlens.report.explore.single_file import page
from tests.browser.made import small_document
from tests.explore_reader import Page
from tests.tree import ROOT

SAMPLE = ROOT / "viewer/tests/add.html"


def written() -> str:
    """The page of a document that was made by hand."""
    return "".join(page(small_document(), ""))


def document_in(text: str) -> dict[str, Any]:
    """The document of a page, unpacked: packed by another zlib it has other bytes."""
    shown = Page(text)
    document: dict[str, Any] = shown.index | {"chunks": {chunk: shown.chunk(chunk) for chunk in shown.index["chunks"]}}
    return document


def test_the_sample_is_what_is_written_now() -> None:
    advice = "the document has changed: write the sample anew, with python -m tests.unit.viewer.test_viewer_sample"
    assert document_in(SAMPLE.read_text()) == document_in(written()), advice


if __name__ == "__main__":
    SAMPLE.write_text(written())
