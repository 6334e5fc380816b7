"""Recordings: written by a compile or a capture, read by everything else."""
