"""The merge of the ze_info of several modules.

Source: ``IGC/ZEBinWriter/zebin/spec/zeinfo.md`` of intel-graphics-compiler. The texts are joined rather than written
anew, so that keys unknown to this code are kept; only the pseudo-kernel's entry, which every module has, is made of
all. ``kernels_misc_info`` comes last: compute-runtime (``setKernelMiscInfoPosition``) reads the rest of the text later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from kernlens.errors import LinkError
from kernlens.formats.zebin import ze_info_text
from kernlens.formats.zebin.ze_info import ZeInfoKernel, damage, list_of_mappings, read_ze_info
from kernlens.model.intel_symbols import PSEUDO_KERNEL

#: Any key, not only those that the specification has: what stands below an unknown one is no kernel's.
_TOP_LEVEL = re.compile(r"^([^\s#'\"-][^:\n]*):[ \t]*(.*)$", re.MULTILINE)
_ENTRY = re.compile(r"^( *)- ", re.MULTILINE)
_NAME = re.compile(r"^ *- name: +(.*)$", re.MULTILINE)
_LAST = "kernels_misc_info"


def merge_ze_info(texts: Sequence[tuple[str, str]]) -> str:
    """Return the document that describes all modules; ``texts`` are (module's name, its ze_info).

    Raises LinkError if the documents are of different versions, as their entries would not mean the same, and FormatError
    for a document whose parts are not what the specification says, or whose text cannot be taken apart.
    """
    versions: dict[str, str] = {}
    lists: dict[str, list[str]] = {}
    pseudo: list[Mapping[str, Any]] = []
    kernels: dict[str, ZeInfoKernel] = {}
    for name, text in texts:
        info = read_ze_info(memoryview(text.encode()))
        versions.setdefault(info.version or "", name)
        kernels.update(info.kernels)
        entry = info.kernels.get(PSEUDO_KERNEL)
        if entry is not None:
            pseudo.append({**entry.entry, "has_functions": bool(info.functions)})
        for key, entries in _lists(text).items():
            lists.setdefault(key, []).extend(entries)
    if len(versions) > 1:
        listed = ", ".join(f"{version} in {name}" for version, name in versions.items())
        raise LinkError(f"the modules' ze_info is of different versions ({listed}): compile all with one compiler")
    if pseudo:
        own_kernels = [entry for entry in lists.get("kernels", []) if not _is_pseudo(entry)]
        lists["kernels"] = [*own_kernels, _pseudo_entry(pseudo)]
    keys = sorted(lists, key=lambda key: key == _LAST)
    body = "".join(f"{key}:\n{''.join(lists[key])}" for key in keys if lists[key])
    merged = f"---\nversion:         '{next(iter(versions), '')}'\n{body}...\n"
    # A check: of each kernel the joined text says what its own did. Keys in quotes or indented would be lost; what one text
    # says of a kernel that it does not have would become another's.
    own, joined = _described(kernels), _described(read_ze_info(memoryview(merged.encode())).kernels)
    unlike = [name for name in sorted(own.keys() | joined.keys()) if own.get(name) != joined.get(name)]
    if unlike:
        raise damage(f"the text that describes {unlike[0]} cannot be taken apart")
    return merged


def _described(kernels: Mapping[str, ZeInfoKernel]) -> dict[str, tuple[object, ...]]:
    """Return what is said of each kernel; of the pseudo-kernel, which is made of all, only that it is there."""
    return {
        name: () if name == PSEUDO_KERNEL else (kernel.resources, kernel.arguments) for name, kernel in kernels.items()
    }


def _lists(text: str) -> dict[str, list[str]]:
    """Map each top-level key to the texts of its list's entries."""
    body = text.replace("\r\n", "\n").partition("\n...")[0] + "\n"
    marks = list(_TOP_LEVEL.finditer(body))
    lists: dict[str, list[str]] = {}
    for mark, following in zip_longest(marks, marks[1:]):
        if mark[2]:
            continue
        block = body[mark.end() + 1 : following.start() if following else len(body)]
        lists[mark[1]] = _entries(block)
    return lists


def _entries(block: str) -> list[str]:
    first = _ENTRY.search(block)
    if first is None:
        return []
    starts = [match.start() for match in re.finditer(rf"^{first[1]}- ", block, re.MULTILINE)]
    ends = [*starts[1:], len(block)]
    # One indentation for all, whatever the module's writer chose.
    return [_indented(block[start:end], len(first[1])) for start, end in zip(starts, ends, strict=True)]


def _indented(entry: str, before: int) -> str:
    if before == 2:
        return entry
    return "".join("  " + line[before:] for line in entry.splitlines(keepends=True))


def _is_pseudo(entry: str) -> bool:
    name = _NAME.match(entry)
    return name is not None and name[1].rstrip(" ").strip("'\"") == PSEUDO_KERNEL


def _pseudo_entry(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the entry for all functions' code: what any module's functions need, all need."""
    # A module without functions still has the entry, with a width that means nothing.
    relevant = [entry for entry in entries if entry["has_functions"]] or entries[:1]
    merged: dict[str, Any] = {"name": PSEUDO_KERNEL}
    for entry in relevant:
        for key, value in entry.items():
            if key in ("name", "has_functions"):
                continue
            merged[key] = _merged(key, merged[key], value) if key in merged else value
    return "".join(_lines(merged, "  - ", "    "))


def _merged(key: str, first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            name: _merged(name, first[name], second[name])
            if name in first and name in second
            else first.get(name, second.get(name))
            for name in {**first, **second}
            # If only one of them lacks a thing, the merged entry must not say that it lacks it.
            if not (_is_lack(name) and (name not in first or name not in second))
        }
    if key == "per_thread_memory_buffers":
        return _merged_buffers([*list_of_mappings(key, first), *list_of_mappings(key, second)])
    if isinstance(first, bool):
        return first and second if _is_lack(key) else first or second
    if isinstance(first, int) and isinstance(second, int):
        return max(first, second)
    return first


def _is_lack(key: str) -> bool:
    return key.startswith("has_no_")


def _merged_buffers(buffers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for buffer in buffers:
        kind = tuple(str(buffer.get(key)) for key in ("type", "usage", "is_simt_thread"))
        first = merged.setdefault(kind, dict(buffer))
        first["size"] = max(_size(first), _size(buffer))
    return list(merged.values())


def _size(buffer: Mapping[str, Any]) -> int:
    size = buffer.get("size") or 0
    if not isinstance(size, int):
        raise damage(f"the size of a memory buffer is {size!r}, not a number")
    return size


def _lines(mapping: Mapping[str, Any], first: str, indent: str) -> list[str]:
    lines = []
    lead = first
    for key, value in mapping.items():
        if isinstance(value, dict):
            lines += [f"{lead}{key}:\n", *_lines(value, indent + "  ", indent + "  ")]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{lead}{key}:\n")
            for item in list_of_mappings(key, value):
                lines += _lines(item, indent + "  - ", indent + "    ")
        else:
            lines.append(f"{lead}{key + ':':16} {_scalar(value)}\n")
        lead = indent
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return f"[ {', '.join(map(_scalar, value))} ]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    text = str(value)
    if isinstance(value, str) and ze_info_text.parse(f"x: {text}") != {"x": text}:
        escaped = text.replace("'", "''")
        return f"'{escaped}'"
    return text
