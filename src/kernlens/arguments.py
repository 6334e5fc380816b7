"""The arguments of the public functions, held against their types: a wrong one is answered by a sentence, not by a traceback.

The types are those of the functions' own annotations, so that what a type checker takes is taken here too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from types import NoneType, UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from kernlens.errors import ArgumentError, KernlensError, UnknownKernelError, nearest

_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")

#: Types in the words of an error, of one value and of many.
_WORDS: dict[object, tuple[str, str]] = {
    str: ("a string", "strings"),
    bytes: ("bytes", "bytes"),
    os.PathLike: ("a path", "paths"),
    bool: ("True or False", "truth values"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    NoneType: ("None", "None"),
}
#: The most characters of a wrong value that an error tells.
_TOLD = 60


def checked(function: Callable[_Parameters, _Answer], module: str = "kernlens") -> Callable[_Parameters, _Answer]:
    """Return the function, which ``module`` offers, with its arguments held against its annotations. It raises
    ArgumentError, when it is called, for arguments that are missing, unknown or of another type."""
    name = f"{module}.{function.__name__}"
    hints: dict[str, Any] = {}

    @wraps(function)
    def call(*arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Answer:
        from inspect import Parameter, signature

        own = signature(function)
        takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in own.parameters.values())
        for word in () if takes_any else named.keys() - own.parameters.keys():
            near = nearest(word, own.parameters)
            hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(own.parameters)}"
            raise ArgumentError(f"{name} has no argument {word!r}; {hint}")
        try:
            bound = own.bind(*arguments, **named)
        except TypeError as error:
            raise ArgumentError(f"{name}: {error}; it takes {', '.join(own.parameters)}") from None
        if not hints:
            hints.update(get_type_hints(function))
        for key, value in bound.arguments.items():
            kind = own.parameters[key].kind
            values = value.items() if kind is Parameter.VAR_KEYWORD else ((key, value),)
            for word, each in values:
                if not _fits(each, hints[key]):
                    raise ArgumentError(f"{name}: {word} must be {_words(hints[key])}, not {_told(each)}")
        try:
            return function(*arguments, **named)
        except KernlensError as error:
            _say_in_python(error, own.parameters.keys())
            raise

    return call


def _say_in_python(error: KernlensError, parameters: Collection[str]) -> None:
    """Have an error's message name the function's arguments, where it names the options of the command that do the same;
    whole commands that it offers stay as they are."""
    import re

    def word(match: re.Match[str]) -> str:
        name = (match[1] or "").replace("-", "_")
        meant = next((each for each in (name, f"{name}s", name.removeprefix("build_")) if each in parameters), None)
        return match[0].replace("-", "_") if match[2] else match[0] if meant is None else f"{meant}="

    if isinstance(error, UnknownKernelError):
        error.lists_all = "program.kernels.keys()"
    elif error.args and isinstance(error.args[0], str):
        text = re.sub(
            # What touches a path's characters is part of a file's name.
            r"\bkernlens [a-z]+\b[^;,)]*|(?<![\w./-])(?:--([a-z][a-z-]*)(?![\w./-])(?: (?=[A-Z0-9]))?"
            r"|((?:max|min)-[a-z-]+)(?![\w./-]))",
            word,
            error.args[0],
        )
        error.args = (text, *error.args[1:])


def _fits(value: object, kind: Any) -> bool:
    """Return whether a value is of a type, with what it holds where that is at hand: nothing here uses up an iterator."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if kind is Any or kind is object or isinstance(kind, TypeVar):
        return True
    if origin is Callable or get_origin(kind) is Callable:
        return callable(value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if not isinstance(value, origin or kind):
        return False
    if origin is None or origin is os.PathLike:
        return True
    if isinstance(value, str | bytes):
        return False  # A string alone where a list of them is asked for would be read letter by letter.
    if isinstance(value, Mapping):
        keys, values = parts
        return all(_fits(key, keys) and _fits(each, values) for key, each in value.items())
    return not isinstance(value, Sequence) or all(_fits(each, parts[0]) for each in value)


def _words(kind: Any, number: int = 0) -> str:
    """Return a type in words, of one value (0) or of many (1)."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        *others, last = dict.fromkeys(_words(part, number) for part in parts)
        return f"{', '.join(others)} or {last}" if others else last
    if (origin or kind) in _WORDS:
        return _WORDS[origin or kind][number]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return "a mapping"
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return f"{'a list' if not number else 'lists'} of {_words(parts[0], 1)}"
    if callable(kind) and isinstance(kind, type):
        return f"{'' if number else 'a '}{kind.__name__}{'s' if number else ''}"
    return "a function"


def _told(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= _TOLD else text[:_TOLD] + '...'} ({type(value).__name__})"
