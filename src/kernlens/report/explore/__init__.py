"""The ``explore`` document: what a viewer shows of programs, as an index and chunks (docs/formats/explore.md)."""

from kernlens.report.explore.document import Document, document

__all__ = ["Document", "document"]
