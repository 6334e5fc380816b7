"""The names of a launch's memory, and its elements: by the arguments that lead to it."""

from __future__ import annotations

from collections.abc import Sequence

from kernlens.dataclass import dataclass
from kernlens.model.kept_launch import BUFFER, IMAGE, KeptLaunch
from kernlens.verbs.replay.elements import WORDS, Element, element_of, element_of_image, named_types, signature_of


@dataclass(frozen=True, slots=True)
class MemoryName:
    """Memory's title for a person, and its elements."""

    title: str
    element: Element


def memory_names(launch: KeptLaunch, told: Sequence[Sequence[str]], source: str) -> list[MemoryName]:
    """Return the names of a launch's memory: the first argument that leads to it says its type. ``told`` are types and names
    of arguments as the driver told them."""
    stated = signature_of(source, launch.kernel) if source else []
    names: dict[int, MemoryName] = {}
    for number, argument in enumerate(launch.arguments):
        if argument.memory is None or argument.memory in names:
            continue
        memory = launch.memory[argument.memory]
        type_name, name = named_types([(each[0], each[1]) for each in told], stated, number)
        element = element_of(type_name) if memory.image is None else element_of_image(memory.image.data_type)
        if element is not None and element.is_padded and argument.offset:
            element = None  # Where its padding is depends on the place of the part.
        kind = {BUFFER: "the buffer", IMAGE: "the image"}.get(memory.kind, "the memory")
        place = f"argument {number}" + (f" ({name})" if name else "")
        names[argument.memory] = MemoryName(f"{kind} of {place}", element or WORDS)
    return [
        names.get(number, MemoryName(f"memory {number} ({each.kind})", WORDS))
        for number, each in enumerate(launch.memory)
    ]
