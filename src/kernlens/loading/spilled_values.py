"""The names of a kernel's spilled values, from the kept stages of its compile: virtual register -> vISA instructions that
write it -> LLVM value and source line -> variable."""

from __future__ import annotations

import re
from bisect import bisect_right

from kernlens.formats.listings.spilled_registers import read_spilled_registers, read_writes
from kernlens.formats.listings.visa_assembly import read_visaasm_lines
from kernlens.formats.listings.visa_llvm_map import read_visa_values
from kernlens.loading.stage_maps import Beside
from kernlens.loading.stated_places import renamed, table_names
from kernlens.model.line_table import LineTable
from kernlens.model.spilled_value import SpilledValue
from kernlens.model.stage import TEXT

_NOTED = re.compile(r"@llvm\.dbg\.value\(metadata \S+ (%[^,\s]+), metadata !(\d+),")
_VARIABLE = re.compile(r'^!(\d+) = !DILocalVariable\(name: "([^"]+)"', re.MULTILINE)


def spilled_values(kernel: str, table: LineTable | None, beside: Beside) -> tuple[SpilledValue, ...] | None:
    """Return the kernel's spilled values, most bytes first, with files called as its line ``table`` does; None where
    the listing of its machine code was not kept."""
    listing = beside.find("gen-assembly", TEXT, kernel)
    if listing is None:
        return None
    spilled = read_spilled_registers(listing.listing)
    visa = beside.find("visa", TEXT, kernel)
    if not spilled or visa is None:
        return tuple(SpilledValue(name, size) for name, size in spilled.items())
    writes = read_writes(visa.listing, spilled)
    rows = read_visaasm_lines(visa.listing)
    places = dict(zip(rows.lines, rows.places, strict=True))
    llvm = beside.find("visa-llvm-map", TEXT, kernel)
    values = read_visa_values(llvm.listing) if llvm is not None else {}
    numbers = list(values)
    variables = _variables(llvm.attempt, beside) if llvm is not None else {}
    names = table_names(table) if table else {}
    spills = []
    for name, size in spilled.items():
        # Where a value comes from several blocks, the copies at their ends are of branches, which make no value.
        sources = [(_value(write.number, values, numbers), places.get(write.line)) for write in writes.get(name, ())]
        value, place = next((source for source in sources if source[0]), sources[0] if sources else (None, None))
        place = renamed(place, names) if place else None
        spills.append(SpilledValue(name, size, value, place, variables.get(value) if value else None))
    return tuple(sorted(spills, key=lambda spill: (-spill.size, spill.name)))


def _value(number: int, values: dict[int, str | None], numbers: list[int]) -> str | None:
    """Return the LLVM value that a vISA instruction is a part of."""
    position = bisect_right(numbers, number)
    return values[numbers[position - 1]] if position else None


def _variables(attempt: int, beside: Beside) -> dict[str, str]:
    """Return the source variable of each LLVM value that the code generator's debug information names for one alone."""
    variables: dict[str, str | None] = {}
    for snapshot in beside.snapshots:
        if (snapshot.stage, snapshot.form, snapshot.attempt) == ("llvm-codegen", TEXT, attempt):
            text = snapshot.listing
            names = dict(_VARIABLE.findall(text))
            for value, number in _NOTED.findall(text):
                name = names.get(number)
                variables[value] = name if variables.get(value, name) == name else None
    return {value: name for value, name in variables.items() if name}
