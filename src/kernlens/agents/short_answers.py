"""A verb's document in short, for an agent: what programs hold as one ranked list, and nothing that says nothing.

Ranked before it is cut, across all programs: what is left out of a cut list is less than what is in it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlens.model.compiler_options import LINE_TABLES
from kernlens.model.figures import EVERY_FIGURE, LINE_ORDERS, STATED, figure_named
from kernlens.model.spills import COUNTED_SPILLS

Document = dict[str, Any]
#: Keys of a program that each of its kernels gets, unless all have the same: then they stand once, beside the list.
_OF_PROGRAMS = ("program", "device", "toolchain", "build_options")
#: Keys that say no more than others beside them: origins and proofs of figures, the names of files in two forms.
_LEFT_OUT = frozenset(
    {
        "schema",
        "asm_label",
        "asm_offset",
        "toolchain_name",
        "disassembler",
        "containers",
        "origins",
        "format",
        "line_table",
    }
)
#: What a kernel spills, and what other memory it takes that did not fit elsewhere, by which kernels are ranked where nothing
#: else is asked for.
_SPILLS, _BESIDE = (
    tuple(figure.key for figure in EVERY_FIGURE if re.fullmatch(rf"(?:{kinds}).*_bytes", figure.key))
    for kinds in ("spill", "scratch|private|local")
)
#: The figures of kernels that stand in short answers where they are known.
_OF_KERNEL = tuple(figure.key for figure in (*STATED, *COUNTED_SPILLS))
#: Mnemonics of a line that are counted, the most frequent ones.
_OPCODES = 6
_SPACES = re.compile(r"\s+")


def short(tool: str, document: Document, values: Mapping[str, Any]) -> Document:
    """Return the document of the tool's verb in short; ``values`` are the arguments of the call."""
    shape = _SHAPES.get(tool)
    pruned: Document = pruned_of(shape(document, values) if shape else document)
    # A verdict of no is no silence.
    return {key: document[key] for key in ("ok", "equal") if key in document} | pruned


def pruned_of(value: Any) -> Any:
    """Return a value without members that are 0, null, false or empty, and without keys that repeat others."""
    if isinstance(value, dict):
        members = ((key, pruned_of(member)) for key, member in value.items() if key not in _LEFT_OUT)
        return {key: member for key, member in members if member not in (None, 0, "", [], {})}
    if isinstance(value, list):
        return [pruned_of(item) for item in value]
    return _SPACES.sub(" ", value).strip() if isinstance(value, str) and len(value) < 400 else value


def _kernels(document: Document) -> list[Document]:
    """Return the kernels of all programs, each with what its program has."""
    return [
        {
            "kernel": kernel["name"],
            "program": program["name"] if program["name"] != kernel["name"] else None,
            "device": program.get("device") or kernel.get("device"),
            "toolchain": program.get("toolchain"),
            "build_options": (program.get("build_options") or "").partition(LINE_TABLES)[0].strip(),
            **{key: value for key, value in kernel.items() if key != "name"},
        }
        for program in document["programs"]
        for kernel in program.get("kernels", ())
    ]


def _hoisted(entries: Sequence[Document], name: str, keys: Sequence[str] = _OF_PROGRAMS) -> Document:
    """Return the list under its name, with what all entries have in common before it."""
    common = {
        key: entries[0][key]
        for key in keys
        if entries and len({str(entry.get(key)) for entry in entries}) == 1
        if key in entries[0]
    }
    return {**common, name: [{key: value for key, value in each.items() if key not in common} for each in entries]}


def _ranked(entries: Sequence[Document], *worth: Callable[[Document], Any]) -> list[Document]:
    return sorted(entries, key=lambda entry: tuple(-(each(entry) or 0) for each in worth))


def _inspected(document: Document, values: Mapping[str, Any]) -> Document:
    kernels = _kernels(document)
    if sort := values.get("sort"):
        figure = figure_named(sort)
        sign = -1 if figure.more_is_better else 1
        kernels = _ranked(kernels, lambda each: sign * (each.get(figure.key) or 0))
    else:
        kernels = _ranked(
            kernels,
            # Of some it is only known that they spill.
            lambda each: max(int(each.get("has_spills") or 0), *(each.get(key) or 0 for key in _SPILLS)),
            lambda each: max(each.get(key) or 0 for key in _BESIDE),
            lambda each: each.get("code_size"),
        )
    for each in kernels:
        limits = each.pop("launch_limits", None)
        if limits and len(kernels) <= len({entry["device"] for entry in kernels}):
            groups = (limits.get("occupancy") or {}).get("work_groups", ())
            each["max_work_group"] = limits["max_work_group"]
            each["occupancy_percent"] = {str(group["work_group"]): group["percent"] for group in groups}
    empty = [program["name"] for program in document["programs"] if not program.get("kernels")]
    return {
        **_hoisted(kernels, "kernels"),
        "programs_without_kernels": empty,
        "failed_builds": document["failed_builds"],
    }


def _annotated(document: Document, values: Mapping[str, Any]) -> Document:
    kernels = _kernels(document)
    shape = next((shape for key, shape in _OF_KERNELS.items() if any(key in each for each in kernels)), None)
    if shape is None:
        return {**_hoisted(kernels, "kernels"), "failed_builds": document["failed_builds"]}
    return {**shape(kernels, document, values), "failed_builds": document["failed_builds"]}


def _place(entry: Mapping[str, Any], path: str = "path") -> str | None:
    if entry.get(path) is None or entry.get("line") is None:
        return None
    column = f":{entry['column']}" if entry.get("column") else ""
    return f"{entry[path].rpartition('/')[2]}:{entry['line']}{column}"


def _head(kernel: Document) -> Document:
    return {key: kernel[key] for key in ("kernel", *_OF_PROGRAMS)}


def _lines(kernels: Sequence[Document], document: Document, values: Mapping[str, Any]) -> Document:
    """Return the costliest lines of all kernels as one list, as many as the call asks for."""
    order = LINE_ORDERS.get(document["by"])
    lines = [
        {
            "line": _place(line),
            **_head(kernel),
            "source": line["source"],
            document["by"]: order.sum(line["costs"]) if order else None,
            "percent": round(100 * order.sum(line["costs"]) / whole, 1)
            if order and (whole := order.sum(kernel["costs"]))
            else None,
            **line["costs"],
            **{key: line.get(key) for key in ("certain", "loop_depth", "moved", "excess", "runs")},
            "advice": [piece["sentence"] for piece in line.get("advice", ())],
            "waits_for": [
                {"line": _place(each), "operation": each["operation"], "cycles": each["cycles"]}
                for each in line.get("waits_for", ())
            ],
        }
        for kernel in kernels
        for line in kernel["lines"]
    ]
    if order:
        lines = _ranked(lines, order.sum)
    return {"by": document["by"], **_hoisted(lines[: values.get("top")], "lines", ("kernel", *_OF_PROGRAMS))}


def _offsets(kernels: Sequence[Document], document: Document, values: Mapping[str, Any]) -> Document:
    answers = []
    for kernel in kernels:
        for each in kernel["offsets"]:
            place = _place(each, "file")
            own = {key: each[key] for key in ("text", "construct", "method", "memory", "loop_depth")}
            waits = [
                {"offset": hex(wait["offset"]), "line": _place(wait), "cycles": wait["cycles"]}
                for wait in each["waits_for"] or ()
            ]
            answers.append({"offset": each["ip"], **_head(kernel), "line": place, **own, "waits_for": waits})
    return _hoisted(answers, "offsets", ("kernel", *_OF_PROGRAMS))


def _instructions(kernels: Sequence[Document], document: Document, values: Mapping[str, Any]) -> Document:
    """Return instructions with their offsets; of a line that is asked for, the line is known."""
    answers = [
        {
            **_head(kernel),
            "accesses": kernel.get("accesses"),
            "total": len(kernel["instructions"]),
            "opcodes": dict(Counter(each["opcode"] for each in kernel["instructions"]).most_common(_OPCODES)),
            "instructions": [
                {
                    "offset": hex(each["offset"]),
                    "text": each["text"],
                    "line": None if "line" in values else _place(each),
                    "loop_depth": each.get("loop_depth"),
                }
                for each in kernel["instructions"]
            ],
        }
        for kernel in kernels
    ]
    return _hoisted(answers, "kernels")


def _pressures(kernels: Sequence[Document], document: Document, values: Mapping[str, Any]) -> Document:
    answers = []
    for kernel in _ranked(kernels, lambda each: (each["pressure"] or {}).get("live_grfs")):
        pressure = dict(kernel["pressure"] or {})
        pressure.pop("live", None)
        held = [
            {"line": _place(each) or each["origin"], "registers": len(each["registers"])}
            for each in pressure.pop("held", ())
        ]
        peak = pressure.pop("peak", None)
        at = {"peak_line": _place(peak), "peak_offset": hex(peak["offset"])} if peak else {}
        figures = {key: kernel.get(key) for key in (*_OF_KERNEL, "spilled_values")}
        answers.append({**_head(kernel), **figures, **pressure, **at, "held": held})
    return _hoisted(answers, "kernels")


_OF_KERNELS: Mapping[str, Callable[[Sequence[Document], Document, Mapping[str, Any]], Document]] = {
    "offsets": _offsets,
    "lines": _lines,
    "instructions": _instructions,
    "pressure": _pressures,
}


def _compared(document: Document, values: Mapping[str, Any]) -> Document:
    for kernel in document["kernels"]:
        old, new = kernel.pop("old"), kernel.pop("new")
        if kernel["old_name"] == kernel["name"]:
            del kernel["old_name"], kernel["paired_by"]
        kernel["device"] = new["device"]
        kernel["build_options"] = new["build_options"]
        kernel["figures"] = {each["metric"]: [each["old"], each["new"]] for each in kernel["figures"]}
        if old["device"] != new["device"]:
            kernel["old_device"] = old["device"]
        for line in kernel.get("lines", ()):
            line["line"] = _place(line | {"line": line.pop("new_line") or line.pop("old_line", None)})
            for key in ("path", "old_path", "old_line", "inherited", "old_certain", "new_certain"):
                line.pop(key, None)
            if line.get("old_text") == line.get("new_text"):
                line["source"] = line.pop("new_text", None)
                line.pop("old_text", None)
    means = document["summary"]["means"]
    document["summary"]["means"] = {each["metric"]: [each["old"], each["new"]] for each in means}
    if len(document["kernels"]) < 2:
        del document["summary"]
    return document


def _advised(document: Document, values: Mapping[str, Any]) -> Document:
    """Return all pieces of advice as one list, that on the largest share of its kernel first."""
    pieces = [
        {
            "kernel": kernel["kernel"],
            **{key: kernel.get(key) for key in _OF_PROGRAMS},
            "line": _place(piece),
            **{key: piece[key] for key in ("rule", "sentence", "share", "source")},
        }
        for kernel in document["kernels"]
        for piece in kernel["advice"]
    ]
    unread = [{"kernel": each["kernel"], "reason": each["reason"]} for each in document["kernels"] if each["reason"]]
    start = [
        {"line": _place(each), **{key: each[key] for key in ("kernel", "build_options", "sentence", "action", "share")}}
        for each in document["start_here"]
    ]
    kernels = document["kernels"]
    bound = (
        {key: kernels[0].get("bound", {}).get(key) for key in ("kind", "waits", "board")} if len(kernels) == 1 else None
    )
    return {
        "start_here": start,
        **_hoisted(_ranked(pieces, lambda each: each["share"]), "advice", ("kernel", *_OF_PROGRAMS)),
        "bound": bound,
        "not_judged": unread,
        "coverage": document["coverage"],
        "failed_builds": document["failed_builds"],
    }


def _checked(document: Document, values: Mapping[str, Any]) -> Document:
    """Return what is not within its bounds; of the others the number is enough."""
    findings = [each for each in document["findings"] if each["state"] != "passed"]
    for each in findings:
        each.pop("is_least")
        each["likely_cause"] = _place(each["cause"]) if each["cause"] else None
        del each["cause"]
    passed = len(document["findings"]) - len(findings)
    return {**document, "findings": findings, "passed": passed}


def _swept(document: Document, values: Mapping[str, Any]) -> Document:
    sort = figure_named(values["sort"]).key if "sort" in values else "spill_stores"
    rows = [
        {
            **{key: row.get(key) for key in ("kernel", "source", "device", "toolchain", "options", "reason")},
            **{key: (row.get("figures") or {}).get(key) for key in dict.fromkeys((*_OF_KERNEL, "instructions", sort))},
        }
        for row in document["rows"]
    ]
    return {
        **{key: value for key, value in document.items() if key != "rows"},
        **_hoisted(rows, "rows", ("source", "kernel", "device", "toolchain")),
    }


def _observed(document: Document, values: Mapping[str, Any]) -> Document:
    """Return what a kernel did, the lines that move most memory above what they need first."""
    for access in document.get("accesses", ()):
        access.pop("example", None)
    document["lines"] = _ranked(
        document.get("lines", ()),
        lambda line: line["units"] - line["least_units"] + line["wavefronts"] - line["least_wavefronts"],
        lambda line: line["runs"],
    )
    return document


_SHAPES: Mapping[str, Callable[[Document, Mapping[str, Any]], Document]] = {
    "inspect": _inspected,
    "compile": lambda document, values: {**_hoisted(_kernels(document), "kernels"), "failed": [
        {key: each[key] for key in ("name", "device", "reason")} for each in document["programs"] if not each["ok"]
    ]},
    "annotate": _annotated,
    "diff": _compared,
    "advise": _advised,
    "check": _checked,
    "sweep": _swept,
    "observe": _observed,
}  # fmt: skip
