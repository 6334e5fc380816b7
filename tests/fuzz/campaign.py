"""The fuzzing of targets, some at a time, with reports on how far it has come and what was found."""

from __future__ import annotations

import os
import re
import selectors
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.fuzzer import start
from tests.fuzz.targets import Target

#: Seconds between lines of progress about a target.
_PAUSE = 10.0
#: What libFuzzer says of its work: inputs so far, and coverage; ``ft`` are features, counts of ways taken.
_STATUS = re.compile(rb"^#(\d+)\t\S+ +cov: (\d+) ft: (\d+)")
#: Of a child that crashed, so many lines of what it said are shown.
_SHOWN = 30


@dataclass
class Course:
    """The progress of the fuzzing of one target."""

    target: Target
    process: int
    words: int
    started: float = field(default_factory=time.monotonic)
    told: float = field(default_factory=time.monotonic)
    inputs: int = 0
    edges: int = 0
    features: int = 0
    rest: bytes = b""
    lines: list[bytes] = field(default_factory=list)
    failure: int = 0

    def __str__(self) -> str:
        rate = self.inputs / max(time.monotonic() - self.started, 0.1)
        return (
            f"{self.target.name:18} {self.inputs:>10,} inputs {rate:>8,.0f}/s {self.edges:>6,} edges"
            f" {self.features:>7,} features"
        )

    def hear(self, words: bytes) -> None:
        """Take what libFuzzer said."""
        *lines, self.rest = (self.rest + words).split(b"\n")
        for line in lines:
            status = _STATUS.match(line)
            if status is None:
                self.lines = [*self.lines[1 - _SHOWN :], line]
            else:
                self.inputs, self.edges, self.features = map(int, status.groups())

    def is_over(self) -> bool:
        """Read on, and return whether the child has ended."""
        words = os.read(self.words, 1 << 16)
        if words:
            self.hear(words)
            return False
        self.failure = os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])
        return True


def run(
    targets: Sequence[Target], counts: Mapping[str, int], options: Sequence[str], findings: Path, work: Path, jobs: int
) -> list[Course]:
    """Fuzz all targets, ``jobs`` at a time, each with libFuzzer's ``options`` and as many inputs as ``counts`` has for
    it (-1: any number). ``work`` takes what it learns."""
    waiting, over = list(targets), []
    with selectors.DefaultSelector() as running:
        while waiting or running.get_map():
            while waiting and len(running.get_map()) < jobs:
                target = waiting.pop(0)
                grown = work / target.name
                grown.mkdir(parents=True, exist_ok=True)
                own = [
                    f"-runs={counts[target.name]}",
                    f"-artifact_prefix={findings}/{target.name}-crash-",
                    str(grown),
                    str(target.folder),
                ]
                course = Course(target, *start(target, [*options, *own], findings))
                running.register(course.words, selectors.EVENT_READ, course)
            for key, _ in running.select():
                course = key.data
                is_over = course.is_over()
                if is_over:
                    # In this order: later children hold a copy of the pipe's end, with which a descriptor that is closed
                    # first stays in the selector's set, and answers under its number for the next one's.
                    running.unregister(key.fd)
                    os.close(key.fd)
                    over.append(course)
                if is_over or time.monotonic() - course.told > _PAUSE:
                    course.told = time.monotonic()
                    print("done" if is_over else "    ", course, flush=True)
    return over


def report(courses: Sequence[Course], findings: Path) -> int:
    """Say what was found, and how to try it again. Returns the exit status: 1 if anything was."""
    result = sorted(path for path in findings.iterdir() if path.suffix != ".txt")
    print(f"{sum(course.inputs for course in courses):,} inputs, {len(result)} found")
    for path in result:
        story = path.with_name(path.name + ".txt")
        last = story.read_text("utf-8").rstrip().rsplit("\n", 1)[-1] if story.exists() else "it crashed or hung"
        print(f"  {path}\n    {last[:300]}\n    again: python -m tests.fuzz --replay {path}")
    for course in courses:
        if course.failure:
            print(f"{course.target.name} ended with {course.failure}:")
            print(b"\n".join(course.lines).decode("utf-8", "backslashreplace"))
    return 1 if result or any(course.failure for course in courses) else 0
