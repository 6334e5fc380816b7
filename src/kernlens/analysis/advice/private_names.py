"""The private arrays, and pointers to such, that a function of the source declares."""

from __future__ import annotations

import re
from bisect import bisect_right

from kernlens.analysis.advice.private_array import arrays_in
from kernlens.analysis.advice.source_loops import NO_CODE
from kernlens.analysis.advice.source_tokens import SourceTokens

_ELSEWHERE = re.compile(r"\b(?:__)?(?:global|local|constant|generic)\b|\bimage\w+|\bsampler_t\b", re.ASCII)
_POINTER = re.compile(r"[\s*]([A-Za-z_]\w*)\s*(?:\[[^][]*\]\s*)*$", re.ASCII)
#: Characters of a function that are read, of its parameters, and of a text.
_LONGEST, _LONGEST_HEADER, _LONGEST_TEXT = 100_000, 4000, 4 << 20


class PrivateNames:
    """The names of each function of a program's sources: those of its arrays, and of parameters that point to private
    memory. What other functions declare by the same name is not among them."""

    def __init__(self, tokens: SourceTokens) -> None:
        self._tokens = tokens
        self._texts: dict[str, str] = {}
        self._functions: dict[str, list[range]] = {}
        self._names: dict[tuple[str, int], frozenset[str]] = {}

    def around(self, path: str, offset: int) -> frozenset[str]:
        """Return the names of the function around a character of a source; none outside of functions."""
        functions = self._functions_of(path)
        number = bisect_right(functions, offset, key=lambda code: code.start) - 1
        if number < 0 or offset not in functions[number]:
            return frozenset()
        if (path, number) not in self._names:
            code = functions[number]
            text = self._texts[path][code.start : min(code.stop, code.start + _LONGEST)]
            self._names[path, number] = frozenset(arrays_in(text)) | _parameters(text.partition("{")[0])
        return self._names[path, number]

    def text(self, path: str, code: range) -> str:
        """Return these characters of a source, with blanks in place of comments and strings."""
        self._functions_of(path)
        return self._texts[path][code.start : code.stop]

    def _functions_of(self, path: str) -> list[range]:
        if path not in self._functions:
            text = "\n".join(self._tokens.texts.get(path, ()))[:_LONGEST_TEXT]
            self._texts[path] = text = NO_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
            self._functions[path] = list(_functions(text))
        return self._functions[path]


def _functions(text: str) -> list[range]:
    """Return the characters of each function: from behind what stands before it to its last bracket."""
    functions = []
    depth = end = start = 0
    for match in re.finditer(r"[{};]", text):
        if match[0] == "{":
            start = end if depth == 0 else start
            depth += 1
        elif match[0] == "}":
            depth = max(0, depth - 1)
        if depth == 0:
            if match[0] == "}":
                functions.append(range(start, match.end()))
            end = match.end()
    return functions


def _parameters(header: str) -> frozenset[str]:
    parameters = header[-_LONGEST_HEADER:].partition("(")[2].rpartition(")")[0].split(",")
    private = (each for each in parameters if ("*" in each or "[" in each) and not _ELSEWHERE.search(each))
    return frozenset(name[1] for name in map(_POINTER.search, private) if name is not None)
