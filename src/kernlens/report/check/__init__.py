"""Checks in words."""
