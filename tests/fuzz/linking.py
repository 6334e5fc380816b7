"""Targets for links: what is foreseen of them."""

from __future__ import annotations

import struct

from kernlens.analysis.linking.driver_rules import rules_of
from kernlens.analysis.linking.prediction import obstacles, predict
from kernlens.analysis.linking.static_forecast import predict_static
from kernlens.analysis.linking.unresolved_reasons import reasons
from kernlens.formats.zebin.zebin_file import SHT_ZEBIN_ZEINFO
from kernlens.loading.context import Context
from kernlens.loading.linkable import LINKABLE, module_of
from kernlens.loading.open import open_bytes
from kernlens.model.intel_symbols import PSEUDO_KERNEL
from kernlens.report.link.link_answer import link_document, link_text
from tests.fuzz.inputs import Choices, parts
from tests.fuzz.rendering import check_document, check_lines
from tests.writers.elf import SHT_NOBITS, SHT_NOTE, SHT_REL, SHT_RELA, ElfWriter, note, rel, rela

_NAMES = ("", "use", "helper", "shared", ".str", "own", "_entry", PSEUDO_KERNEL, "__SubDeviceID", "\x1b]0;title\x07")
_SECTIONS = (".text.use", f".text.{PSEUDO_KERNEL}", ".data.const", ".data.global", ".bss.global", ".text.helper", "odd")


def _foresee(modules: list[tuple[str, memoryview]]) -> None:
    parsed = [
        module_of(program, name=name)
        for name, content in modules
        for program in open_bytes(content, name, Context()).programs
        if program.format in LINKABLE
    ]
    for release in ("22.43", "26.27"):
        rules = rules_of(release)
        forecast, why_not = predict(parsed, rules), obstacles(parsed, rules)
        static = predict_static(parsed, rules)
        reasons(forecast)
        check_lines(link_text(forecast, why_not, static))
        check_document(link_document(forecast, why_not, static))


def zebin_link(data: bytes) -> None:
    """Foresee the link of two zebins, byte by byte."""
    _foresee([(f"m{number}", memoryview(part)) for number, part in enumerate(parts(data, 2)) if part])


def composed_link(data: bytes) -> None:
    """Foresee links of well-formed zebins, whose sections, symbols, relocations and ze_info are chosen by the input."""
    _foresee([(f"m{number}", _composed(part)) for number, part in enumerate(parts(data, 2))])


def _composed(data: bytes) -> memoryview:
    chosen = Choices(data)
    writer = ElfWriter()
    numbers = [0]
    for _ in range(1 + chosen.number() % 6):
        name, size = chosen.one_of(_SECTIONS), chosen.number()
        if name.startswith(".bss"):
            numbers.append(writer.add(name, type=SHT_NOBITS, flags=3, size=size))
        else:
            numbers.append(writer.add(name, bytes(size), flags=6 if name.startswith(".text") else 3))
    symbols = [
        (
            chosen.one_of(_NAMES),
            chosen.number(8 if chosen.number() == 255 else 1),
            chosen.number(),
            chosen.number() % 3,
            chosen.number() % 5,
            chosen.one_of(numbers),
        )
        for _ in range(chosen.number() % 12)
    ]
    table = writer.add_symbols(symbols)
    for _ in range(chosen.number() % 4):
        count = chosen.number() % 6
        places = [(chosen.number(), chosen.number() % (len(symbols) + 2), chosen.number() % 8) for _ in range(count)]
        target = chosen.one_of(numbers)
        if chosen.number() % 2:
            writer.add(".rel.x", rel(*places), type=SHT_REL, entry_size=16, link=table, info=target)
        else:
            signed = [(*place, int.from_bytes(chosen.content(8), "little", signed=True)) for place in places]
            writer.add(".rela.x", rela(*signed), type=SHT_RELA, entry_size=24, link=table, info=target)
    device = chosen.number() % 2
    notes = note(1, struct.pack("<I", device)) + note(4, b"1.73\0")
    writer.add(".note.intelgt.compat", notes, type=SHT_NOTE)
    options = chosen.number()
    if options:
        writer.add(".misc.buildOptions", chosen.content(options), type=0xFF000014)
    writer.add(".ze_info", chosen.content(1 << 16), type=SHT_ZEBIN_ZEINFO)
    return writer.build()
