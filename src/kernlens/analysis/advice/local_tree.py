"""Trees in local memory that put a work-group's values together, with a barrier for each level."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kernlens.analysis.advice.facts import Facts
from kernlens.analysis.advice.rule import Rule
from kernlens.analysis.advice.source_tokens import COMMENT
from kernlens.model.advice import EQUAL, MAY_DIFFER, Advice
from kernlens.model.instruction_kind import SLM
from kernlens.model.source_map import SourcePlace

#: A header whose counter is halved or doubled.
_HEADER = re.compile(
    r"^for\s*\([^;]*;[^;]*;\s*(\w+)\s*(?:>>=\s*1|/=\s*2|<<=\s*1|\*=\s*2|=\s*\w+\s*(?:>>\s*1|/\s*2))\s*\)"
)
#: `t[i] += t[i + s]`, `t[i] = t[i] + t[i + s]` and `t[i] = max(t[i], t[i + s])`, with the operation.
_STEP = re.compile(
    r"\b(\w+)\[(\w+)\]\s*(?:([+*&|^])=\s*|=\s*(?:\1\[\2\]\s*([+*&|^])\s*|f?(min|max)\(\s*\1\[\2\]\s*,\s*))\1\[\2\s*\+\s*(\w+)\]"
)
_NAMES = {"+": "add", "": "add", "min": "min", "max": "max"}
_REAL = ("float", "double", "half")
#: Functions of sub-groups take no vectors.
_VECTOR = re.compile(r"\w*[a-z](?:2|3|4|8|16)")
#: Characters of a loop that are read.
_LONGEST = 1000


def _advise(facts: Facts) -> Iterator[Advice]:
    rows = [row for row, kind in enumerate(facts.kinds) if kind.access and kind.access.operation == "barrier"]
    local = [row for row, kind in enumerate(facts.kinds) if kind.name == SLM]
    for path, lines in facts.tokens.texts.items() if len(rows) and local else ():
        text = "\n".join(lines)
        for loop in facts.tokens.loops_of(path):
            code = text[loop.code.start : min(loop.code.stop, loop.code.start + _LONGEST)]
            code = COMMENT.sub(lambda match: " " * len(match[0]), code)
            header, step = _HEADER.match(code), _STEP.search(code)
            if header is None or step is None or header[1] != step[6] or "barrier" not in code:
                continue
            before = text[: loop.code.start + step.start()]
            if not _is_of_the_group(code, step[2], header[1]):
                continue
            inside = facts.rows_in(path, loop.code)
            own = sorted(set(inside) & {*rows, *local})
            if not set(own) & set(rows):
                continue
            place = SourcePlace(path, before.count("\n") + 1, len(before) - before.rfind("\n"))
            name = _NAMES.get(step[3] or step[4] or step[5] or "")
            fact = "puts a work-group's values together, with a barrier and accesses to local memory for each level"
            how = f"`sub_group_reduce_{name}`" if name else "a sub-group's shuffles"
            how += " of each component" if _VECTOR.fullmatch(_type_of(before, step[1])) else ""
            action = f"put those of each sub-group together by {how} (`cl_khr_subgroups`), and their results behind one barrier"
            is_real = any(step[1] in facts.tokens.declared(path, word) for word in _REAL)
            results = MAY_DIFFER if is_real and name == "add" else EQUAL
            yield RULE.advice(facts, place, own, f"A tree in `{step[1]}`", fact, action, results=results)


def _is_of_the_group(code: str, index: str, counter: str) -> bool:
    """Tell whether the round's condition is about the very place that is added to: `i < s`, `i + s < n`, `i % (2 * s) == 0`.
    Else several trees stand in the array beside one another, and a sub-group may have values of more than one."""
    condition = (
        rf"{index}\s*<\s*{counter}\s*\)|{index}\s*\+\s*{counter}\s*<|\(?\s*{index}\s*[%&]\s*\([^()]*\b{counter}\b"
    )
    return re.search(rf"\bif\s*\(\s*(?:{condition})", code) is not None


def _type_of(before: str, name: str) -> str:
    """Return the type with which an array was declared last."""
    declared = re.findall(rf"\b(\w+)(?:\s*\*\s*|\s+)(?:restrict\s+)?{name}\s*[\[,;)]", before)
    return declared[-1] if declared else ""


RULE = Rule("tree-in-local-memory", "Tree in local memory", (EQUAL, MAY_DIFFER), _advise)
