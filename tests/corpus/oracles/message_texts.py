"""The statements of libiga64 on a message in the comment behind a send instruction, and the registers that it takes.

``wr:2+4, rd:8; load.ugm.d32x4.a64``: 2 registers of addresses, 4 of data, an answer of 8, and the message's name: for the
load/store cache in fields, for older units and samplers in words.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_COMMENT = re.compile(r"// wr:(\d+)h?\+(\d+), rd:(\d+)(?:; ?(.*))?$")
#: A message whose descriptor a register holds: neither its lengths nor what it does are in the text.
_OPEN = re.compile(r"// wr:a0\.\d+\[28:25\]\+(\d+), rd:a0\.\d+\[24:20\]$")
#: A load of the load/store cache that nothing comes back of.
_TO_NULL = re.compile(r"\s*(?:\(\S+\))?\s*sendc?s?\.ugml?\s+(?:\(\S+\))?\s+null\b")
_UNIT = re.compile(r"^(hdc\.dc[01]|sampler|gateway|spawner); ")
_CACHE = re.compile(
    r"(?P<operation>[a-z]+(?:_[a-z0-9]+)?)\.(?P<unit>ugml?|slm|tgm)\.d(?P<bits>\d+)(?:u32h?)?"
    r"(?:x(?P<elements>\d+)(?P<block>t)?|\.(?P<channels>[xyzw]+))?\.a(?:16|32|64)"
    r"(?:\.[a-z]{2}\.[a-z]{2})?(?:\.?(?P<surface>bss|ss|bti|flat)(?P<index>\[\d+\])?)?"
)
#: A block of two dimensions: the addresses hold its shape.
_PLANE = re.compile(
    r"(?P<operation>(?:load|store)_block2d)\.ug[ml]+\.d\d+[vt]*\.a64(?:\.[a-z]{2}\.[a-z]{2})?"
    r"(?:\.flat(?:\[A\+\(-?\w+,-?\w+\)\])?)?$"
)
_ATOMIC_WORDS = {
    "integer add": "iadd", "integer subtract": "isub", "integer increment": "iinc", "integer decrement": "idec",
    "integer compare and swap": "icas", "logical AND": "and", "logical OR": "or", "logical XOR": "xor",
    "signed-integer max": "smax", "signed-integer min": "smin", "unsigned-integer max": "umax",
    "unsigned-integer min": "umin", "store": "store",
}  # fmt: skip


class SaidOfMessage(NamedTuple):
    """A message in words: ``elements`` is None where the text does not tell them, ``surface`` too. Counts of registers
    are last."""

    action: str
    operation: str
    element_bytes: int
    elements: int | None
    is_block: bool
    surface: str | None
    registers: tuple[int, int, int]


def said_of_message(text: str) -> SaidOfMessage:
    """Return what the text of a send instruction says; raise ValueError if it says nothing that is known here."""
    if match := _OPEN.search(text):
        return SaidOfMessage("", "unknown", 0, 1, False, "", (-1, -1, int(match[1])))
    comment = _COMMENT.search(text)
    if comment is None:
        raise ValueError(f"no message in {text!r}")
    addresses, data, answer = map(int, comment.group(1, 2, 3))
    stated = SaidOfMessage(*_parts_of_name(_UNIT.sub("", comment[4].strip())), (answer, addresses, data))
    return stated._replace(action="prefetch") if stated.action == "load" and _TO_NULL.match(text) else stated


def _parts_of_name(name: str) -> tuple[str, str, int, int | None, bool, str | None]:
    if re.match(r"simd\d+h? ", name):
        return "load", "sample", 1, None, False, None
    if "barrier" in name or name == "end of thread":
        return "", name.removeprefix("signal "), 0, 1, False, ""
    if "fence" in name:
        return "", "fence", 0, 1, False, ""
    if match := _PLANE.match(name):
        return match["operation"].split("_")[0], match["operation"], 1, None, True, "flat"
    if match := _CACHE.match(name):
        elements = len(match["channels"] or "") or int(match["elements"] or 1)
        action = match["operation"].split("_")[0]
        surface = (match["surface"] or "flat") + (match["index"] or "")
        return action, match["operation"], int(match["bits"]) // 8, elements, bool(match["block"]), surface
    action = "load" if "read" in name else "store"
    if match := re.search(r"atomic int(\d+) (.*)", name):
        return "atomic", f"atomic_{_ATOMIC_WORDS[match[2]]}", int(match[1]) // 8, 1, False, None
    if match := re.search(r"(untyped|typed) surface (?:read|write) with ([xyzw]+)", name):
        return action, f"{action}_quad", 4, len(match[2]), False, None
    if match := re.search(r"([oh]word).* x(\d+)", name):
        return action, action, 16 if match[1] == "oword" else 32, int(match[2]), True, None
    if match := re.search(r"byte (?:gathering|scattering) (?:read|write) (\d+)b", name):
        return action, action, int(match[1]) // 8, 1, False, None
    if match := re.search(r"(dword|qword) (?:gathering|scattering)", name):
        return action, action, 4 if match[1] == "dword" else 8, None, False, None
    raise ValueError(f"no message is known by the name {name!r}")


def registers_of_lanes(element_bytes: int, elements: int, lanes: int, register_bytes: int) -> int:
    """Return the registers that hold so many elements of each lane: an element of all lanes fills whole registers, and
    none is smaller than 4 bytes there."""
    return elements * -(-lanes * max(4, element_bytes) // register_bytes)
