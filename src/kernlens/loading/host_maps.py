"""Source maps of host objects: the instructions of an object's disassembly, joined with the object's line tables."""

from __future__ import annotations

from kernlens.analysis.correlate import correlate
from kernlens.formats.host_object import read_host_object
from kernlens.formats.listings.host_assembly import read_host_listing
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import Snapshot
from kernlens.model.stage_map import LINE, OFFSET, StageMap, chosen_lines

_NOWHERE: tuple[SourcePlace | None, tuple[SourcePlace, ...]] = (None, ())


def host_map(shown: Snapshot, listing: Snapshot, host_object: Snapshot) -> StageMap | None:
    """Return the map of ``shown``, which is either ``listing``, the disassembly of ``host_object``, or that object itself.

    Instructions of the object's code count, alignment and all. None if the object has no line tables.
    """
    host_object_file = read_host_object(memoryview(host_object.content))
    if not host_object_file.tables:
        return None
    text = listing.listing
    listed = [
        instruction for instruction in read_host_listing(text) if instruction.section in host_object_file.code_sections
    ]
    listed.sort(key=lambda row: row.address)
    offsets = [instruction.address for instruction in listed]
    locations = [_NOWHERE] * len(listed)
    for table in host_object_file.tables:
        here = correlate(offsets, table).whole_places()
        locations = [
            location if location[0] is not None else other for location, other in zip(here, locations, strict=True)
        ]
    if not any(place for place, _ in locations):
        return None
    return StageMap(
        stage=shown.stage,
        kernel=shown.kernel,
        unit=LINE if shown is listing else OFFSET,
        positions=[
            instruction.line if shown is listing else instruction.address - instruction.start for instruction in listed
        ],
        places=[place for place, _ in locations],
        calls=[calls for _, calls in locations],
        functions=[instruction.function for instruction in listed],
        find_texts=lambda: chosen_lines(text, [instruction.line for instruction in listed]),
    )
