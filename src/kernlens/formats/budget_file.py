"""``kernlens.toml``: a project's limits and build options (docs/project_file.md). TOML 1.0, https://toml.io/en/v1.0.0.

``[kernel."PATTERN"]`` holds bounds, ``[kernel."PATTERN".device.NAME]`` those that take their place on one device,
``[tolerance]`` by how much figures may get worse than a baseline, and ``[source."PATTERN"]`` the build options of sources. A
later table goes before an earlier one. ``toolchain``, before all tables, names the default toolchain, and
``allow-failed-builds = true`` lets builds fail.

In CI the file comes with the change that is checked: with anybody's, that is. What ``tomllib`` needs grows with the square of a
key's parts, so a file's size and depth are looked at before it sees the text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping

from kernlens.dataclass import dataclass
from kernlens.errors import FormatError, KernlensError, NotFoundError, likeliest
from kernlens.model.bounds import Rule, Tolerance, bound, current_bound_names, told, tolerance
from kernlens.model.figure import as_name
from kernlens.model.source_table import SourceTable

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
_TOOLCHAIN, _TABLES = "toolchain", ("kernel", "source", "tolerance")
_FAILED = "allow-failed-builds"
_UNKNOWN, _DEVICE = "allow-unknown", "device"
_OF_SOURCES = ("options", "include", "define", "variants")
_MACRO = re.compile(r"[A-Za-z_]\w*", re.ASCII)
#: A word of options, and a macro's value, have so many characters at most.
_LONGEST = 10_000
#: And a pattern: names of C++ kernels have some hundreds.
_LONGEST_PATTERN = 1_000


@dataclass(frozen=True, slots=True)
class BudgetFile:
    """The content of a file: rules, the strongest last, tolerances, the name of the default toolchain, if any, the tables
    of sources, the strongest last, and whether builds may fail."""

    rules: tuple[Rule, ...]
    tolerances: tuple[Tolerance, ...]
    toolchain: str | None = None
    sources: tuple[SourceTable, ...] = ()
    allows_failed: bool = False


def read_budget_file(content: bytes, name: str) -> BudgetFile:
    """Read a file, which errors call ``name``. Raises FormatError for what is no TOML, larger than ``LIMIT`` or too
    deep, NotFoundError with the nearest names for an unknown key, KernlensError for a value of another kind."""
    import tomllib

    if len(content) > LIMIT:
        raise FormatError(
            f"the file is larger than {LIMIT >> 10} KB, so it is not a {NAME}; name one with --budget or KERNLENS_PROJECT",
            format=name,
        )
    try:
        text = content.decode("utf-8")
        _check_depth(text, name)
        document = tomllib.loads(text)
    except ValueError as error:  # That of encodings, of TOML, and of numbers with 5,000 digits.
        raise FormatError(f"invalid TOML: {error}", format=name) from None
    _check_keys(document, {key: key for key in (*_TABLES, _TOOLCHAIN, _FAILED)}, name)
    toolchain = document.get(_TOOLCHAIN)
    if not isinstance(toolchain, str | None):
        raise KernlensError(f"{name}: {_TOOLCHAIN} must be the name of a toolchain, not {told(toolchain)}")
    _check_patterns(
        [pattern for key in _TABLES[:2] for pattern in _table(document.get(key, {}), f"{name}, {key}")], name
    )
    rules = [
        rule
        for pattern, table in _tables(document.get("kernel", {}), f"{name}, kernel").items()
        for rule in _rules(pattern, table, f'{name}, kernel."{pattern}"')
    ]
    figures = _table(document.get("tolerance", {}), f"{name}, tolerance")
    tolerances = tuple(tolerance(key, value, f"{name}, tolerance") for key, value in figures.items())
    sources = tuple(
        _source_table(pattern, table, f'{name}, source."{pattern}"')
        for pattern, table in _tables(document.get("source", {}), f"{name}, source").items()
    )
    allows_failed = document.get(_FAILED, False)
    if not isinstance(allows_failed, bool):
        raise KernlensError(f"{name}: {_FAILED} is true or false, not {told(allows_failed)}")
    return BudgetFile(tuple(rules), tolerances, toolchain, sources, allows_failed)


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


def _check_patterns(patterns: Iterable[str], name: str) -> None:
    """Raise FormatError for a pattern that is too long: what ``fnmatch`` makes of ``[a-[a-`` takes the square of its length."""
    if (longest := max(map(len, patterns), default=0)) > _LONGEST_PATTERN:
        raise FormatError(
            f"a pattern has {longest:,} characters, at most {_LONGEST_PATTERN:,} are allowed", format=name
        )


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


def _source_table(pattern: str, table: Mapping[str, object], place: str) -> SourceTable:
    _check_keys(table, {key: key for key in _OF_SOURCES}, place)
    options = table.get("options", "")
    words = (options,) if isinstance(options, str) else _words(options, f"{place}: options")
    for word in words:
        if _is_no_options(word) or ('"' in word and not isinstance(options, str)):
            raise KernlensError(
                f"{place}: options is a text as for --build-options, or an array of words without quotes, not {told(word)}"
            )
    variants = _words(table.get("variants", []), f"{place}: variants")
    for word in variants:
        if _is_no_options(word):
            raise KernlensError(
                f"{place}: variants is an array of texts, each as for --build-options, not {told(word)}"
            )
    include = table.get("include", [])
    folders = (include,) if isinstance(include, str) else _words(include, f"{place}: include")
    for folder in folders:
        if not folder or _is_unfit(folder) or '"' in folder:
            raise KernlensError(f"{place}: include holds folders, and {told(folder)} is none")
    macros = {
        macro: _macro(macro, value, f"{place}.define")
        for macro, value in _table(table.get("define", {}), f"{place}.define").items()
    }
    return SourceTable(pattern, options if isinstance(options, str) else words, folders, macros, place, variants)


def _macro(name: str, value: object, place: str) -> tuple[str, ...]:
    """Return the values of a macro: true is that of a macro without value, and false none."""
    if not _MACRO.fullmatch(name):
        raise KernlensError(f"{place}: {told(name)} is no name of a macro")
    if isinstance(value, bool):
        return ("",) if value else ()
    values = [_macro_value(each, f"{place}.{name}") for each in (value if isinstance(value, list) else [value])]
    if not values:
        raise KernlensError(
            f"{place}.{name}: the array is empty; name a value, or false for a macro that stays undefined"
        )
    return tuple(dict.fromkeys(values))


def _macro_value(value: object, place: str) -> str:
    if isinstance(value, str) and value and not _is_unfit(value) and '"' not in value:
        return value
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64
    if is_number or (isinstance(value, float) and math.isfinite(value)):
        return str(value)
    raise KernlensError(f"{place}: a value is a number or a text without quotes, and not {told(value)}")


def _words(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise KernlensError(f"{place} is a text or an array of texts, not {told(value)}")
    return tuple(value)


def _is_no_options(text: str) -> bool:
    return _is_unfit(text) or text.count('"') % 2 == 1


def _is_unfit(word: str) -> bool:
    """Return whether a text cannot be part of build options: it has control characters, or no end."""
    return not word.isprintable() or len(word) > _LONGEST


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
