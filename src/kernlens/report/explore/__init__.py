"""The ``explore`` document that viewers show of programs, as an index and chunks (docs/formats/explore.md)."""

from kernlens.report.explore.explore_document import ExploreDocument, explore_document

__all__ = ["ExploreDocument", "explore_document"]
