"""The cycles that Intel's compiler states for instructions: how long each occupies its pipe, and how long its registers take.

Source: the figures of IGC's ``visa/LocalScheduler/LatencyTable.h`` and ``LatencyTable.cpp`` at commit 98fff7164
(21 August 2026), which are the same from Xe-LP to Xe3 but for the systolic array. They are what the scheduler reckons
with: memory answers from a cache, and units that are 16 lanes wide (Xe-HPC and later) count as if they had 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from kernlens.isa.devices import numbers_of
from kernlens.isa.intel.device_table import PLATFORM_TITLES, XE2, XE3P, XE_HP, XE_HPC, XE_LP
from kernlens.isa.intel.instruction_kinds import message_fields, send_of
from kernlens.isa.intel.messages.send import Send
from kernlens.isa.intel.operand_places import INDIRECT, VERTICAL_AND_HORIZONTAL, source_region
from kernlens.model.device import Device
from kernlens.model.instruction_record import (
    EXECUTION_SIZE_AT,
    RECORD_SIZE,
    REGIONS_SIZE,
    TYPES_AT,
    read_operands,
    read_record,
)
from kernlens.model.intel_instructions import SEND, IntelInstructions
from kernlens.model.operand import IMMEDIATE, Swsb, type_bits, type_number
from kernlens.model.waits import Timings

# Messages
_ARBITRATION = 8  # Beside a cycle for each register that the message takes.
_SAMPLER, _DATA_CACHE, _BARRIER, _OTHER_MESSAGE = 214, 146, 30, 50
_SLM, _WIDE_SLM, _SLM_FENCE = 28, 45, 23
_LOAD_STORE_CACHED, _LOAD_STORE, _LOAD_STORE_FENCE = 45, 200, 35
# Arithmetic: that of 8 lanes, and what 8 more add.
_MATH, _MATH_STEP, _ARITHMETIC, _TO_ACCUMULATOR, _OTHER, _TO_FLAG = 17, 4, 10, 6, 10, 16
#: Occupancy of the math unit, for 8 lanes.
_MATH_ISSUE = 4

_DATA_CACHES = frozenset({"dc0", "dc1", "dc2", "dcro"})
_LOAD_STORE_CACHES = frozenset({"ugm", "ugml", "tgm", "slm"})
_SLM_SURFACE, _FENCE, _DATA_CACHE_FENCE, _GATEWAY_BARRIER = 0xFE, 0x1F, 7, 4
#: The loads of the load/store cache, by Descriptor[5:0]; others are not cached nearer than L3.
_LOADS = frozenset({0x00, 0x01, 0x02, 0x03, 0x1B, 0x31})
#: Cache controls that keep what is loaded in L1: Descriptor[19:17], of Xe2 and later Descriptor[19:16].
_KEPT, _KEPT_XE2 = frozenset({3, 4}), frozenset({6, 8, 9})

_SYSTOLIC = frozenset({"dpas", "dpasw"})
_CALCULATIONS = frozenset(
    {"shr", "shl", "asr", "ror", "rol", "add", "mul", "avg", "frc", "rndu", "rndd", "rnde", "rndz", "mac", "mach"}
    | {"macl", "lzd", "addc", "subb", "mad", "dp4a", "add3", "madm", "lrp", "pln", "line", "sad2", "sada2", "srnd"}
    | {"fbh", "fbl", "cbit", "dp2", "dp3", "dp4", "dph"}
)
#: iga::SyncFC::NOP.
_SYNC_NOP = 0
_SELECTS = frozenset({"sel", "csel"})
_HALF, _ACCUMULATOR = type_number("hf"), 3
_KIND_AT = TYPES_AT[1] - 2
#: What ``_issue`` answers of instructions whose regions decide.
_BY_REGIONS = 0


def unknown_reason(device: Device | None) -> str | None:
    """Return the reason why the cycles of code for this device are not known, in a sentence; None if they are."""
    if device is None:
        return "waits are unknown: kernlens does not support the device of this binary"
    if device.intel is None:
        return f"waits are unknown on {device}: kernlens takes cycles from the code of Intel's devices only"
    platform = device.intel.iga_platform
    title = PLATFORM_TITLES[platform]
    if platform < XE_LP:
        return f"waits are unknown on {title}: the code does not state who waits for whom before Xe-LP"
    return f"waits are unknown on {title}: kernlens does not decode its messages" if platform >= XE3P else None


def timings_of(instructions: IntelInstructions, device: Device) -> Timings:
    """Return the cycles of these instructions on a device for which ``unknown_reason`` gives none."""
    records = instructions.records
    written, read = dict[int, int](), dict[int, int]()
    latency = _latencies(device)
    issue = _issues(instructions)
    for row, swsb in enumerate(Swsb.of_records(records)):
        if swsb is not None and swsb.token_use == "set":
            written[row], read[row] = latency(instructions, row)
            read[row] = read[row] or issue[row]
    return Timings(issue, written, read)


def _issues(instructions: IntelInstructions) -> bytes:
    """Return the cycles for which each instruction occupies its pipe."""
    records, opcodes = instructions.records, instructions.opcodes
    columns = (records[at::RECORD_SIZE].tolist() for at in (EXECUTION_SIZE_AT, _KIND_AT, *TYPES_AT))
    issue = bytearray(map(_issue, opcodes, *columns))
    row = issue.find(_BY_REGIONS)
    while row >= 0:
        issue[row] = _issue_by_regions(instructions, row)
        row = issue.find(_BY_REGIONS, row + 1)
    for row in _uncounted(instructions):
        issue[row] = 0
    return bytes(issue)


def _uncounted(instructions: IntelInstructions) -> Iterator[int]:
    """Yield what the compiler inserts after it has counted: each ``sync.nop`` that waits for nothing in front of a chain of
    systolic instructions."""
    opcodes, records = instructions.opcodes, instructions.records
    for row, opcode in enumerate(opcodes):
        before = row - 1
        while opcode in _SYSTOLIC and before >= 0 and opcodes[before] == "sync":
            record = read_record(records, before)
            if record.function != _SYNC_NOP or record.swsb:
                break
            yield before
            before -= 1


@lru_cache(4096)
def _issue(opcode: str, lanes: int, kind: int, destination: int, *sources: int) -> int:
    """Return the cycles for which an instruction occupies its pipe; ``kind`` is that of its first source, and types are
    numbers, 0 where there is none."""
    eights = 1 if lanes <= 8 else 2 if lanes == 16 else 4
    if opcode == "math":
        return _MATH_ISSUE * eights
    if (lanes >= 16 and {0, _HALF} >= {*sources} != {0}) or (opcode == "mov" and kind == INDIRECT):
        return _BY_REGIONS
    return _plain_issue(lanes, destination)


def _plain_issue(lanes: int, destination: int) -> int:
    if destination and type_bits(destination) == 64:
        return 1 if lanes <= 4 else 2
    return 1 if lanes <= 8 else 2 if lanes == 16 else 4


def _issue_by_regions(instructions: IntelInstructions, row: int) -> int:
    """Return the same of halves, which run at twice the speed if they lie side by side, and of moves from addresses."""
    record = read_record(instructions.records, row)
    destination, *sources = read_operands(instructions.records, row, 1 + record.source_count)
    regions = (instructions.regions or b"")[row * REGIONS_SIZE : (row + 1) * REGIONS_SIZE]
    lanes, shapes = record.execution_size, [regions[at : at + 3] for at in range(3, 3 + 3 * len(sources), 3)]
    are_halves = lanes >= 16 and all(source.type == _HALF for source in sources)
    if are_halves and all(
        source.kind == IMMEDIATE or _is_contiguous(lanes, shape, position, len(sources))
        for position, (source, shape) in enumerate(zip(sources, shapes, strict=True))
    ):
        return 1 if lanes <= 16 else 2
    if instructions.opcodes[row] == "mov" and shapes and shapes[0][:1] == bytes([VERTICAL_AND_HORIZONTAL]):
        return lanes
    return _plain_issue(lanes, destination.type)


def _is_contiguous(lanes: int, shape: bytes, position: int, source_count: int) -> bool:
    if len(shape) < 3:  # The decoder does not tell.
        return False
    vertical, width, horizontal = source_region(shape[0], shape[1], shape[2], position, source_count)
    return vertical == width == 1 or (horizontal == 1 and (vertical == width or lanes <= width))


def _latencies(device: Device) -> Callable[[IntelInstructions, int], tuple[int, int]]:
    """Return the function that says of a row that takes a token how long its registers take until they are written, and
    until they are read; 0: as long as it issues."""

    @lru_cache(4096)
    def message(*fields: int) -> tuple[int, int]:
        send = send_of(numbers_of(device).iga_platform, *fields)
        registers = (send.address_registers or 0) + (send.data_registers or 0)
        return _message(send), _ARBITRATION + registers

    def latency(instructions: IntelInstructions, row: int) -> tuple[int, int]:
        record = read_record(instructions.records, row)
        if record.flags & SEND:
            return message(*message_fields(record))
        opcode, lanes = instructions.opcodes[row], record.execution_size
        steps = 0 if lanes <= 8 else 1 if lanes == 16 else 3
        if opcode == "math":
            return _MATH + _MATH_STEP * steps, 0
        if opcode in _SYSTOLIC:
            return _systolic(device, record.function & 0xFF), 0
        if record.condition and opcode not in _SELECTS:
            return _TO_FLAG, 0
        if opcode not in _CALCULATIONS:
            return _OTHER, 0
        destination = read_operands(instructions.records, row, 1)[0]
        return (_TO_ACCUMULATOR if destination.file == _ACCUMULATOR else _ARITHMETIC) + steps, 0

    return latency


def _message(send: Send) -> int:
    """Return the cycles until a message's answer is there."""
    if send.target in _LOAD_STORE_CACHES:
        operation = send.bits(5, 0) if send.descriptor is not None else None
        if send.target == "slm":
            return _SLM_FENCE if operation == _FENCE else _WIDE_SLM if send.execution_size > 16 else _SLM
        if operation == _FENCE:
            return _LOAD_STORE_FENCE
        return _LOAD_STORE_CACHED if operation in _LOADS and _is_cached(send) else _LOAD_STORE
    if send.target in _DATA_CACHES:
        if send.descriptor is None or send.target == "dcro" or send.bits(7, 0) != _SLM_SURFACE:
            return _DATA_CACHE
        is_fence = send.target == "dc0" and send.bits(18, 14) == _DATA_CACHE_FENCE
        return _SLM_FENCE if is_fence else _SLM
    if send.target == "smpl":
        return _SAMPLER
    is_barrier = send.target == "gtwy" and send.descriptor is not None and send.bits(7, 0) == _GATEWAY_BARRIER
    return _BARRIER if is_barrier else _OTHER_MESSAGE


def _is_cached(send: Send) -> bool:
    return send.bits(19, 16) in _KEPT_XE2 if send.platform >= XE2 else send.bits(19, 17) in _KEPT


def _systolic(device: Device, repeat: int) -> int:
    """Return the cycles of a systolic instruction that repeats so often."""
    release = (device.ip.architecture, device.ip.release) if device.ip else (0, 0)
    platform = numbers_of(device).iga_platform
    if platform == XE_HP:
        return 20 + repeat
    if platform == XE_HPC:
        is_early = device.ip is not None and device.ip.revision < 3
        return 20 + repeat + (not is_early)
    if platform >= XE2:
        return {1: 22, 2: 23}.get(repeat, 33)
    if release == (12, 74):
        return {1: 21, 8: 46}.get(repeat, 22)
    return {1: 21, 2: 22}.get(repeat, 32) if release < (12, 70) else 46
