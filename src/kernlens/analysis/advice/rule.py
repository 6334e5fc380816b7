"""A rule of advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.dataclass import NamedTuple
from kernlens.model.advice import Advice


class Rule(NamedTuple):
    """A rule: its ``key``, which is also the anchor of its section in docs/advice.md, its ``title`` there, and the function
    that yields its advice on a kernel. Advice names the instructions that it is about; a rule that cannot is silent."""

    key: str
    title: str
    advise: Callable[[Facts], Iterator[Advice]]
