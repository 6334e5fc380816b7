"""``--offset`` and ``--base``: the addresses that are asked for, as words, in a file or from the standard input."""

from __future__ import annotations

import re
import sys
from typing import IO

import click

from kernlens.cli import option
from kernlens.cli.answers.offset_answer import AskedOffsets
from kernlens.errors import FormatError, NotFoundError, TooManyError

#: The most addresses that are taken, and characters that they may be written in.
_MOST, _MOST_CHARACTERS = 1_000_000, 32 << 20
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
#: A hexadecimal number, and what can be nothing else without its 0x.
_HEXADECIMAL = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,16}")
_BARE = re.compile(r"(?=[0-9]*[a-fA-F])[0-9a-fA-F]{1,16}")
#: The most characters of a wrong word that an error repeats.
_SHOWN = 40


def offsets_of(words: str, base: str | None) -> AskedOffsets:
    """Return the values of ``--offset`` and ``--base``. ``words`` are numbers with commas or blanks between them, ``@FILE`` or
    ``-`` for the standard input. If a number without 0x has a letter, all of them are hexadecimal, as tools print them. Raises
    UsageError for what is no number, NotFoundError if there is no such file, TooManyError beyond ``_MOST``."""
    origin = "--offset"
    if words == "-":
        words, origin = _read(sys.stdin), "the standard input"
    elif words.startswith("@"):
        origin = words[1:]
        try:
            with open(origin, encoding="utf-8", errors="replace") as file:
                words = _read(file)
        except OSError as error:
            raise NotFoundError(f"{origin} cannot be read: {error.strerror}") from None
    parts = words.replace(",", " ").split()
    radix = 16 if any(map(_BARE.fullmatch, [*parts, base or ""])) else 10
    addresses = [_number(word, radix, origin) for word in parts]
    if not addresses:
        raise click.UsageError(f"{origin} holds no offset; write them as 0x238,0x1b8")
    if len(addresses) > _MOST:
        raise TooManyError(f"it has {len(addresses):,} offsets, at most {_MOST:,} are taken", format=origin)
    return AskedOffsets(addresses, _number(base, radix, "--base") if base is not None else 0)


def _read(file: IO[str]) -> str:
    text = file.read(_MOST_CHARACTERS + 1)
    if len(text) > _MOST_CHARACTERS:
        raise TooManyError(f"the offsets are longer than {_MOST_CHARACTERS:,} characters", format="offsets")
    return text


def _number(word: str, radix: int, origin: str) -> int:
    if radix == 16 and _HEXADECIMAL.fullmatch(word):
        return int(word, 16)
    if not _NUMBER.fullmatch(word):
        shown = word if len(word) <= _SHOWN else f"{word[:_SHOWN]}..."
        if origin in ("--offset", "--base"):
            option.number_of(shown, origin)  # It tells more of most mistakes.
            raise click.UsageError(f"{origin} needs a number, not '{shown}'")
        raise FormatError(f"'{shown}' is not an offset; write it as 0x238 or 568", format=origin)
    return int(word, 0) if word[:2] in ("0x", "0X") else int(word)
