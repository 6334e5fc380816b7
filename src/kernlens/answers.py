"""The types of what ``kernlens.annotate``, ``assemble``, ``diff``, ``check``, ``stages``, ``sweep``, ``capture``,
``observe`` and ``replay`` return.

Each ``Tabular`` answer has a ``table``, and gives it to pandas, polars, DuckDB and whoever else takes Arrow's streams.
"""

from __future__ import annotations

from kernlens.analysis.comparison.kernel_changes import FigureChange, KernelChange
from kernlens.analysis.comparison.line_changes import LineChange
from kernlens.analysis.comparison.pairs import KernelPair, Pairing, Unpaired
from kernlens.analysis.comparison.source_lines import LineKey
from kernlens.analysis.comparison.stage_partings import Parting, PassParting
from kernlens.analysis.comparison.totals import Totals
from kernlens.analysis.observed_causes import Cause
from kernlens.analysis.ranked_causes import RankedCause
from kernlens.model.advice import Advice, AdvisedKernel, Edit
from kernlens.model.behaviour import (
    Behaviour,
    ObservedAccess,
    ObservedBranch,
    ObservedLine,
    ObservedLoop,
    ObservedMachine,
)
from kernlens.model.columns import Table, Tabular
from kernlens.model.fault import Fault
from kernlens.model.sweep_row import Sweep, SweepRow
from kernlens.model.verdict import Finding, Verdict
from kernlens.pipeline.compile_stages import Pipeline
from kernlens.verbs.advise import AdviceAnswer
from kernlens.verbs.annotate import Annotation
from kernlens.verbs.assemble import Assembly
from kernlens.verbs.capture.capture import Capture
from kernlens.verbs.capture.captured import CapturedKernel
from kernlens.verbs.difference import Difference
from kernlens.verbs.replay.elements import Tolerance
from kernlens.verbs.replay.replayed import Compared, Profile, Replayed, ReplayedBuild

__all__ = [
    "Advice",
    "AdviceAnswer",
    "AdvisedKernel",
    "Annotation",
    "Assembly",
    "Behaviour",
    "Capture",
    "CapturedKernel",
    "Cause",
    "Compared",
    "Difference",
    "Edit",
    "Fault",
    "FigureChange",
    "Finding",
    "KernelChange",
    "KernelPair",
    "LineChange",
    "LineKey",
    "ObservedAccess",
    "ObservedBranch",
    "ObservedLine",
    "ObservedLoop",
    "ObservedMachine",
    "Pairing",
    "Parting",
    "PassParting",
    "Pipeline",
    "Profile",
    "RankedCause",
    "Replayed",
    "ReplayedBuild",
    "Sweep",
    "SweepRow",
    "Table",
    "Tabular",
    "Tolerance",
    "Totals",
    "Unpaired",
    "Verdict",
]
