"""Modules and links in words and documents."""
