"""The decoding of machine code into instructions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from kernlens.errors import UnsupportedError
from kernlens.isa.devices import numbers_of
from kernlens.isa.intel.iga_library import IgaLibrary, library_for
from kernlens.model.compiler import UNKNOWN_COMPILER, Compiler
from kernlens.model.instruction_record import RECORD_SIZE, REGIONS_SIZE, read_record
from kernlens.model.intel_instructions import IntelInstructions
from kernlens.processors import processors

if TYPE_CHECKING:
    from kernlens import _decoder
    from kernlens.model.device import Device
    from kernlens.model.effects import Effects, Route
    from kernlens.model.hash_trailer import HashTrailer
    from kernlens.model.instruction_kind import InstructionKind
    from kernlens.model.pipes import Pipes

# Below this much code per thread, starting one costs more than it saves.
_BYTES_PER_THREAD = 1 << 14


def decode(
    device: Device,
    code: bytes | memoryview,
    compiler: Compiler = UNKNOWN_COMPILER,
    trailer: HashTrailer | None = None,
) -> IntelInstructions:
    """Return the instructions of one kernel. ``code`` begins with its first instruction and ends with its last: padding
    would be decoded too. It is decoded by the libiga64 of its ``compiler``, as far as that is known and installed. The
    moves of ``trailer`` are left out.

    Bytes that are no instruction of the device become instructions marked ``illegal``. Raises UnsupportedError if no
    installed libiga64 knows the device.
    """
    return decode_many([(device, code, compiler)], trailers=(trailer,))[0]


def decode_many(
    kernels: Sequence[tuple[Device, bytes | memoryview, Compiler]],
    threads: int | None = None,
    *,
    texts: bool = False,
    trailers: Sequence[HashTrailer | None] = (),
) -> list[IntelInstructions]:
    """Decode many kernels, in one native call per platform and compiler: an instruction that repeats in them is decoded once.

    ``threads`` None means as many as the process may use. With ``texts`` all texts are made now, in those threads,
    rather than on first use. ``trailers`` are those of the kernels, one for each, whose moves are left out. Raises
    UnsupportedError like ``decode``.
    """
    alike: dict[tuple[int, Compiler], list[int]] = {}
    for index, (device, _, compiler) in enumerate(kernels):
        alike.setdefault((numbers_of(device).iga_platform, compiler), []).append(index)
    decoded: dict[int, IntelInstructions] = {}
    for (platform, compiler), indexes in alike.items():
        codes = [kernels[index][1] for index in indexes]
        library = library_for(platform, kernels[indexes[0]][0].name, compiler)
        own = [trailers[index] for index in indexes] if trailers else [None] * len(indexes)
        instructions = _decode_platform(library, platform, codes, own, threads or _threads(codes), texts)
        decoded.update(zip(indexes, instructions, strict=True))
    return [decoded[index] for index in range(len(kernels))]


def _decode_platform(
    library: IgaLibrary,
    platform: int,
    codes: Sequence[bytes | memoryview],
    trailers: Sequence[HashTrailer | None],
    threads: int,
    texts: bool,
) -> list[IntelInstructions]:
    try:
        batch = library.native.decode(platform, codes, threads, texts)
    except ValueError as error:
        raise UnsupportedError(f"{library}: {error}") from error
    texts_of_all = batch.texts(0, len(batch), threads) if texts else None
    mnemonics = _mnemonics(library, platform)
    instructions = []
    for index, (code, trailer) in enumerate(zip(codes, trailers, strict=True)):
        records = batch.records(index)
        trailing = len(code) - _end(records)
        left_out = _rows(records, trailer)
        records = _without(records, left_out, RECORD_SIZE)
        instructions.append(
            IntelInstructions(
                records,
                mnemonics,
                partial(_texts, batch, index, threads, texts_of_all, left_out),
                classify=partial(_classify, library, platform),
                find_effects=partial(_effects, batch, index, left_out, records, mnemonics, platform),
                find_routes=partial(_routes, records, mnemonics),
                find_pipes=partial(_pipes, records, mnemonics, platform),
                find_regions=partial(_regions, batch, index, left_out),
                trailing=trailing,
                trailer=trailer,
                disassembler=library.title,
            )
        )
    return instructions


def _texts(
    batch: _decoder.Batch, index: int, threads: int, of_all: Sequence[list[str]] | None, left_out: range
) -> list[str]:
    texts = batch.texts(index, index + 1, threads)[0] if of_all is None else of_all[index]
    return texts[: left_out.start] + texts[left_out.stop :] if left_out else texts


def _rows(records: bytes, trailer: HashTrailer | None) -> range:
    """Return the rows of a trailer's moves."""
    if trailer is None:
        return range(0)
    offsets = memoryview(records).cast("I")[:: RECORD_SIZE // 4]
    first = bisect_left(offsets, trailer.offset)
    return range(first, first + trailer.count)


def _without(records: bytes, left_out: range, size: int) -> bytes:
    """Return records of a size without some rows."""
    return records[: left_out.start * size] + records[left_out.stop * size :] if left_out else records


def _regions(batch: _decoder.Batch, index: int, left_out: range) -> bytes:
    return _without(batch.regions(index), left_out, REGIONS_SIZE)


def _end(records: bytes) -> int:
    if not records:
        return 0
    last = read_record(records, len(records) // RECORD_SIZE - 1)
    return last.offset + last.size


@cache
def _mnemonics(library: IgaLibrary, platform: int) -> tuple[str, ...]:
    return library.native.mnemonics(platform)


@cache
def _classifier(library: IgaLibrary, platform: int) -> Callable[[memoryview], list[InstructionKind]]:
    from kernlens.isa.intel.instruction_kinds import classifier

    return classifier(_mnemonics(library, platform), platform)


def _classify(library: IgaLibrary, platform: int, records: memoryview) -> list[InstructionKind]:
    """Return the kinds of instructions; the tables behind it are read when the first are asked for."""
    return _classifier(library, platform)(records)


def _effects(
    batch: _decoder.Batch, index: int, left_out: range, records: bytes, mnemonics: Sequence[str], platform: int
) -> Effects | None:
    from kernlens.isa.intel.effect_reader import effects_of

    return effects_of(records, _regions(batch, index, left_out), mnemonics, platform)


def _routes(records: bytes, mnemonics: Sequence[str]) -> dict[int, Route]:
    from kernlens.isa.intel.routes import routes_of

    return routes_of(memoryview(records), mnemonics)


def _pipes(records: bytes, mnemonics: Sequence[str], platform: int) -> Pipes | None:
    from kernlens.isa.intel.pipe_rules import pipes_of

    return pipes_of(memoryview(records), mnemonics, platform)


def _threads(codes: Sequence[bytes | memoryview]) -> int:
    return max(1, min(processors(), sum(map(len, codes)) // _BYTES_PER_THREAD))
