"""The messages of Oclgrind 21.10 about faults: a sentence, then the entities (work-items) and places that it is about.

Source: what Oclgrind 21.10 prints of kernels with each fault (``tests/integration/observe``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kernlens.dataclass import replace
from kernlens.model.behaviour import ATOMIC, CONSTANT, GLOBAL, LOAD, STORE, ObservedAccess
from kernlens.model.fault import OF_FLAGS, VARIABLE, Fault
from kernlens.model.source_map import SourcePlace

#: The least of the numbers that Oclgrind gives its messages' types that is a fault: a warning.
_WARNING = 2
#: The names of variables in local and private memory, by the memory and Oclgrind's number, and whether it is an argument.
Names = Mapping[tuple[str, int], tuple[str, bool]]
#: The kind of what ends a launch: the second line says why.
FATAL = "fatal"
_FATAL = re.compile(r"OCLGRIND FATAL ERROR")
#: What it says of a constant of ``half``, and of computing with one.
_HALF = re.compile(r"Unsupported (?:constant type: 0|float size: 2 bytes)\.?")
_KINDS = (
    (re.compile(r"Invalid (?:read from write|write to read)-only buffer"), "other"),
    (re.compile(r"Invalid (?:read|write|load|store|.*access)|Memory allocated|Index .* (?:out of|exceeds)"), "bounds"),
    (re.compile(r".*\bdata race\b"), "race"),
    (re.compile(r".*[Uu]ninitiali[sz]ed"), "uninitialized"),
    (re.compile(r"Work-(?:group|item) divergence"), "barrier"),
)
_PLACE = re.compile(r"^[ \t]*At line (\d{1,9})(?: \(column (\d{1,9})\))? of (.*?):?$", re.MULTILINE)
_ENTITY = re.compile(r"Global\((\d+),(\d+),(\d+)\) Local\((\d+),(\d+),(\d+)\) Group\((\d+),(\d+),(\d+)\)")
_ADDRESS = re.compile(r"(global|local|constant|private) memory address 0x([0-9a-f]{1,16})")
_BOUNDS = re.compile(r"Invalid (read|write) of size (\d{1,9})")
_FLAGS = re.compile(r"Invalid (read|write) (?:from|to) (?:write|read)-only buffer")
_RACE = re.compile(r"(Read-write|Write-write) data race")
_WRITTEN = re.compile(r"Uninitialized value written to (\w{1,20}) memory")
_DIVERGENCE = re.compile(r"Work-(?:group|item) divergence detected \(([\w ]{1,60})\)")
_INDEX = re.compile(r"Index \((-?\d{1,20})\) exceeds static array size \((\d{1,20})\)")
_ALIGNMENT = re.compile(r"Invalid memory (load|store) - (?:source|destination) pointer is not aligned")
#: Oclgrind's addresses have the number of the buffer in their upper 16 bits, in private memory 32; what lies in front of a
#: buffer seems to be at the end of the one before.
OF_BUFFER = 48
_OF_PRIVATE = 32
#: What an index message becomes, and what stands for an array whose size is not known.
_ARRAY = re.compile(r"accesses an array of ([\d,]+) elements out of bounds")
_VARIABLE = re.compile(rf"\b{VARIABLE}( \w+)?")
#: How many work-items come to a barrier, and what the plugin adds to a message on one, and on a value that was never set.
_REACHED = re.compile(r"^[ \t]{0,8}Only (\d{1,9}) out of (\d{1,9}) work-items", re.MULTILINE)
_ABSENT = re.compile(r"^kernlens: absent Global\((\d{1,20}),(\d{1,20}),(\d{1,20})\)", re.MULTILINE)
_ORIGIN = re.compile(r"^kernlens: computed from ([^\n]{1,300})$", re.MULTILINE)
#: What it says of a store of one element of a vector whose others are not written yet.
_POISON = re.compile(r"^[ \t]*store .*\bpoison\b", re.MULTILINE)


def in_words(reason: str) -> str:
    """Return why a launch ended, in words of OpenCL where Oclgrind's are those of its own."""
    return f"it does not compute with half ({reason.rstrip('.')})" if _HALF.fullmatch(reason) else reason


def fault_of(
    type_: int,
    text: str,
    count: int,
    sources: Mapping[str, str],
    local_size: tuple[int, int, int],
    width: int,
    sizes: Mapping[int, int] | None = None,
    names: Names | None = None,
) -> Fault | None:
    """Return what a message says; None if it is no fault. ``sources`` has the paths of files by their names in it, ``sizes``
    the bytes of buffers by their numbers, ``names`` those of variables."""
    first = text.strip().split("\n")[0].strip()
    if type_ < _WARNING or not first:
        return None
    if _FATAL.match(first):
        return Fault(
            FATAL,
            in_words(next((line.strip() for line in text.strip().split("\n")[1:] if line.strip()), first)),
            (),
            (),
            None,
            count,
        )
    kind = next((kind for pattern, kind in _KINDS if pattern.match(first)), "other")
    if kind == "uninitialized" and _POISON.search(text):
        return None
    places = dict.fromkeys(
        SourcePlace(sources.get(match[3], match[3]), int(match[1]), int(match[2] or 0))
        for match in _PLACE.finditer(text)
    )
    entities = [tuple(map(int, match.groups())) for match in _ENTITY.finditer(text)]
    address = _ADDRESS.search(first)
    lanes = {(each[6:], (each[3] + local_size[0] * (each[4] + local_size[1] * each[5])) // width) for each in entities}
    is_local = address is not None and address[1] == "local"
    name, is_argument = _name(address, names or {})
    argument = name if is_argument else None
    if address is not None and address[1] == "global":
        argument = str(_buffer_and_byte(address)[0])
    sentence = _sentence(first, kind, sizes or {}, "" if is_argument else name)
    if kind == "uninitialized" and (origin := _ORIGIN.search(text)):
        sentence += f", computed from {origin[1]}"
    items = [(each[0], each[1], each[2]) for each in entities]
    if kind == "barrier" and (reached := _REACHED.search(text)):
        sentence += f": {int(reached[1]):,} of {int(reached[2]):,} do"
    if kind == "barrier" and (absent := _ABSENT.search(text)):
        sentence += ", this work-item does not"
        items = [(int(absent[1]), int(absent[2]), int(absent[3]))]
    return Fault(
        kind,
        sentence,
        tuple(places),
        tuple(items),
        argument,
        count,
        is_lockstep=kind == "race" and is_local and len(entities) > 1 and len(lanes) == 1,
    )


def without_indices(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the faults without those of an index where the access through it is one too, which then has the array's size."""
    indices = {id(each): match for each in faults if (match := _ARRAY.match(each.sentence))}
    accesses = [each for each in faults if each.kind == "bounds" and each.argument is None and id(each) not in indices]
    result = []
    for fault in faults:
        if id(fault) in indices:
            if not any(_lines(each) == _lines(fault) for each in accesses):
                result.append(fault)
            continue
        if fault in accesses:
            beside = [each for each in faults if id(each) in indices and _lines(each) == _lines(fault)]
            exact = [each for each in beside if each.places == fault.places]
            sizes = {indices[id(each)][1] for each in exact or beside}
            if len(sizes) == 1:
                array = rf"its array\1 of {sizes.pop()} elements"
                fault = replace(fault, sentence=_VARIABLE.sub(array, fault.sentence))
        result.append(fault)
    return tuple(result)


def with_buffers(faults: Sequence[Fault], accesses: Sequence[ObservedAccess]) -> Iterator[Fault]:
    """Yield the faults, those of a buffer's flags with the argument whose buffer it is: the message has none. It is known where
    all accesses of the place that do so are to one."""
    kinds = {OF_FLAGS["read"]: (LOAD, ATOMIC), OF_FLAGS["write"]: (STORE, ATOMIC)}
    for fault in faults:
        own = [
            each.example.argument if each.example is not None else None
            for each in accesses
            if each.space in (GLOBAL, CONSTANT)
            and each.place in fault.places
            and each.kind in kinds.get(fault.sentence, ())
        ]
        yield fault if not own or fault.argument is not None or len(set(own)) > 1 else replace(fault, argument=own[0])


def _lines(fault: Fault) -> frozenset[tuple[str, int]]:
    return frozenset((place.path, place.line) for place in fault.places)


def without_followers(faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return the faults without the uses of values that were never set, at the lines where they were read out of bounds."""
    reads = [_lines(each) for each in faults if each.kind == "bounds" and each.sentence.startswith("reads")]
    return tuple(each for each in faults if each.kind != "uninitialized" or _lines(each) not in reads)


def _name(address: re.Match[str] | None, names: Names) -> tuple[str, bool]:
    """Return the name of what an address belongs to, "" if it is not known, and whether that is an argument."""
    return ("", False) if address is None else names.get((address[1], _buffer_and_byte(address)[0]), ("", False))


def _sentence(first: str, kind: str, sizes: Mapping[int, int], name: str) -> str:
    """Return the message in kernlens's words; one that is not known as Oclgrind has it. ``name`` is the variable's."""
    where, address = _where(first, sizes, name), _ADDRESS.search(first)
    if match := _BOUNDS.match(first):
        memory = f" of {address[1]} memory" if address is not None and address[1] != "global" else ""
        done = f"{'reads' if match[1] == 'read' else 'writes'} {match[2]} bytes{memory} out of bounds"
        return f"{done}, {where.removesuffix(memory.replace(' of ', ' in ')) if memory else where}"
    if match := _FLAGS.match(first):
        return OF_FLAGS[match[1]]
    if match := _RACE.match(first):
        done = "reads and another writes" if match[1] == "Read-write" else "and another write"
        fence = f"CLK_{'LOCAL' if address is not None and address[1] == 'local' else 'GLOBAL'}_MEM_FENCE"
        apart = f"without atomics or a barrier with {fence} between them"
        return f"data race: one work-item {done} the same bytes, {apart}, {where}"
    if match := _WRITTEN.match(first):
        return f"writes a value that was never set {where}"
    if kind == "uninitialized":
        return "uses a value that was never set"
    if match := _DIVERGENCE.match(first):
        return f"not all work-items of the work-group reach the {match[1]}"
    if match := _INDEX.match(first):
        return f"accesses an array of {int(match[2]):,} elements out of bounds, at index {int(match[1]):,}"
    if match := _ALIGNMENT.match(first):
        return f"{match[1]}s at an address that is not aligned for its type"
    return f"Oclgrind says: {first}"


def _buffer_and_byte(address: re.Match[str]) -> tuple[int, int]:
    """Return the number of an address's buffer, and the byte in it: below 0 in front of it."""
    bits = _OF_PRIVATE if address[1] == "private" else OF_BUFFER
    number, half = int(address[2], 16), 1 << (bits - 1)
    buffer = (number + half) >> bits
    return buffer, number - (buffer << bits)


def _where(first: str, sizes: Mapping[int, int], name: str) -> str:
    """Return where a message's address is: its buffer or variable, and the byte in it."""
    address = _ADDRESS.search(first)
    if address is None:
        return "of a memory that is not known"
    number, byte = _buffer_and_byte(address)
    if not number:
        return f"at address {int(address[2], 16):#x}, which is in no buffer"
    variable = f"{VARIABLE} {name}" if name else VARIABLE
    whole = "its buffer" if address[1] == "global" else f"{variable} in {address[1]} memory"
    if address[1] == "global" and number in sizes:
        whole = f"its buffer of {sizes[number]:,} bytes"
    return f"{-byte:,} bytes in front of {whole}" if byte < 0 else f"at byte {byte:,} of {whole}"
