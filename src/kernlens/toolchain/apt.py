"""The Debian mirror that this machine uses, from apt's configuration.

Sources: sources.list(5): one-line style in ``sources.list`` and ``*.list``, deb822 style in ``*.sources``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from kernlens.errors import NotFoundError

APT_FOLDER = Path("/etc/apt")
ONE_LINE = re.compile(r"^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+\S+")
#: The addresses that debootstrap can read from begin with these.
SCHEMES = ("http://", "https://", "ftp://", "file:/")


def debian_mirror(apt_folder: Path = APT_FOLDER) -> str:
    """Return the first address of packages that ends in ``/debian``. Raises NotFoundError if there is none."""
    for address in _addresses(apt_folder):
        mirror = address.rstrip("/")
        if mirror.startswith(SCHEMES) and mirror.endswith("/debian"):
            return mirror
    raise NotFoundError(f"apt's configuration in {apt_folder} names no Debian mirror; give one with --mirror URL")


def _addresses(apt_folder: Path) -> Iterator[str]:
    main = apt_folder / "sources.list"
    for path in [main, *sorted((apt_folder / "sources.list.d").glob("*"))]:
        if not path.is_file():
            continue
        text = path.read_text("utf-8", "replace")
        if path.suffix == ".list":
            yield from _of_one_line_style(text)
        elif path.suffix == ".sources":
            yield from _of_deb822_style(text)


def _of_one_line_style(text: str) -> Iterator[str]:
    for line in text.splitlines():
        match = ONE_LINE.match(line)
        if match is not None:
            yield match[1]


def _of_deb822_style(text: str) -> Iterator[str]:
    uncommented = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    for stanza in re.split(r"\n\s*\n", uncommented):
        fields = _fields(stanza)
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "0")
        if enabled and "deb" in fields.get("types", "").split():
            yield from fields.get("uris", "").split()


def _fields(stanza: str) -> dict[str, str]:
    """Return a stanza's fields by lower-case name; a line that begins with white space continues the field above."""
    fields: dict[str, str] = {}
    name = ""
    for line in stanza.splitlines():
        if line[:1].isspace():
            fields[name] = fields.get(name, "") + " " + line.strip()
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()
    return fields
