"""Answers as text, JSON and HTML."""
