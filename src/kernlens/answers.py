"""The types of what ``kernlens.diff``, ``check``, ``stages`` and ``capture`` return, and of what these hold.

A verdict and its findings are in ``kernlens.model.verdict``, the rows of a sweep in ``kernlens.model.sweep_row``.
"""

from __future__ import annotations

from kernlens.analysis.comparison.kernel_changes import FigureChange, KernelChange, LineChange
from kernlens.analysis.comparison.pairs import KernelPair, Pairing, Unpaired
from kernlens.analysis.comparison.source_lines import LineKey
from kernlens.analysis.comparison.stage_partings import Parting, PassParting
from kernlens.model.sweep_row import SweepRow
from kernlens.model.verdict import Finding, Verdict
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.verbs.capture.capture import Capture
from kernlens.verbs.capture.captured import CapturedKernel
from kernlens.verbs.diff import Difference

__all__ = [
    "Capture",
    "CapturedKernel",
    "Difference",
    "FigureChange",
    "Finding",
    "KernelChange",
    "KernelPair",
    "LineChange",
    "LineKey",
    "Pairing",
    "Parting",
    "PassParting",
    "Pipeline",
    "SweepRow",
    "Unpaired",
    "Verdict",
]
