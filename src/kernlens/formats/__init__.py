"""Bytes to model: one file per format; no driver, no subprocess, no path names."""
