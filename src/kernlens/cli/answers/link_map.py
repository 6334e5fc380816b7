"""The output of an offline link, as text and as a document: each site, its symbol and its value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kernlens.model.binary import Site
from kernlens.report.json_text import attributes
from kernlens.report.link.symbol_tables import shortened
from kernlens.report.table import table


def map_text(sites: Sequence[Site]) -> Iterator[str]:
    """Yield the lines of ``--map``; a value that only the driver knows, or nobody, is a dash."""
    yield from table(
        ("section", "offset", "address", "symbol", "type", "value"),
        [
            (
                site.section,
                f"{site.offset:#x}",
                f"{site.address:#x}",
                shortened(site.symbol),
                site.type_name,
                None if site.value is None else f"{site.value:#0{2 + 2 * site.size}x}",
            )
            for site in sites
        ],
    )


def map_document(sites: Sequence[Site]) -> list[dict[str, Any]]:
    """Return the map for ``--json``; ``value`` is null where only the driver knows it, or nobody."""
    return [
        attributes(site, "section", "offset", "address", "symbol")
        | {"type": site.type_name, "size": site.size, "value": site.value}
        for site in sites
    ]
