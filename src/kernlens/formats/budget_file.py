"""``kernlens.toml``: the budgets of a project's kernels (docs/commands/check.md). TOML 1.0, https://toml.io/en/v1.0.0.

``[kernel."PATTERN"]`` holds bounds, ``[kernel."PATTERN".device.NAME]`` those that take their place on one device, and
``[tolerance]`` by how much figures may get worse than a baseline. A later table goes before an earlier one. ``toolchain``,
before all tables, names the default toolchain.

In CI the file comes with the change that is checked: with anybody's, that is. What ``tomllib`` needs grows with the square of a
key's parts, so a file's size and depth are looked at before it sees the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError, KernlensError, NotFoundError, likeliest
from kernlens.model.bounds import Rule, Tolerance, bound, current_bound_names, told, tolerance
from kernlens.model.figures import as_name

#: What the file is called where it is looked for.
NAME = "kernlens.toml"
#: Bytes of a file, at most: thousands of kernels. tomllib takes 90 MB for so many tables as fit in.
LIMIT = 256 << 10
#: Tables within tables and parts of a key; budgets have 5: kernel."PATTERN".device.NAME.BOUND.
_DEEPEST = 8
#: What holds no structure (comments and the four kinds of strings, to the end of the line or the text if they are not closed),
#: and what does. None of it can be read in two ways, so that all texts are read in linear time.
_TOKEN = re.compile(
    r"""
    \#[^\n]*
    | \"{3} [^"\\]* (?: (?: \\. | "(?!"") ) [^"\\]* )* (?: \"{3,5} | \Z | \\\Z )
    | '{3} [^']* (?: '(?!'') [^']* )* (?: '{3,5} | \Z )
    | " [^"\\\n]* (?: \\. [^"\\\n]* )* "?
    | ' [^'\n]* '?
    | [.,=\n\[\]{}]
    """,
    re.DOTALL | re.VERBOSE,
)
_TOOLCHAIN, _TABLES = "toolchain", ("kernel", "tolerance")
_UNKNOWN, _DEVICE = "allow-unknown", "device"


@dataclass(frozen=True, slots=True)
class BudgetFile:
    """The content of a file: rules, the strongest last, tolerances, and the name of the default toolchain, if any."""

    rules: tuple[Rule, ...]
    tolerances: tuple[Tolerance, ...]
    toolchain: str | None = None


def read_budget_file(content: bytes, name: str) -> BudgetFile:
    """Read a file, which errors call ``name``. Raises FormatError for what is no TOML, larger than ``LIMIT`` or too
    deep, NotFoundError with the nearest names for an unknown key, KernlensError for a value of another kind."""
    import tomllib

    if len(content) > LIMIT:
        raise FormatError(
            f"the file is larger than {LIMIT >> 10} KB, so it is not a file of limits; name one with --budget",
            format=name,
        )
    try:
        text = content.decode("utf-8")
        _check_depth(text, name)
        document = tomllib.loads(text)
    except ValueError as error:  # That of encodings, of TOML, and of numbers with 5,000 digits.
        raise FormatError(f"invalid TOML: {error}", format=name) from None
    _check_keys(document, {key: key for key in (*_TABLES, _TOOLCHAIN)}, name)
    toolchain = document.get(_TOOLCHAIN)
    if not isinstance(toolchain, str | None):
        raise KernlensError(f"{name}: {_TOOLCHAIN} must be the name of a toolchain, not {told(toolchain)}")
    rules = [
        rule
        for pattern, table in _tables(document.get("kernel", {}), f"{name}, kernel").items()
        for rule in _rules(pattern, table, f'{name}, kernel."{pattern}"')
    ]
    figures = _table(document.get("tolerance", {}), f"{name}, tolerance")
    tolerances = tuple(tolerance(key, value, f"{name}, tolerance") for key, value in figures.items())
    return BudgetFile(tuple(rules), tolerances, toolchain)


def _check_depth(text: str, name: str) -> None:
    """Raise FormatError for more tables or arrays within one another, or more parts of a key, than a budget has."""
    line, brackets, dots = 1, 0, 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == ".":
            dots += 1
        elif token in "[{":
            brackets, dots = brackets + 1, 0
        elif len(token) == 1 and token not in "\"'":
            brackets, dots = brackets - (token in "]}"), 0
        line += token.count("\n")
        if brackets > _DEEPEST:
            raise FormatError(f"line {line}: more than {_DEEPEST} arrays and tables are in one another", format=name)
        if dots >= _DEEPEST:
            raise FormatError(f"line {line}: a key has more than {_DEEPEST} parts; limits need at most 5", format=name)


def _rules(pattern: str, table: Mapping[str, object], place: str) -> Iterator[Rule]:
    """Yield the rule of a pattern, and then those of its devices."""
    own = {key: value for key, value in table.items() if key != _DEVICE}
    yield _rule(pattern, own, None, place)
    for device, inside in _tables(table.get(_DEVICE, {}), f"{place}.device").items():
        yield _rule(pattern, inside, device, f"{place}.device.{device}")


def _rule(pattern: str, table: Mapping[str, object], device: str | None, place: str) -> Rule:
    known = current_bound_names() | {key: key for key in (_UNKNOWN, *([] if device else [_DEVICE]))}
    _check_keys({as_name(key): value for key, value in table.items()}, known, place)
    bounds, allows_unknown = [], None
    for key, value in table.items():
        if as_name(key) != _UNKNOWN:
            bounds.append(bound(key, value, place))
        elif isinstance(value, bool):
            allows_unknown = value
        else:
            raise KernlensError(f"{place}: {key} is true or false, not {told(value)}")
    return Rule(pattern, tuple(bounds), device, allows_unknown, place)


def _check_keys(table: Mapping[str, object], known: Mapping[str, str], place: str) -> None:
    for key in table:
        if key not in known:
            near = dict.fromkeys(known[each] for each in likeliest(key, known))
            meant = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(list(known)[:8])}"
            raise NotFoundError(f"{place}: there is no key {told(key)}; {meant}")


def _table(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise KernlensError(f"{place}: this is a table, not {told(value)}")
    return value


def _tables(value: object, place: str) -> dict[str, dict[str, object]]:
    return {key: _table(inside, f'{place}."{key}"') for key, inside in _table(value, place).items()}
