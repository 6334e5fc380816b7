"""Containers and what they hold: sections, symbols, relocations."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cached_property

from kernlens.dataclass import NamedTuple, dataclass, field, in_short

EMPTY = memoryview(b"")


def c_text(content: bytes | memoryview) -> str:
    """Return the string that a C program wrote, up to its NUL, which may be missing; bytes not in UTF-8 appear as ``\\xNN``."""
    return bytes(content).partition(b"\0")[0].decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class Section:
    """An ELF section. ``offset`` and ``size`` are bytes within the container; ``content`` are its bytes, and ``on_read`` is
    called each time that they are asked for."""

    index: int
    name: str
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int
    content: memoryview = field(default=EMPTY, repr=False, compare=False)
    on_read: Callable[[Section], None] | None = field(default=None, repr=False, compare=False)

    @property
    def data(self) -> memoryview:
        """The bytes, a view and no copy. Raises FormatError if the file's sections share bytes, and too many were read."""
        if self.on_read is not None:
            self.on_read(self)
        return self.content


class Symbol(NamedTuple):
    """A symbol of an ELF symbol table or of a patch-token symbol table; a tuple, as there may be a million.

    ``binding`` is local, global or weak; ``type`` notype, object, func, section or file (the ELF names, lower case, a
    number in decimal where it has no name). ``section`` is the defining section's name, None if the symbol is undefined.
    ``kind`` is the reader's verdict: kernel, export, import, driver (filled in by the driver itself), or local.
    ``is_hidden`` is ELF's visibility: only the file itself means it.
    """

    name: str
    value: int
    size: int
    binding: str
    type: str
    section: str | None
    section_index: int
    index: int  # type: ignore[assignment]  # not the method of tuples
    kind: str = "local"
    is_hidden: bool = False

    def __repr__(self) -> str:
        where = "undefined" if self.section is None else f"{self.section}+{self.value:#x}"
        return in_short(
            f"<Symbol {self.name!r}: {self.kind}, {self.binding} {self.type}, {self.size:,} bytes, {where}>"
        )

    def of_kind(self, kind: str) -> Symbol:
        """Return the symbol with this kind."""
        return self if kind == self.kind else Symbol._make((*self[:-2], kind, self.is_hidden))


@dataclass(frozen=True, slots=True)
class Relocation:
    """A site that a linker or the driver must fill. ``offset`` is within ``section``; ``symbol`` may be empty.

    ``addend`` is None where the format stores it in the site itself (ELF REL) or has none (patch tokens).
    """

    section: str
    offset: int
    type: int
    type_name: str
    symbol: str
    symbol_index: int | None
    addend: int | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """A site that is filled in, at ``offset`` in ``section``, which is loaded at ``address`` - ``offset``.

    ``value`` is what the site holds afterwards; None if only the driver knows it (``symbol`` is its own) or if nobody
    defines the symbol. ``size`` is in bytes.
    """

    section: str
    offset: int
    address: int
    symbol: str
    type_name: str
    size: int
    value: int | None


class Container:
    """One layer of a file: its kind, its offset in the *whole file*, its contents, and the containers inside it.

    ``kind`` is the name of a kind in ``kernlens.model.containers``. ``sections`` and ``children`` are found on first use: an
    archive of hundreds of programs must open at once. A part of a file that cannot be read is ``unknown``, and
    ``unreadable`` says why.
    What lies in a packed image has its offset from the image's unpacked content added to where the image lies in the file.
    ``devices`` are the names of those that its programs are for, with None for a program that does not say it; empty if it
    holds no program.
    """

    def __init__(self, kind: str, name: str, offset: int, content: memoryview) -> None:
        self.kind = kind
        self.name = name
        self.offset = offset
        self.content = content
        self.unreadable: str | None = None
        self.devices: frozenset[str | None] = frozenset()
        self.find_sections: Callable[[], tuple[Section, ...]] = tuple
        self.find_children: Callable[[], tuple[Container, ...]] = tuple

    def __repr__(self) -> str:
        return in_short(f"Container({self.kind!r}, {self.name!r}, offset={self.offset:#x}, size={self.size})")

    @property
    def size(self) -> int:
        """The size of ``content`` in bytes."""
        return len(self.content)

    def holding(self, children: tuple[Container, ...]) -> Container:
        """Return the same container with no more than these of its children."""
        container = copy(self)
        container.children = children
        return container

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Its sections, in the file's order."""
        return self.find_sections()

    @cached_property
    def children(self) -> tuple[Container, ...]:
        """The containers within it, in the file's order."""
        return self.find_children()
