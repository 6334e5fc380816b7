"""The file in which the observer writes what a kernel did (docs/formats/observation.md)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kernlens.dataclass import dataclass, replace
from kernlens.errors import FormatError
from kernlens.formats.oclgrind_message import OF_BUFFER, fault_of, with_buffers, without_followers, without_indices
from kernlens.model.behaviour import (
    ATOMIC,
    GLOBAL,
    KINDS,
    SPACES,
    Behaviour,
    ObservedAccess,
    ObservedBranch,
    ObservedGroups,
    ObservedLoop,
    ObservedMachine,
    ObservedRequest,
)
from kernlens.model.fault import NO_RACES, Fault, merged_faults
from kernlens.model.source_map import SourcePlace

FORMAT = "observation"
_VERSION = 1
#: Records of a section, at most: 100 MB of bitcode have fewer.
_MOST = 2_000_000
#: The records that end in a text, and the numbers before it; others consist of numbers.
_TEXTS = {"launch": 11, "build": 0, "argument": 1, "left_out": 0, "file": 0, "message": 3, "variable": 3}
_WHY_NO_RACES = "that takes 48 bytes for each byte of a buffer, more than a quarter of this machine's memory"
_NUMBER = re.compile(r"-?[0-9]{1,20}")
_ESCAPE = re.compile(r"\\(.)")
#: An access has so many numbers: five, twenty counters, two strides.
_OF_ACCESS = 27
#: And the groups of a launch: two, three strata of two, four ranges of three.
_OF_GROUPS = 20


@dataclass(frozen=True, slots=True)
class _Record:
    kind: str
    numbers: tuple[int, ...]
    text: str


@dataclass(frozen=True, slots=True)
class ObservedLaunch:
    """A launch in a file of several builds: the number of its ``build``, "" if it is not known, its ``kernel``, and the section
    on it; empty if the process ended while it ran."""

    build: str
    kernel: str
    section: bytes


def split_observations(content: bytes) -> list[ObservedLaunch]:
    """Return the launches of an application's file, unread. Those that were not counted have a section too if the interpreter
    said something of them."""
    launches: list[ObservedLaunch] = []
    pieces = re.split(rb"^(?=begin\t|observation\t)", content, flags=re.MULTILINE)
    for piece in pieces[1:]:
        if piece.startswith(b"begin\t"):
            build, _, kernel = piece[6:].partition(b"\n")[0].decode("utf-8", "replace").partition("\t")
            launches.append(ObservedLaunch(build, _unescaped(kernel), b""))
            continue
        if not piece.endswith(b"\nend\n"):
            continue
        head = re.match(rb"[^\n]*\nlaunch\t(?:[^\t\n]*\t){11}([^\n]*)\n(?:build\t([^\n]*)\n)?", piece)
        if head is None:
            raise FormatError("a section has no launch", format=FORMAT)
        kernel = _unescaped(head[1].decode("utf-8", "replace"))
        whole = ObservedLaunch((head[2] or b"").decode("utf-8", "replace"), kernel, piece)
        if launches and launches[-1] == replace(whole, section=b""):
            launches.pop()
        launches.append(whole)
    return launches


def read_observations(content: bytes, paths: Mapping[str, str]) -> list[Behaviour]:
    """Return the complete sections of a file. ``paths`` has what stands in place of the names of files in it. for
    another file, and for one whose records do not fit together."""
    sections: list[list[_Record]] = []
    lines = content.decode("utf-8", "replace").split("\n")
    if len(lines) > _MOST:
        raise FormatError(f"it has {len(lines):,} records", format=FORMAT)
    is_open = False
    for number, line in enumerate(lines, 1):
        kind, _, rest = line.partition("\t")
        if kind == "observation":
            sections.append([])
            is_open = True
        elif line and not is_open:
            raise FormatError(f"line {number:,} is in no section", format=FORMAT)
        if kind == "end":
            is_open = False
        elif line:
            sections[-1].append(_record(number, kind, rest))
    if is_open:
        sections.pop()
    return [_Section(records, paths).behaviour() for records in sections]


def _record(number: int, kind: str, rest: str) -> _Record:
    count = _TEXTS.get(kind)
    fields = rest.split("\t") if count is None else rest.split("\t", count)
    numbers = fields if count is None else fields[:count]
    text = "" if count is None or len(fields) <= count else fields[count]
    if not all(map(_NUMBER.fullmatch, numbers)) or (count is not None and len(fields) != count + 1):
        raise FormatError(f"line {number:,} is no record of the kind {kind[:20]!r}", format=FORMAT)
    return _Record(kind, tuple(map(int, numbers)), _unescaped(text))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: "\n" if match[1] == "n" else match[1], text)


class _Section:
    """The records of one launch. Raises FormatError where a number names a record that is not there."""

    def __init__(self, records: Sequence[_Record], paths: Mapping[str, str]) -> None:
        self._records: dict[str, list[_Record]] = {}
        for record in records:
            self._records.setdefault(record.kind, []).append(record)
        self._paths = paths
        self._files = [paths.get(record.text, record.text) for record in self._of("file", 0)]
        self._places = self._read_places()
        self._blocks = {record.numbers[0]: record.numbers[1:] for record in self._of("block", 5)}

    def _of(self, kind: str, count: int) -> list[_Record]:
        records = self._records.get(kind, [])
        if any(len(record.numbers) < count for record in records):
            raise FormatError(f"a record {kind!r} has too few numbers", format=FORMAT)
        return records

    def _read_places(self) -> list[tuple[SourcePlace | None, tuple[SourcePlace, ...]]]:
        places: list[tuple[SourcePlace | None, tuple[SourcePlace, ...]]] = []
        for record in self._of("place", 4):
            file, line, column, outer = record.numbers
            if not 0 <= file < len(self._files) or not -1 <= outer < len(places):
                raise FormatError("a place names no file or call", format=FORMAT)
            call, calls = places[outer] if outer >= 0 else (None, ())
            own = SourcePlace(self._files[file], line, column) if line else None
            places.append((own, (call, *calls) if call else calls))
        return places

    def _place(self, number: int) -> tuple[SourcePlace | None, tuple[SourcePlace, ...]]:
        if number == -1:
            return None, ()
        if not 0 <= number < len(self._places):
            raise FormatError(f"there is no place {number}", format=FORMAT)
        return self._places[number]

    def _block(self, number: int) -> tuple[int, ...]:
        if number not in self._blocks:
            raise FormatError(f"there is no block {number}", format=FORMAT)
        return self._blocks[number]

    def behaviour(self) -> Behaviour:
        """Return what the section says."""
        heads, launches = self._of("observation", 6), self._of("launch", 11)
        if len(launches) != 1 or len(heads) != 1 or heads[0].numbers[0] != _VERSION:
            raise FormatError("a section has not one launch, or is of another version", format=FORMAT)
        _, width, banks, bank_bytes, has_phases, is_split = heads[0].numbers[:6]
        numbers = launches[0].numbers
        machine = ObservedMachine(width, None, banks, bank_bytes, bool(has_phases), bool(is_split))
        accesses = self._accesses()
        return Behaviour(
            launches[0].text,
            machine,
            (numbers[0], numbers[1], numbers[2]),
            (numbers[3], numbers[4], numbers[5]),
            *(numbers[6], numbers[7], bool(numbers[10]), numbers[8], numbers[9]),
            pieces=self._pieces(),
            accesses=accesses,
            branches=tuple(self._branch(record) for record in self._of("branch", 2)),
            loops=tuple(self._loop(record) for record in self._of("loop", 11)),
            barriers=tuple((self._place(record.numbers[0])[0], record.numbers[1]) for record in self._of("barrier", 2)),
            buffers=self._buffers(),
            faults=self._faults((numbers[3], numbers[4], numbers[5]), width, accesses),
            ran=self._ran(numbers[7]),
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        names = ", ".join(record.text for record in self._of("left_out", 0))
        return (f"{NO_RACES} {names}: {_WHY_NO_RACES}",) if names else ()

    def _ran(self, done: int) -> ObservedGroups | None:
        """Return which groups ran, and how far they differ; None where the section does not say it."""
        heads = self._of("groups", _OF_GROUPS)
        if not heads:
            return None
        chosen, is_sampled, *numbers = heads[0].numbers
        ranges = [
            (least, total / max(1, done), most)
            for least, total, most in zip(numbers[6::3], numbers[7::3], numbers[8::3], strict=False)
        ]
        names = {record.numbers[0] >> OF_BUFFER: record.text for record in self._of("argument", 1)}
        ways: dict[int, set[str]] = {}
        for record in self._of("access", _OF_ACCESS + 1):
            kind, space, buffer = record.numbers[1], record.numbers[2], record.numbers[_OF_ACCESS]
            if 0 <= kind < len(KINDS) and SPACES.index(GLOBAL) == space:
                ways.setdefault(buffer, set()).add(KINDS[kind])
        shared = tuple(names[each] for each, own in ways.items() if each in names and (len(own) > 1 or ATOMIC in own))
        strata = tuple(zip(numbers[:6:2], numbers[1:6:2], strict=True))
        return ObservedGroups(chosen, bool(is_sampled), strata, ranges[0], tuple(ranges[1:4]), shared)

    def _pieces(self) -> list[tuple[SourcePlace, int, int, int, bool]]:
        pieces = []
        for record in self._of("code", 3):
            place, (runs, sub_groups, _, ungrouped) = self._place(record.numbers[1])[0], self._block(record.numbers[0])
            if place is not None:
                pieces.append((place, record.numbers[2], runs, sub_groups, not ungrouped))
        return pieces

    def _accesses(self) -> tuple[ObservedAccess, ...]:
        accesses = list(map(self._access, self._of("access", _OF_ACCESS)))
        names = self._names()
        for record in self._of("example", 4):
            number, size, *lanes = record.numbers
            if not 0 <= number < len(accesses) or size <= 0 or min(lanes) < 0 or len(lanes) % 2:
                raise FormatError("an example is of no access, or has no whole lanes", format=FORMAT)
            example = ObservedRequest.of(size, lanes[::2], lanes[1::2], names.get(str(lanes[1] >> OF_BUFFER)))
            if example.is_bounded:
                accesses[number] = replace(accesses[number], example=example)
        return tuple(accesses)

    def _buffers(self) -> tuple[tuple[int, int], ...]:
        """Return those that an access came to first; all if the file does not tell."""
        first = {each.numbers[_OF_ACCESS] if len(each.numbers) > _OF_ACCESS else None for each in self._of("access", 3)}
        every = [(record.numbers[0], record.numbers[1]) for record in self._of("buffer", 2)]
        return tuple(each for each in every if None in first or each[0] >> OF_BUFFER in first)

    def _names(self) -> dict[str, str]:
        """Return the arguments of the kernel by the numbers of their buffers."""
        return {str(record.numbers[0] >> OF_BUFFER): record.text for record in self._of("argument", 1)}

    def _access(self, record: _Record) -> ObservedAccess:
        number, kind, space, width, _, *counters = record.numbers
        if not (0 <= kind < len(KINDS) and 0 <= space < len(SPACES)):
            raise FormatError("an access is of no kind or space", format=FORMAT)
        place, calls = self._place(number)
        requests, lanes, all_bytes, used = counters[:4]
        wavefronts, least_wavefronts, distinct, contention = counters[10:14]
        same, consecutive, strided, irregular, single = counters[14:19]
        return ObservedAccess(
            *(place, calls, KINDS[kind], SPACES[space], width, requests, lanes, all_bytes, used),
            (counters[4], counters[5], counters[6]),
            (counters[7], counters[8], counters[9]),
            wavefronts or None,
            least_wavefronts or None,
            distinct,
            contention,
            (same, consecutive, strided, irregular, single),
            (counters[20], counters[21]) if strided else None,
            counters[19],
        )

    def _branch(self, record: _Record) -> ObservedBranch:
        block = self._block(record.numbers[0])
        return ObservedBranch(self._place(record.numbers[1])[0], block[1], block[2], record.numbers[2:])

    def _loop(self, record: _Record) -> ObservedLoop:
        header, _, place, entries, of_sub_groups, _, ungrouped, rounds, least, most, tests_first = record.numbers[:11]
        block = self._block(header)
        is_whole = of_sub_groups and not ungrouped and not block[3]
        return ObservedLoop(
            *(self._place(place)[0], entries, least, rounds / entries if entries else 0.0, most),
            (block[1] - (of_sub_groups if tests_first else 0)) / of_sub_groups if is_whole else None,
        )

    def _faults(
        self, local_size: tuple[int, int, int], width: int, accesses: Sequence[ObservedAccess]
    ) -> tuple[Fault, ...]:
        messages = sorted(self._of("message", 3), key=lambda record: record.numbers[0])
        names = self._names()
        sizes = {record.numbers[0] >> OF_BUFFER: record.numbers[1] for record in self._of("buffer", 2)}
        variables = {
            (SPACES[record.numbers[0] % len(SPACES)], record.numbers[1]): (record.text, bool(record.numbers[2]))
            for record in self._of("variable", 3)
        }
        faults = (
            fault_of(each.numbers[1], each.text, each.numbers[2], self._paths, local_size, width, sizes, variables)
            for each in messages
        )
        # The messages name one pair of work-items of each address. The plugin has seen all.
        is_apart = any(record.numbers[0] == 0 for record in self._of("sharing", 1))
        known = [
            replace(each, argument=names.get(each.argument, None if each.argument.isdecimal() else each.argument))
            if each.argument is not None
            else each
            for each in faults
            if each is not None
        ]
        named = merged_faults(with_buffers(known, accesses))
        told = without_followers(without_indices(named))
        return tuple(replace(each, is_lockstep=each.is_lockstep and is_apart) for each in told)
