"""Answers about several programs of which some have none: the others are given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from kernlens.analysis.kernel_names import called
from kernlens.cli.output import print_message
from kernlens.errors import UnsupportedError

if TYPE_CHECKING:
    from kernlens.pipeline.compile_stages import Pipeline

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def those_that_can(work: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """Return what ``work`` answers of each item. If it raises UnsupportedError for an item, print why to standard
    error. Raises the first of these if there is no answer at all."""
    answers: list[Answer] = []
    reasons: list[UnsupportedError] = []
    for item in items:
        try:
            answers.append(work(item))
        except UnsupportedError as error:
            reasons.append(error)
    if reasons and not answers:
        raise reasons[0]
    print_message(*(f"kernlens: {reason}" for reason in dict.fromkeys(map(str, reasons))))
    return answers


def those_with_kernel(pipelines: list[Pipeline], kernel: str | None) -> tuple[list[Pipeline], str | None]:
    """Return the programs whose stages name the kernel, all if none does, and its name there: it may be as C++ shows
    it. A part of a name will not do: it can be the whole name of a function, which stages have too."""
    if kernel is None:
        return pipelines, None
    of_each = [{snapshot.kernel for snapshot in pipeline.snapshots if snapshot.kernel} for pipeline in pipelines]
    known = {name for names in of_each for name in names}
    shown = next((name for name in known if kernel not in known and kernel in called(name)), kernel)
    having = [pipeline for pipeline, names in zip(pipelines, of_each, strict=True) if shown in names]
    return having or pipelines, shown
