"""The order of an application's events, as tests/integration/capture/sources/event_layer.c writes it, plain and captured.

What is promised of an order is compared, and what a driver may do as it likes is not: the commands of each thread on each queue
with what they wait for, in their order; that no command ends before one that it has to follow (what it waits for, or what the
same thread put into an ordered queue before it); where queues have profiling, that its start is not before their end; and that
each command ends. Where two plain runs end all commands of an application in the same order, the captured one must as well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

#: A command: its queue and its number there. Of a user event the queue is "u".
Name = tuple[str, str]
#: Lines of a log that are read.
_LINES = 200_000


@dataclass
class Order:
    """What was enqueued, in that order: each command with its thread, function and kernel, and what it has to follow; and how
    each ended, in that order: status, start and end."""

    commands: dict[Name, tuple[str, str]] = field(default_factory=dict)
    waits: dict[Name, list[Name]] = field(default_factory=dict)
    follows: dict[Name, list[Name]] = field(default_factory=dict)
    sequences: dict[tuple[str, str], list[Name]] = field(default_factory=lambda: defaultdict(list))
    ended: dict[Name, tuple[int, int, int]] = field(default_factory=dict)
    places: dict[Name, int] = field(default_factory=dict)

    def told(self) -> Counter[tuple[tuple[str, ...], ...]]:
        """Return the commands of each thread on each queue, in their order, without the numbers that threads get by chance."""
        return Counter(
            tuple(
                (*self.commands[name], *sorted(self._relative(name, each) for each in self.waits[name]))
                for name in names
            )
            for names in self.sequences.values()
        )

    def _relative(self, name: Name, other: Name) -> str:
        if other[0] == name[0]:
            return f"{int(name[1]) - int(other[1])} before"
        return "a user event" if other[0] == "u" else " ".join(self.commands.get(other, ("of another process",)))

    def faults(self) -> list[str]:
        """Return what no order of events may have."""
        faults = [f"{name} has not ended" for name in self.commands if name not in self.ended]
        for name, others in self.follows.items():
            for other in others:
                if name not in self.places or other not in self.places:
                    continue
                if self.places[name] < self.places[other]:
                    faults.append(f"{name} ended before {other}")
                start, end = self.ended[name][1], self.ended.get(other, (0, 0, 0))[2]
                if start and end and start < end:
                    faults.append(f"{name} started before the end of {other}")
        return faults


def read(path: Path) -> Order:
    """Return the order that the layer wrote."""
    order = Order()
    for place, line in enumerate(path.read_text().splitlines()[:_LINES]):
        kind, *words = line.split(" ")
        if kind == "E":
            queue, number, thread, ordered, function, kernel, waits = words
            name = (queue, number)
            order.commands[name] = (function, kernel)
            order.waits[name] = (
                [] if waits == "-" else [(each.split(".")[0], each.split(".")[1]) for each in waits.split(",")]
            )
            earlier = order.sequences[queue, thread]
            order.follows[name] = order.waits[name] + (earlier[-1:] if ordered == "1" else [])
            earlier.append(name)
        elif kind == "C":
            name = (words[0], words[1])
            order.ended[name] = (int(words[2]), int(words[3]), int(words[4]))
            order.places[name] = place
        elif kind == "S":
            order.places["u", words[0]] = place
    return order


def differences(first: Order, again: Order, captured: Order) -> list[str]:
    """Return how the captured order differs from the two plain ones, which say what is the same in each run."""
    if not first.commands:
        return ["no event was seen: its loader opens no layers"]
    differing = (
        [f"captured: {each}" for each in captured.faults()[:3]] if not first.faults() and not again.faults() else []
    )
    if first.told() == again.told() != captured.told():
        differing.append(f"{sum((first.told() - captured.told()).values())} sequences of commands are others")
    if len(first.commands) != len(captured.commands) and len(first.commands) == len(again.commands):
        differing.append(f"{len(captured.commands)} commands, {len(first.commands)} without kernlens")
    # Threads get the numbers of their queues by chance.
    statuses = [
        Counter((each.commands.get(name), ended[0]) for name, ended in each.ended.items())
        for each in (first, again, captured)
    ]
    if statuses[0] == statuses[1] != statuses[2]:
        differing.append("commands ended with other statuses")
    if list(first.ended) == list(again.ended) != list(captured.ended):
        differing.append("commands ended in another order")
    return differing
