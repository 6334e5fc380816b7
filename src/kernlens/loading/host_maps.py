"""Source maps of host objects: the instructions of an object's disassembly, joined with the object's line tables."""

from __future__ import annotations

from kernlens.analysis.correlate import correlate
from kernlens.formats.host_object import read_host_object
from kernlens.formats.listings.host_disassembly import read_host_listing
from kernlens.loading.located import located
from kernlens.model.source_map import SourcePlace
from kernlens.model.stage import Snapshot
from kernlens.model.stage_map import LINE, OFFSET, StageMap, chosen_lines

_NOWHERE: tuple[SourcePlace | None, tuple[SourcePlace, ...]] = (None, ())


def host_map(shown: Snapshot, listing: Snapshot, host_object: Snapshot) -> StageMap | None:
    """The map of ``shown``, which is either ``listing``, the disassembly of ``host_object``, or that object itself.

    Instructions of the object's code count, alignment and all. None if the object has no line tables.
    """
    found = read_host_object(memoryview(host_object.content))
    if not found.tables:
        return None
    text = listing.text
    listed = [one for one in read_host_listing(text) if one.section in found.code_sections]
    listed.sort(key=lambda one: one.address)
    offsets = [one.address for one in listed]
    locations = [_NOWHERE] * len(listed)
    for table in found.tables:
        here = located(correlate(offsets, table))
        locations = [one if one[0] is not None else other for one, other in zip(here, locations, strict=True)]
    if not any(place for place, _ in locations):
        return None
    return StageMap(
        stage=shown.stage,
        kernel=shown.kernel,
        unit=LINE if shown is listing else OFFSET,
        positions=[one.line if shown is listing else one.address - one.start for one in listed],
        places=[place for place, _ in locations],
        calls=[calls for _, calls in locations],
        functions=[one.function for one in listed],
        find_texts=lambda: chosen_lines(text, [one.line for one in listed]),
    )
