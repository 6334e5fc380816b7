"""The arguments of a launch that is described by hand: ``random:float:4096``, ``in.npy``, ``4096``."""

from __future__ import annotations

import array
import os
import random
import re
import struct
from collections.abc import Sequence

from kernlens.dataclass import dataclass
from kernlens.errors import KernlensError
from kernlens.formats.npy import array_bytes
from kernlens.toolchain.sources.source_reading import open_regular
from kernlens.verbs.observe.interpreted_code import KernelArgument

#: Bytes of all arrays together.
LIMIT = 1 << 30
_FORMATS = {
    **{"char": "b", "uchar": "B", "short": "h", "ushort": "H", "int": "i", "uint": "I", "long": "q", "ulong": "Q"},
    **{"half": "e", "float": "f", "double": "d", "bool": "B", "unsigned int": "I", "unsigned char": "B", "size_t": "Q"},
    **{"unsigned short": "H", "unsigned long": "Q"},
}
_VECTOR = re.compile(r"([a-z_ ]+?)\s*(?:(2|3|4|8|16)|__attribute__\(\(ext_vector_type\((2|3|4|8|16)\)\)\))?")
_FLOATS = "efd"
_VALUE, _MEMORY, _BUFFER = "value", "memory", "buffer"
_CONSTANT, _LOCAL = 2, 3


@dataclass(frozen=True, slots=True)
class LaunchArgument:
    """An argument: ``kind`` is ``value``, ``memory`` (local memory of ``size`` bytes) or ``buffer``."""

    kind: str
    content: bytes
    size: int


def launch_arguments(kernel: str, parameters: Sequence[KernelArgument], words: Sequence[str]) -> list[LaunchArgument]:
    """Return the arguments that the words describe. Raises KernlensError where they do not fit the kernel's parameters."""
    if len(words) != len(parameters):
        listed = ", ".join(f"{each.type} {each.name}".strip() for each in parameters)
        raise KernlensError(
            f"{kernel} takes {len(parameters)} arguments ({listed}), and {len(words)} are described with --arg, in their order:"
            " --arg random:float:4096 for a buffer of 4,096 elements, --arg 4096 for a value (kernlens observe -h)"
        )
    arguments = [
        _argument(each, word, number) for number, (each, word) in enumerate(zip(parameters, words, strict=True))
    ]
    if sum(each.size for each in arguments) > LIMIT:
        raise KernlensError(f"the arrays have more than {LIMIT >> 20:,} MB; describe a smaller launch")
    return arguments


def _argument(parameter: KernelArgument, word: str, number: int) -> LaunchArgument:
    name = f"--arg {word} ({parameter.type} {parameter.name})"
    if re.match(r"image|sampler|queue|pipe", parameter.type):
        raise KernlensError(f"{name}: images, samplers and queues cannot be described")
    if parameter.space == _LOCAL:
        if not (match := re.fullmatch(r"local:(\d{1,9})", word)):
            raise KernlensError(f"{name} is local memory: write local:BYTES")
        return LaunchArgument(_MEMORY, b"", int(match[1]))
    if parameter.space:
        content = _array(name, word, number)
        if not content:
            raise KernlensError(f"{name} has no bytes")
        return LaunchArgument(_BUFFER, content, len(content))
    content = (
        bytes.fromhex(word[4:])
        if re.fullmatch(r"hex:(?:[0-9a-fA-F]{2})+", word)
        else _value(name, parameter.type, word)
    )
    return LaunchArgument(_VALUE, content, len(content))


def _format(type_: str) -> tuple[str, int] | None:
    """Return the format of a type's elements, and their number; None for another type."""
    match = _VECTOR.fullmatch(type_.strip())
    if match is None or match[1].strip() not in _FORMATS:
        return None
    count = int(match[2] or match[3] or 1)
    return _FORMATS[match[1].strip()], 4 if count == 3 else count


def _value(name: str, type_: str, word: str) -> bytes:
    known = _format(type_)
    if known is None:
        raise KernlensError(f"{name}: write the value's bytes as hex:00ff...")
    letter, count = known
    parts = word.split(",")
    try:
        numbers = [float(part) if letter in _FLOATS else int(part, 0) for part in parts]
        numbers += [0] * (count - len(numbers)) if count == 4 and len(numbers) == 3 else []
        return struct.pack(f"<{count}{letter}", *(numbers if len(numbers) > 1 else numbers * count))
    except (ValueError, struct.error, OverflowError) as error:
        raise KernlensError(f"{name} is no value of this type") from error


def _array(name: str, word: str, number: int) -> bytes:
    match = re.fullmatch(r"(random|ramp|zeros):([a-z]+\d{0,2}):(\d{1,10})", word)
    if match is None:
        if not os.path.lexists(word):
            raise KernlensError(f"{name} is neither random:TYPE:N, ramp:TYPE:N, zeros:TYPE:N nor a file")
        with open_regular(word, "array") as file:
            content = file.read(LIMIT + 1)
        return array_bytes(content) if word.endswith(".npy") else content
    known = _format(match[2])
    if known is None:
        raise KernlensError(f"{name}: {match[2]} is none of {', '.join(key for key in _FORMATS if ' ' not in key)}")
    letter, elements = known
    count = int(match[3]) * elements
    size = count * struct.calcsize(letter)
    if size > LIMIT:
        raise KernlensError(f"{name} has more than {LIMIT >> 20:,} MB")
    if match[1] == "zeros":
        return bytes(size)
    return _numbers(letter, count, None if match[1] == "ramp" else random.Random(number))


def _numbers(letter: str, count: int, source: random.Random | None) -> bytes:
    """Return random numbers, floating ones from 0 to 1, others from 0 up to their number; without a source 0, 1, 2, ..."""
    bits = 8 * struct.calcsize(letter)
    if letter in _FLOATS:
        values = [source.random() if source else float(each) for each in range(count)]
        return struct.pack(f"<{count}e", *values) if letter == "e" else array.array(letter, values).tobytes()
    most = min(count, 1 << (bits - 1))
    return array.array(letter, [source.randrange(most) if source else each % most for each in range(count)]).tobytes()
