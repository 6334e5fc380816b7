"""Answers as text and JSON, and the document that viewers show."""
