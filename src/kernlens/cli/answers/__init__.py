"""Answers that the command line alone prints; they open nothing."""
