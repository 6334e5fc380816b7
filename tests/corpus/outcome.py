"""The outcome of a check: what it counted, and where the two sides differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Outcome:
    """The outcome of a check: ``compared`` things of ``unit``; ``differences`` says where the two sides disagree.

    ``contradicted`` and ``without_line`` count instructions about which the compiler contradicts itself (``check_dump``).
    """

    unit: str
    compared: int = 0
    contradicted: int = 0
    without_line: int = 0
    differences: list[str] = field(default_factory=list)

    def compare(self, where: str, ours: Sequence[object], theirs: Sequence[object]) -> None:
        """Count every element and note the first that differs, and a differing length."""
        self.compared += max(len(ours), len(theirs))
        for index, (left, right) in enumerate(zip(ours, theirs, strict=False)):
            if left != right:
                self.differences.append(f"{where}[{index}]: kernlens {left!r}, oracle {right!r}")
                return
        if len(ours) != len(theirs):
            self.differences.append(f"{where}: kernlens has {len(ours)}, the oracle {len(theirs)}")

    @property
    def aside(self) -> str:
        """What stands behind the counts: the instructions about which the compiler contradicts itself."""
        if not self.contradicted and not self.without_line:
            return ""
        return (
            f" (aside from {self.contradicted:,} where the compiler's dump contradicts its own line table,"
            f" and {self.without_line:,} to which the table gives no line)"
        )

    def add(self, other: Outcome) -> None:
        self.compared += other.compared
        self.contradicted += other.contradicted
        self.without_line += other.without_line
        self.differences += other.differences
