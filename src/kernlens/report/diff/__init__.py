"""Comparisons in words, documents and pages."""
